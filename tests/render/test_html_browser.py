"""The page in a real browser: headless Chromium, driven over a pipe with the standard library."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from flashdoctor import planning
from flashdoctor.engine.assume import read_assumptions
from flashdoctor.model.facts import known
from flashdoctor.model.finding import Report
from flashdoctor.model.snapshot import Snapshot
from flashdoctor.model.trial import Compared, Measured, Outcome, Trial
from flashdoctor.render.context import Context
from flashdoctor.render.html import render
from flashdoctor.render.html_tune import render_tune_html
from flashdoctor.render.style import Style
from flashdoctor.tune.emit import FORMS, emit

Build = Callable[[str], Report]
SHOTS = os.environ.get("FLASHDOCTOR_SCREENSHOTS")  # a folder that keeps them, to look at
LIMIT_S = 60
COMMAND = "python -m pip install --no-deps "
NASTY = "<script>window.hit=1</script><img src=x onerror=window.hit=1><a href=javascript:hit>x</a>"
SAID = "document.getElementById('said').textContent"
LAUNCH = (
    "import os, sys; r, w = map(int, sys.argv[1:3]); os.dup2(r, 3); os.dup2(w, 4);"
    " os.execvp(sys.argv[3], sys.argv[3:])"
)
SWITCHES = (
    "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
    "--disable-dev-shm-usage", "--disable-background-networking", "--hide-scrollbars",
)  # fmt: skip
CONTRAST = """
(() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const channels = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const light = (color) => {
    const parts = [...channels(color)].slice(0, 3).map((value) => value / 255);
    const linear = parts.map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const behind = (node) => {
    for (let each = node; each; each = each.parentElement) {
      const color = getComputedStyle(each).backgroundColor;
      if (channels(color)[3] === 255) { return color; }
    }
    return "white";
  };
  const found = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim());
    if (!own || ["SCRIPT", "STYLE"].includes(node.tagName)) { continue; }
    const [a, b] = [light(getComputedStyle(node).color), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) { found.push(`${node.tagName} ${node.className} ${ratio.toFixed(2)}`); }
  }
  return [document.querySelectorAll("body *").length, found];
})()
"""


class Browser:
    """A Chromium with one page. Messages are JSON with a NUL behind each, on two pipes."""

    def __init__(self, program: str, folder: Path) -> None:
        (theirs_in, self._out), (self._in, theirs_out) = os.pipe(), os.pipe()
        # Above 4, so that neither is overwritten when they become the child's 3 and 4.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out)]
        args = [sys.executable, "-c", LAUNCH, *map(str, ends), program, *SWITCHES]
        self._log = (folder / "chromium.log").open("wb")
        self.process = subprocess.Popen(
            [*args, f"--user-data-dir={folder / 'profile'}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, pass_fds=ends,
            start_new_session=True,
        )  # fmt: skip
        for end in (theirs_in, theirs_out, *ends):
            os.close(end)
        self._buffer, self._number, self._session = b"", 0, ""
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def wait(self, method: str) -> None:
        while not any(event["method"] == method for event in self.events):
            self._next()

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + LIMIT_S
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            assert select.select([self._in], [], [], max(left, 0))[0], "Chromium says nothing"
            read = os.read(self._in, 1 << 20)
            assert read, "Chromium has ended"
            self._buffer += read
        first, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        if "method" in message:
            self.events.append(message)
        return message

    def evaluate(self, code: str) -> Any:
        answer = self.ask(
            "Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True,
            userGesture=True,
        )  # fmt: skip
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def open(self, file: Path, *, width: int = 1400, scheme: str = "light") -> None:
        scheme_media = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media="", features=scheme_media)
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900,
                 deviceScaleFactor=1, mobile=False)  # fmt: skip
        self.events.clear()
        self.ask("Page.navigate", url=file.as_uri())
        self.wait("Page.loadEventFired")

    def click(self, selector: str) -> None:
        node = f"document.querySelector({json.dumps(selector)})"
        self.evaluate(f"{node}.scrollIntoView({{block: 'center'}})")
        x, y = self.evaluate(
            f"(() => {{ const r = {node}.getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str, text: str = "") -> None:
        codes = {"Tab": 9, "Enter": 13, "Escape": 27}
        more = {"windowsVirtualKeyCode": codes[key]} if key in codes else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, **more)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, **more)

    def until(self, code: str, expected: Any) -> None:
        deadline = time.monotonic() + 10
        while (found := self.evaluate(code)) != expected:
            assert time.monotonic() < deadline, f"{code}: {found!r}"
            time.sleep(0.02)

    def complaints(self) -> list[str]:
        """Return what the console, the policy and the script had to say."""
        kinds = {"Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"}
        return [json.dumps(event) for event in self.events if event["method"] in kinds]

    def requests(self) -> list[str]:
        sent = [each for each in self.events if each["method"] == "Network.requestWillBeSent"]
        return [each["params"]["request"]["url"] for each in sent]

    def close(self) -> None:
        self._session = ""
        try:
            self.ask("Browser.close")
            self.process.wait(LIMIT_S)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            os.killpg(self.process.pid, 9)
            self.process.wait(LIMIT_S)
        os.close(self._in)
        os.close(self._out)
        self._log.close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("chromium is not here (Debian: apt-get install chromium)")
    found = Browser(program, tmp_path_factory.mktemp("chromium"))
    yield found
    found.close()


@pytest.fixture
def write(build_report: Build, tmp_path: Path) -> Callable[..., Path]:
    def put(name: str, report: Report | None = None) -> Path:
        file = tmp_path / f"{name}.html"
        context = Context(source=f"{name}.json")
        file.write_text(render(report or build_report(name), Style(), context), encoding="utf-8")
        return file

    return put


def allow_the_clipboard(browser: Browser) -> None:
    """Let the test itself read and write it; the page's click needs no permission."""
    both = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    browser.ask("Browser.grantPermissions", permissions=both)


