from __future__ import annotations

import json
from dataclasses import replace

from flashdoctor.model.finding import Advice, Evidence, Finding
from flashdoctor.model.lint import Engine, Launched, LintFinding, LintReport
from flashdoctor.model.lint_redaction import redact_lint

SAID = "--api-key hf_abcdefghijKLMNOPQRSTuvwxyz0123456789 /home/alice/m --host 0.0.0.0"


def report(text: str) -> LintReport:
    finding = Finding(id="FD754", name="launch-value-wrong", cause="c", outcome="fail",
                      severity="error", title=text, layer="launch", detail=text,
                      evidence=(Evidence(line=1, value=text, where=text),
                                Evidence(fact="gpu.count", value=2, where="")),
                      fix=Advice(text=text, commands=(text,), safety="safe"))  # fmt: skip
    found = LintFinding(finding=finding, flag=text, line=1, replacement=text, where=text)
    launch = Launched(1, text, Engine("0.11.0", "a", "b", exact=True))
    return LintReport(verdict="fail", exit_code=1, launches=(launch,), findings=(found,))


def test_nothing_private_stays_and_the_rest_does() -> None:
    clean = redact_lint(report(SAID))
    text = json.dumps(clean.to_json())
    assert "hf_" not in text
    assert "alice" not in text
    [found] = clean.findings
    assert found.finding.evidence[0].value == "--api-key <secret> ~/m --host 0.0.0.0"
    assert found.finding.evidence[1].value == 2
    assert found.finding.fix.safety == "safe"
    assert redact_lint(clean) == clean


def test_what_names_nobody_is_left_as_it_is() -> None:
    plain = report("--seed 0 --max-model-len 8192")
    assert redact_lint(plain) == plain


def test_the_verb_behind_a_flag_is_no_secret_and_what_follows_it_can_be_one() -> None:
    found = report("x").findings[0]
    wants = found.finding._replace(title="--api-key needs a value")
    says = found.finding._replace(title="--api-key hunter2secret")
    told = report("x")
    for finding, title in ((wants, "--api-key needs a value"), (says, "--api-key <secret>")):
        one = replace(found, flag="--api-key", finding=finding)
        [clean] = redact_lint(replace(told, findings=(one,))).findings
        assert clean.finding.title == title
