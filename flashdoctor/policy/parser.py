"""From the parsed TOML of a policy to a `Policy`; every mistake is reported at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any, cast

from flashdoctor.engine.expectations import Expectation, parse_expectation
from flashdoctor.engine.verdict import FailOn
from flashdoctor.errors import UsageError
from flashdoctor.model.rule import COMPONENTS, Component, Rule
from flashdoctor.model.scrub import scrub_text
from flashdoctor.policy.policy import Ignore, Policy, Section

FAIL_ON = ("error", "warning", "never")
ABOUT = "policy.file"
"""Rules about this fact judge the policy itself, which cannot ignore them."""

_KEYS = ("require", "fail-on", "ignore", "expect")
_IGNORE_KEYS = ("id", "reason", "until")
_SHOWN = 60


class _Mistakes(list[str]):
    """What is wrong, each with the place it stands at."""

    def note(self, where: str, text: str) -> None:
        self.append(f"{where}: {text}" if where else text)


def parse_policy(table: Any, rules: Sequence[Rule], file: str) -> Policy:
    """Read a policy's table; one `UsageError` names every mistake in it."""
    mistakes = _Mistakes()
    base, profiles = Section(), {}
    if isinstance(table, dict):
        base = _section("", table, rules, mistakes)
        profiles = _profiles(table.get("profile", {}), rules, mistakes)
    else:
        mistakes.note("", f"expected a table, got {_kind(table)}")
    if mistakes:
        raise UsageError(f"policy {file}: {'; '.join(mistakes)}", hint="flashdoctor check --help")
    return Policy(base=base, profiles=profiles)


def choose(policy: Policy, profile: str | None, file: str) -> Section:
    """Return the settings of a profile, or of no profile; `UsageError` where there is none."""
    if profile is None:
        return policy.base
    if profile not in policy.profiles:
        names = ", ".join(policy.profiles) or "none"
        close = _close(profile, policy.profiles)
        raise UsageError(
            f"policy {file} has no profile {profile!r}{close}", hint=f"profiles: {names}"
        )
    return policy.base.under(policy.profiles[profile])


def _profiles(table: Any, rules: Sequence[Rule], mistakes: _Mistakes) -> dict[str, Section]:
    if not isinstance(table, dict):
        mistakes.note("profile", f"expected tables such as [profile.ci], got {_kind(table)}")
        return {}
    found = {}
    for name, body in table.items():
        where = f"profile.{name}"
        if isinstance(body, dict):
            found[name] = _section(where, body, rules, mistakes)
        else:
            mistakes.note(where, f"expected a table, got {_kind(body)}")
    return found


def _section(
    where: str, table: Mapping[str, Any], rules: Sequence[Rule], mistakes: _Mistakes
) -> Section:
    for key in table:
        if key not in _KEYS and not (key == "profile" and not where):
            known = _KEYS if where else (*_KEYS, "profile")
            mistakes.note(where, f"no setting is called {key[:_SHOWN]!r}{_close(key, known)}")
    place = f"{where}." if where else ""
    return Section(
        require=_require(f"{place}require", table.get("require"), mistakes),
        fail_on=_fail_on(f"{place}fail-on", table.get("fail-on"), mistakes),
        ignore=_ignores(f"{place}ignore", table.get("ignore"), rules, mistakes),
        expect=_expect(f"{place}expect", table.get("expect"), mistakes),
    )


def _require(where: str, value: Any, mistakes: _Mistakes) -> tuple[Component, ...] | None:
    def component(item: Any) -> str:
        return _one_of(item, COMPONENTS)

    found = _list(where, value, component, mistakes)
    return None if found is None else cast("tuple[Component, ...]", tuple(dict.fromkeys(found)))


def _fail_on(where: str, value: Any, mistakes: _Mistakes) -> FailOn | None:
    if value is None:
        return None
    try:
        return cast("FailOn", _one_of(value, FAIL_ON))
    except ValueError as error:
        mistakes.note(where, str(error))
        return None


