from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from flashdoctor import render
from flashdoctor.model.finding import Report
from flashdoctor.render.formats import FORMATS, renderer
from flashdoctor.render.style import Style

FOLDER = Path(str(render.__file__)).parent


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_renders_every_report(name: str, sample_report: Report) -> None:
    text = renderer(name)(sample_report, Style())
    assert sample_report.verdict in text.lower()
    assert text.endswith("\n")


def test_every_renderer_in_the_folder_is_a_format() -> None:
    others = ("__init__", "_text")  # those of one command alone end in _text
    modules = [path.stem for path in FOLDER.glob("*.py") if not path.stem.endswith(others)]
    with_render = [
        name for name in modules if hasattr(import_module(f"flashdoctor.render.{name}"), "render")
    ]
    assert sorted(with_render) == sorted(FORMATS.values())
