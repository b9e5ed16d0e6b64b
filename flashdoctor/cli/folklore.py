"""`flashdoctor folklore [WORDS]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from flashdoctor.cli import options
from flashdoctor.cli.output import Outcome, read_style
from flashdoctor.cli.parsing import Command, new_app

if TYPE_CHECKING:
    from flashdoctor.data.folklore import Match

SCHEMA = "flashdoctor/folklore/v1"

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[WORDS]",
        show_default=False,
        help="Words of the claim, or its name: 'nvidia-smi cuda', tp-power-of-two.",
    ),
]

app = new_app()


@app.command(cls=Command)
def folklore(
    words: Words = None,
    *,
    output_format: options.Format = "terminal",
    output: options.Output = None,
    verbose: options.Verbose = False,
) -> Outcome:
    """Answer the claims that guides and posts repeat.

    Without WORDS all of them are listed. Exit code: 0, or 2 for wrong usage.
    """
    options.one_of("--format", output_format, options.TEXT_FORMATS)

    from flashdoctor import pipeline
    from flashdoctor.data.folklore import load_claims, search

    asked = [word for text in words or () for word in text.split()]
    found = search(load_claims(pipeline.tables()), asked)
    if output_format == "json":
        return Outcome(text=_json(asked, found), output=output)
    from flashdoctor.render.folklore_text import claims_text, list_text

    style = read_style(output, verbose=verbose)
    claims = [match.claim for match in found]
    text = claims_text(claims, " ".join(asked), style) if asked else list_text(claims, style)
    return Outcome(text=text, output=output)


def _json(words: list[str], found: list[Match]) -> str:
    from flashdoctor import pipeline
    from flashdoctor.render.json_v1 import dump

    claims = [
        {**match.claim.to_json(), "share": round(match.share, 2), "score": match.score}
        for match in found
    ]
    body = {"schema": SCHEMA, "words": words, "claims": claims}
    return dump({**body, "matrix": {"date": pipeline.tables().date}})
