"""Typer's commands and groups, with every value taken as the text that was typed.

Typer 0.29 checks each value through pydantic, which takes 90 ms to import: more than all else that
a check of assumed facts does. Our parameters are texts, lists of texts and flags, and are checked
by the commands themselves, so nothing is lost. A typer that does not know `_runtime_param` checks
them as it always did.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from flashdoctor.cli.options import did_you_mean
from flashdoctor.errors import UsageError

USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
"""Typer's own error for wrong usage, `click.UsageError` or its own copy of it, by version."""


class _AsTyped:
    """Stands in for typer's conversion: hands the text on."""

    def coerce(self, value: Any, *_args: Any, **_kwargs: Any) -> Any:
        return value


class _Plain:
    def get_params(self, ctx: Any) -> Any:
        """Return the parameters, help option included, without their conversions."""
        parameters = super().get_params(ctx)  # type: ignore[misc]  # a mixin for the two below
        for parameter in parameters:
            parameter._runtime_param = _AsTyped()  # noqa: SLF001 - see the module's docstring
        return parameters


class Command(_Plain, TyperCommand):
    """One command."""


class Group(_Plain, TyperGroup):
    """A command with commands below it."""


def group_of(modules: Mapping[str, str]) -> type[Group]:
    """Return a group whose commands live in modules of their own, each called `app` there.

    Only the module of the command that is run gets imported, and all of them for the help.
    """

    class Lazy(Group):
        def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - as the base class has it
            return list(modules)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            if cmd_name not in modules:
                raise UsageError(
                    f"there is no command {cmd_name!r}{did_you_mean(cmd_name, modules)}",
                    hint=f"{ctx.command_path} --help",
                )
            command = typer.main.get_command(import_module(modules[cmd_name]).app)
            command.name = cmd_name
            return command

    return Lazy


def new_app(help_text: str | None = None, cls: type[Group] = Group) -> typer.Typer:
    """Return a typer application that imports neither rich nor pydantic to run or to print help."""
    return typer.Typer(
        cls=cls,
        help=help_text,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
