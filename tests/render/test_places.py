from __future__ import annotations

import pytest

from flashdoctor.model.finding import Evidence
from flashdoctor.render.context import Context
from flashdoctor.render.places import Place, place_of

FACT = Evidence(fact="torch.version", value="2.7", where="torch/version.py")
STATED = Evidence(fact="torch.version", value="2.7", where="pip list, line 31")
LINE = Evidence(line=7, value="text", where="line 7")


@pytest.mark.parametrize(
    ("evidence", "context", "place"),
    [
        ((LINE, STATED), Context(source="a.log"), Place("a.log", 7, is_file=True)),
        ((STATED, LINE), Context(source="a.log"), Place("a.log", 31, is_file=True)),
        ((LINE,), Context(), Place("here", 7)),
        ((FACT,), Context(), Place("here")),
        ((), Context(source="a.log"), Place("a.log", None, is_file=True)),
        ((FACT,), Context(pins={"torch": ("uv.lock", 3)}), Place("uv.lock", 3, is_file=True)),
        ((FACT,), Context(source="/home/alice/s.json"), Place("~/s.json", None, is_file=True)),
    ],
)
def test_the_first_place_that_is_told(
    evidence: tuple[Evidence, ...], context: Context, place: Place
) -> None:
    assert place_of(evidence, context, "here") == place


def test_a_line_that_is_known_goes_first() -> None:
    assert place_of((LINE,), Context(source="x"), "here", line=2).line == 2
    assert place_of((LINE._replace(line=-4),), Context(source="x"), "here").line == 1