def focused(browser: Browser) -> str:
    return str(browser.evaluate("document.activeElement.className || document.activeElement.id"))


def shown_facts(browser: Browser) -> list[str]:
    code = (
        "[...document.querySelectorAll('#facts tbody tr:not([hidden]) code')].map(c => c.innerText)"
    )
    return list(browser.evaluate(code))


@pytest.mark.parametrize(
    "name", ["fail", "pass_live", "undetermined", "hostile", "nothing", "many"]
)
def test_nothing_is_asked_for_and_nothing_complains(
    browser: Browser, write: Callable[..., Path], name: str
) -> None:
    file = write(name)
    browser.open(file)
    assert browser.requests() == [file.as_uri()]
    assert browser.complaints() == []


def test_the_copy_button_copies_by_mouse_and_by_keyboard(
    browser: Browser, write: Callable[..., Path]
) -> None:
    browser.open(write("fail"))
    allow_the_clipboard(browser)
    browser.click("button.copy")
    browser.until(SAID, "Copied.")
    copied = browser.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(COMMAND)
    assert copied == browser.evaluate("document.querySelector('.command code').textContent")
    browser.evaluate("navigator.clipboard.writeText('before')")
    browser.evaluate(f"{SAID} = ''")
    browser.evaluate("document.querySelector('button.copy').focus()")
    browser.press("Enter", "\r")
    browser.until(SAID, "Copied.")
    assert browser.evaluate("navigator.clipboard.readText()") == copied


def test_the_copy_button_works_without_a_clipboard_interface(
    browser: Browser, write: Callable[..., Path]
) -> None:
    browser.open(write("fail"))
    allow_the_clipboard(browser)
    browser.evaluate("navigator.clipboard.writeText('before')")
    browser.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('no'))")
    browser.click("button.copy")
    browser.until(SAID, "Copied.")
    assert browser.evaluate("navigator.clipboard.readText()").startswith(COMMAND)


