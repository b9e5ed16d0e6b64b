"""Flags read from sources of the shapes that vLLM's had."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.tune.flags import Flag
from flashdoctor.tune.vllm_ast import read_flags

OLD = """
class EngineArgs:
    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model", type=str, default=EngineArgs.model)
        parser.add_argument("--tensor-parallel-size", "-tp", type=int, default=1)
        parser.add_argument("--dtype", choices=["auto", "half"])
        parser.add_argument("--max-model-len", type=human_readable_int)
        parser.add_argument("--trust-remote-code", action="store_true")
        parser.add_argument("--hf-overrides", type=optional_type(json.loads))
        parser.add_argument("--enable-chunked-prefill", action=StoreBoolean, nargs="?")
        parser.add_argument("--names", nargs="+", type=str)
        parser.add_argument(flag_of_a_plugin)
        return parser
"""
OLD_SCRIPTS = """
def main():
    parser.add_argument("-v", "--version", action="version")
    serve_parser.add_argument("model_tag")
    serve_parser.add_argument("--config")
    chat_parser.add_argument("--system-prompt")
"""
NEW = """
Quick = Literal["a", "b"]
Loose = Literal["x"] | str

class SchedulerConfig:
    max_num_seqs: int = 128
    max_num_batched_tokens: "Optional[int]" = None
    policy: Quick = "a"
    loose: Loose = "x"
    ratio: float = 0.5
    names: list[str] | None = None
    sizes: list[int] = field(default_factory=list)
    eager: bool = False
    token: bool | str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    anything: Union[dict, str, None] = None
    nested: OtherConfig | None = None
    shared: ClassVar[int] = 3

class OtherConfig:
    field: int = 1

class EngineArgs:
    @staticmethod
    def add_cli_args(parser):
        kwargs = get_kwargs(SchedulerConfig)
        group = parser.add_argument_group()
        group.add_argument("--max-num-seqs", "-n", **kwargs["max_num_seqs"])
        group.add_argument("--batched", **{**kwargs["max_num_batched_tokens"], "default": None})
        group.add_argument("--policy", **kwargs["policy"])
        group.add_argument("--loose", **kwargs["loose"])
        group.add_argument("--ratio", **kwargs["ratio"])
        group.add_argument("--names", **kwargs["names"])
        group.add_argument("--sizes", **kwargs["sizes"])
        group.add_argument("--eager", **kwargs["eager"])
        group.add_argument("--token", **kwargs["token"])
        group.add_argument("--extra", **kwargs["extra"])
        group.add_argument("--anything", **kwargs["anything"])
        group.add_argument("--nested", **kwargs["nested"])
        for name in ["old-one", "old-two"]:
            group.add_argument(f"--{name}", type=int)
        return parser
"""
FRONT = """
class BaseFrontendArgs:
    chat_template: str | None = None

    @classmethod
    def add_cli_args(cls, parser):
        frontend_kwargs = get_kwargs(cls)
        for key, value in frontend_kwargs.items():
            group.add_argument(f"--{key.replace('_', '-')}", **value)
        return parser

class FrontendArgs(BaseFrontendArgs):
    api_key: list[str] | None = None
    middleware: list[str] = field(default_factory=list)
    allowed_origins: list[str] = field(default_factory=list)

    @classmethod
    def customize(cls, frontend_kwargs):
        frontend_kwargs["middleware"]["action"] = "append"
        del frontend_kwargs["middleware"]["nargs"]
        frontend_kwargs["allowed_origins"]["type"] = json.loads
        del frontend_kwargs["allowed_origins"]["nargs"]

def make_arg_parser(parser):
    parser.add_argument("--headless", action="store_true")
    parser = FrontendArgs.add_cli_args(parser)
    return AsyncEngineArgs.add_cli_args(parser)
"""


def test_calls_of_old_releases() -> None:
    flags = read_flags({"vllm/engine/arg_utils.py": OLD, "vllm/scripts.py": OLD_SCRIPTS})
    assert flags == {
        "model": Flag("model"),
        "tensor-parallel-size": Flag("tensor-parallel-size", takes="int", aliases=("-tp",)),
        "dtype": Flag("dtype", choices=("auto", "half")),
        "max-model-len": Flag("max-model-len", takes="size"),
        "trust-remote-code": Flag("trust-remote-code", kind="store_true"),
        "hf-overrides": Flag("hf-overrides", takes="json"),
        "enable-chunked-prefill": Flag(
            "enable-chunked-prefill", kind="store_boolean", optional=True
        ),
        "names": Flag("names", many=True),
        "config": Flag("config"),
    }


def test_annotations_of_new_releases() -> None:
    flags = read_flags({"vllm/engine/arg_utils.py": NEW})
    assert flags == {
        "max-num-seqs": Flag("max-num-seqs", takes="int", aliases=("-n",)),
        "batched": Flag("batched", takes="size"),
        "policy": Flag("policy", choices=("a", "b")),
        "loose": Flag("loose", choices=("x",), open=True),
        "ratio": Flag("ratio", takes="float"),
        "names": Flag("names", many=True),
        "sizes": Flag("sizes", many=True, takes="int"),
        "eager": Flag("eager", kind="bool_optional"),
        "token": Flag("token", optional=True),
        "extra": Flag("extra", takes="json"),
        "anything": Flag("anything"),
        "nested": Flag("nested", takes="json"),
        "old-one": Flag("old-one", takes="int"),
        "old-two": Flag("old-two", takes="int"),
    }


def test_a_loop_over_the_fields_of_a_class() -> None:
    flags = read_flags({"vllm/entrypoints/openai/cli_args.py": FRONT})
    assert flags == {
        "headless": Flag("headless", kind="store_true"),
        "chat-template": Flag("chat-template"),
        "api-key": Flag("api-key", many=True),
        "middleware": Flag("middleware", kind="append"),
        "allowed-origins": Flag("allowed-origins", takes="json"),
    }


def test_classes_may_stand_in_other_files() -> None:
    engine = NEW[NEW.index("class EngineArgs") :]
    config = NEW[: NEW.index("class EngineArgs")]
    apart = {"vllm/engine/arg_utils.py": engine, "vllm/config/scheduler.py": config}
    assert read_flags(apart) == read_flags({"vllm/engine/arg_utils.py": NEW})


def test_what_registers_nothing_gives_nothing() -> None:
    assert read_flags({}) == {}
    assert read_flags({"vllm/engine/arg_utils.py": "def broken(:"}) == {}
    assert read_flags({"vllm/config.py": NEW}) == {}


def test_a_class_that_derives_from_itself_ends() -> None:
    text = "class A(A):\n    x: A = 1\nB = C\nC = B\nclass D:\n    y: B = 1\n" + FRONT
    assert read_flags({"vllm/entrypoints/openai/cli_args.py": text})


@given(st.text(st.sampled_from("abc():=,'\"\n .[]|*")))
def test_any_text_can_be_read(text: str) -> None:
    assert isinstance(read_flags({"vllm/engine/arg_utils.py": OLD + text}), dict)
