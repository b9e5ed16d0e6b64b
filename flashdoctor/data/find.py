"""Where the matrices are: inside the installed package, or in the checkout beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from flashdoctor.errors import MatrixError

if TYPE_CHECKING:
    from importlib.abc import Traversable

META = "meta.toml"


def find_matrices(package: Path | None = None) -> Traversable:
    """Return the folder that holds meta.toml; `MatrixError` where there is none.

    `package` is the folder of the package, by default this one. Looked at in order: `_matrices`
    inside it (an installed wheel), `matrices` beside it (a checkout or an editable install), and
    `_matrices` through importlib.resources (a package inside an archive).
    """
    home = package or Path(__file__).parent.parent
    for folder in (home / "_matrices", home.parent / "matrices"):
        if (folder / META).is_file():
            return folder
    packed = None if home.is_dir() else _inside_archive()
    if packed is None:
        raise MatrixError(
            "the compatibility tables are missing",
            hint="install flashdoctor again, or run it from a complete checkout",
        )
    return packed


def _inside_archive() -> Traversable | None:
    from importlib.resources import files  # noqa: PLC0415  slow to import; only archives need it

    folder = files("flashdoctor") / "_matrices"
    return folder if (folder / META).is_file() else None