def test_the_filter_shows_what_holds_every_word(
    browser: Browser, write: Callable[..., Path]
) -> None:
    browser.open(write("fail"))
    every = shown_facts(browser)
    browser.click("#filter")
    browser.ask("Input.insertText", text="GPU memory")
    assert shown_facts(browser) == ["gpu.memory_mib", "gpu.memory_used_mib"]
    assert browser.evaluate("document.getElementById('count').textContent") == f"2 of {len(every)}"
    browser.press("Escape")
    assert shown_facts(browser) == every
    assert browser.complaints() == []


def test_the_keyboard_reaches_everything_and_shows_where_it_is(
    browser: Browser, write: Callable[..., Path]
) -> None:
    browser.open(write("fail"))
    browser.press("Tab")
    assert focused(browser) == "skip"
    reached = []
    for _ in range(60):
        style = "getComputedStyle(document.activeElement).outlineStyle"
        assert browser.evaluate(style) == "solid" or focused(browser) == ""
        browser.press("Tab")
        reached.append(focused(browser))
    assert {"copy", "filter"} <= set(reached)


def test_a_screen_reader_finds_landmarks_and_names(
    browser: Browser, write: Callable[..., Path]
) -> None:
    browser.open(write("fail"))
    nodes = browser.ask("Accessibility.getFullAXTree")["nodes"]
    named = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node.get("ignored")
    ]
    roles = {role for role, _ in named}
    assert {"banner", "main", "navigation", "contentinfo", "search", "article", "table"} <= roles
    for role in ("button", "link", "searchbox", "article", "region", "navigation"):
        found = [name for kind, name in named if kind == role]
        assert found, role
        assert all(found), role
    assert ("button", "Copy the command for FD302") in named


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 400, 1400])
@pytest.mark.parametrize("name", ["fail", "hostile"])
def test_it_fits_and_can_be_read(
    browser: Browser, write: Callable[..., Path], *, name: str, width: int, scheme: str
) -> None:
    browser.open(write(name), width=width, scheme=scheme)
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    count, faint = browser.evaluate(CONTRAST)
    assert count > 100
    assert faint == []
    shot = browser.ask("Page.captureScreenshot", captureBeyondViewport=True)["data"]
    image = base64.b64decode(shot)
    if SHOTS:
        Path(SHOTS, f"{name}-{width}-{scheme}.png").write_bytes(image)
    assert image.startswith(b"\x89PNG")
    assert int.from_bytes(image[16:20], "big") == width


