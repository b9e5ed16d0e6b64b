"""The shapes of launch/flags and launch/environment, and what they share with the other tables."""

from __future__ import annotations

from collections.abc import Mapping

from flashdoctor.data.provenance import sampled, sourced
from flashdoctor.data.shape import Field, Section, may, need

SPAN = {"first": need("version"), "last": need("version")}
OPEN_SPAN = {"first": may("version"), "last": may("version")}
ENGINES = ("V0", "V1")
_KINDS = (
    "value", "store_true", "store_boolean", "bool_optional", "append",
    "DeprecatedLogConfigFileAction", "LoRAParserAction", "PromptAdapterParserAction",
)  # fmt: skip

_VALUES = ("int", "float", "size", "json")
STATEMENTS = sourced({"id": need("label"), "text": need("text"), **OPEN_SPAN}, "id")


def parts(fields: Mapping[str, Field]) -> Field:
    """Describe a list of at least one table inside a row."""
    return Field("table", many=True, of=Section(fields, single=True), filled=True)


def optional_parts(fields: Mapping[str, Field]) -> Field:
    """Describe a list of tables that a row may do without."""
    section = Section(fields, single=True)
    return Field("table", required=False, many=True, of=section, filled=True)


FLAGS = {
    "flag": sampled(
        {
            "name": need("label"),
            **SPAN,
            "frontend": may("bool"),
            "engine": may("text", *ENGINES),
            "deprecated": may("version"),
            "no_op": may("version"),
            "replacement": may("text", many=True),
            "aliases": optional_parts({"name": need("text"), **SPAN}),
            "runs": parts(
                {
                    "first": need("version"),
                    "kind": need("text", *_KINDS),
                    "default": may("any"),
                    "computed": may("text"),
                }
            ),
            "choices": optional_parts(
                {
                    "first": need("version"),
                    "added": may("any", many=True),
                    "removed": may("any", many=True),
                    "any": may("bool"),
                    "open": may("bool"),
                }
            ),
        },
        "name",
    ),
    "value": sourced(
        {
            "id": need("label"),
            "takes": may("text", *_VALUES),
            "many": may("bool"),
            "optional": may("bool"),
            **OPEN_SPAN,
            "flags": Field("label", many=True, filled=True),
        },
        "id",
    ),
    "foreign": sourced(
        {
            "name": need("label"),
            "program": need("text"),
            "replacement": may("text", many=True),
            "claim": may("label"),
        },
        "name",
    ),
    "syntax": sourced(
        {
            "id": need("label"),
            **OPEN_SPAN,
            "flags": may("label", many=True),
            "text": need("text"),
        },
        "id",
    ),
    "exclusive": sourced({"flag": need("label"), "key": need("text"), **SPAN}, "flag"),
    "requirement": sourced(
        {
            "id": need("label"),
            **SPAN,
            "flags": Field("label", many=True, filled=True),
            "text": need("text"),
        },
        "id",
    ),
    "module": sourced({"path": need("text"), "holds": need("text"), **OPEN_SPAN}, "path"),
    "fact": STATEMENTS,
}

ENVIRONMENT = {
    "variable": sampled(
        {
            "name": need("variable"),
            **SPAN,
            "deprecated": may("version"),
            "replacement": may("text", many=True),
            "runs": optional_parts({"first": need("version"), "default": may("any")}),
        },
        "name",
    ),
    "fact": STATEMENTS,
}