def _expect(where: str, value: Any, mistakes: _Mistakes) -> tuple[Expectation, ...] | None:
    found = _list(where, value, lambda item: parse_expectation(_text(item)), mistakes)
    return None if found is None else tuple(dict.fromkeys(found))


def _list(
    where: str, value: Any, read: Callable[[Any], Any], mistakes: _Mistakes
) -> list[Any] | None:
    """Return a list's items as `read` gives them; its ValueErrors become mistakes."""
    if value is None:
        return None
    if not isinstance(value, list):
        mistakes.note(where, f"expected a list, got {_kind(value)}")
        return None
    found = []
    for number, item in enumerate(value):
        try:
            found.append(read(item))
        except ValueError as error:
            mistakes.note(f"{where}[{number}]", str(error))
    return found


def _ignores(
    where: str, value: Any, rules: Sequence[Rule], mistakes: _Mistakes
) -> tuple[Ignore, ...] | None:
    found = _list(where, value, lambda item: _ignore(item, rules), mistakes)
    if found is None:
        return None
    ids = [item.id for item in found]
    for repeated in dict.fromkeys(name for name in ids if ids.count(name) > 1):
        mistakes.note(where, f"{repeated} stands there {ids.count(repeated)} times")
    return tuple(found)


def _ignore(item: Any, rules: Sequence[Rule]) -> Ignore:
    if not isinstance(item, dict):
        raise ValueError(f"expected {{ id, reason, until }}, got {_kind(item)}")  # noqa: TRY004 - a mistake like the others
    wrong = [
        f"no key is called {key[:_SHOWN]!r}{_close(key, _IGNORE_KEYS)}"
        for key in item
        if key not in _IGNORE_KEYS
    ]
    readers = {"id": lambda value: _rule(value, rules), "reason": _reason, "until": _until}
    read: dict[str, Any] = {}
    for key, reader in readers.items():
        try:
            read[key] = reader(item.get(key))
        except ValueError as error:
            wrong.append(f"{key}: {error}")
    if wrong:
        raise ValueError(", ".join(wrong))
    return Ignore(**read)


def _rule(value: Any, rules: Sequence[Rule]) -> str:
    name = _text(value)
    rule = next((rule for rule in rules if name.upper() == rule.id or name == rule.name), None)
    if rule is None:
        words = [word for each in rules for word in (each.id, each.name)]
        raise ValueError(f"no rule {name[:_SHOWN]!r}{_close(name, words)}")
    if rule.about == ABOUT:
        raise ValueError(f"{rule.id} judges the policy itself and cannot be ignored by it")
    return rule.id


def _reason(value: Any) -> str:
    text = " ".join(_text(value).split())
    if not text:
        raise ValueError("a reason has to be given")
    return scrub_text(text)


def _until(value: Any) -> date:
    if value is None:
        raise ValueError("missing; the last day on which it is ignored, such as 2026-12-31")
    if type(value) is not date:  # a datetime is a date as well
        raise ValueError(f"expected a day such as 2026-12-31, without quotes, got {_kind(value)}")
    return value


def _text(value: Any) -> str:
    if value is None:
        raise ValueError("missing")
    if not isinstance(value, str):
        raise ValueError(f"expected text, got {_kind(value)}")  # noqa: TRY004 - a mistake like the others
    return value


def _one_of(value: Any, allowed: Sequence[str]) -> str:
    text = _text(value)
    if text in allowed:
        return text
    raise ValueError(f"expected {', '.join(allowed)}, not {text[:_SHOWN]!r}{_close(text, allowed)}")


def _close(word: str, known: Iterable[str]) -> str:
    import difflib  # noqa: PLC0415 - only for a mistyped word

    close = difflib.get_close_matches(word[:_SHOWN], list(known), n=1)
    return f", did you mean {close[0]!r}?" if close else ""


def _kind(value: Any) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "text"}
    return {**names, list: "a list", dict: "a table"}.get(type(value), type(value).__name__)
