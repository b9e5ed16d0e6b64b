"""FD656: the quantization method takes other dtypes than the one that is asked for."""

from __future__ import annotations

from flashdoctor.engine.checks._quantization import launch_row, stated
from flashdoctor.engine.checks._vllm import installed_version
from flashdoctor.engine.view import Judgement, View, failed, passed

_METHOD = "model.quantization"
_LONG = {"half": "float16", "float": "float32"}


def judge(view: View) -> Judgement:
    """Compare --dtype, else the model's own dtype, with what the method takes."""
    method, version = stated(view, _METHOD), installed_version(view)
    asked = view.value("launch.dtype", "auto")
    dtype = view.need("model.dtype") if asked == "auto" else _LONG.get(asked, asked)
    row = launch_row(view, "act_dtype", "method", method, version)
    if row is None or dtype is None or dtype in row["dtypes"]:
        return passed(_METHOD)
    takes = " and ".join(row["dtypes"])
    said = f"{method} takes {takes} in vLLM {version}, and {dtype} is asked for."
    return failed(_METHOD, detail=said, values={"advice.dtype": row["dtypes"][0]})