def test_light_and_dark_differ(browser: Browser, write: Callable[..., Path]) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        browser.open(write("fail"), scheme=scheme)
        grounds.append(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert grounds == ["rgb(244, 245, 247)", "rgb(20, 23, 27)"]


def test_what_is_hostile_stays_text(
    browser: Browser, write: Callable[..., Path], build_report: Build
) -> None:
    base = build_report("hostile")
    bad = base.findings[0]
    finding = bad._replace(title=NASTY, detail=NASTY, sources=(NASTY,),
                      fix=bad.fix._replace(text=NASTY, commands=(NASTY,)))  # fmt: skip
    facts = Snapshot({**base.snapshot.facts, "live.error": known("live.error", NASTY, NASTY)})
    browser.open(write("nasty", base._replace(findings=(finding,), snapshot=facts)))
    assert browser.evaluate(
        "window.hit === undefined && !document.querySelector('img, main script')"
    )
    assert browser.evaluate("document.querySelector('article h3').textContent") == NASTY
    links = browser.evaluate("[...document.links].map(a => a.protocol)")
    assert set(links) == {"file:"}
    assert browser.complaints() == []


def test_the_policy_stops_what_is_not_ours(browser: Browser, write: Callable[..., Path]) -> None:
    file = write("fail")
    text = file.read_text(encoding="utf-8")
    broken = text.replace("<main", f"{NASTY}<p style='color:red'>x</p><main", 1)
    file.write_text(broken, encoding="utf-8")
    browser.open(file)
    assert browser.evaluate("window.hit") is None
    assert len(browser.complaints()) >= 3


def test_it_prints_without_its_buttons(browser: Browser, write: Callable[..., Path]) -> None:
    browser.open(write("fail"))
    printed = base64.b64decode(browser.ask("Page.printToPDF")["data"])
    assert printed.startswith(b"%PDF")
    browser.ask("Emulation.setEmulatedMedia", media="print")
    display = "getComputedStyle(document.querySelector('{}')).display"
    for selector in ("button", ".filter", "nav"):
        assert browser.evaluate(display.format(selector)) == "none"


def test_without_javascript_all_is_there(browser: Browser, write: Callable[..., Path]) -> None:
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(write("fail"))
        root = browser.ask("DOM.getDocument")["root"]["nodeId"]

        def count(selector: str) -> int:
            found = browser.ask("DOM.querySelectorAll", nodeId=root, selector=selector)
            return len(found["nodeIds"])

        assert count("button:not([hidden])") == count("tr[hidden]") == 0
        assert count(".filter[hidden]") == 1
        assert count("#facts tbody tr") == 21
    finally:
        browser.ask("Emulation.setScriptExecutionDisabled", value=False)


@pytest.fixture
def planned(tmp_path: Path) -> Callable[..., Path]:
    """Write the page of a planned launch on a GPU, with trials."""

    def put(gpu: str = "NVIDIA H200", *pins: str, model: str = "llama3.1-8b") -> Path:
        folder = Path(__file__).parents[1] / "data" / "models" / model
        report, launch = planning.tune(
            str(folder), read_assumptions([f"gpu={gpu}"]), version="0.25.1", options={"pins": pins}
        )
        forms = {form: emit(form, launch) for form in FORMS} if report.fits else {}
        outcomes = [
            Outcome(trial=Trial(name, {"max_num_seqs": 512}, "why"), status="ran", output_tps=tps)
            for name, tps in (("defaults", 5604.3), ("chosen", 6151.3), (NASTY, 6001.0))
        ]
        measured = Measured(
            workload={"requests": 1024, "prompt_tokens": 1024, "output_tokens": 256},
            outcomes=tuple(outcomes), best="chosen", gain=1.1, logs="trials-1",
            compared=(Compared("peak, GPU in use", 129.5, 129.8, "NVML every 100 ms"),),
        )  # fmt: skip
        file = tmp_path / "tune.html"
        page = render_tune_html(replace(report, measured=measured, notes=(NASTY,)), forms)
        file.write_text(page, encoding="utf-8")
        return file

    return put


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 400, 1400])
@pytest.mark.parametrize("pins", [(), ("gpu-memory-utilization=0.12",)], ids=["fits", "refused"])
def test_a_planned_launch_fits_and_can_be_read(
    browser: Browser,
    planned: Callable[..., Path],
    *,
    pins: tuple[str, ...],
    width: int,
    scheme: str,
) -> None:
    file = planned("NVIDIA H200", *pins)
    browser.open(file, width=width, scheme=scheme)
    assert browser.requests() == [file.as_uri()]
    assert browser.complaints() == []
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    browser.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    _, faint = browser.evaluate(CONTRAST)
    assert faint == []
    assert browser.evaluate("window.hit === undefined && !document.querySelector('img')")
    drawn = "[...document.querySelectorAll('.chart > rect')].map((r) => r.getBoundingClientRect())"
    ends = browser.evaluate(f"{drawn}.map((box) => [box.left, box.right])")
    assert len(ends) >= 5
    assert all(abs(one[1] - two[0]) < 1 for one, two in pairwise(ends))
    shot = browser.ask("Page.captureScreenshot", captureBeyondViewport=True)["data"]
    if SHOTS:
        name = f"tune-{'refused' if pins else 'fits'}-{width}-{scheme}.png"
        Path(SHOTS, name).write_bytes(base64.b64decode(shot))


def test_a_form_of_the_launch_is_copied_with_its_lines(
    browser: Browser, planned: Callable[..., Path]
) -> None:
    browser.open(planned())
    allow_the_clipboard(browser)
    browser.click("#form-kubernetes summary")
    browser.click("#form-kubernetes button.copy")
    browser.until(SAID, "Copied.")
    copied = browser.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("apiVersion: apps/v1\nkind: Deployment\n")
    assert "\n  template:\n" in copied
