"""The page around a report: its head, its one style sheet, its one script, and their hashes.

The Content-Security-Policy allows the two by hash and nothing else: no request, no other script,
no inline style, whatever else the page may come to hold.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from flashdoctor.render.html_css import STYLE_SHEET
from flashdoctor.render.html_markup import Child, Markup, tag

SCRIPT = """
"use strict";
(() => {
  const said = document.getElementById("said");
  const say = (text) => { said.textContent = text; };

  const select = (node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    const selection = window.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  };
  const copyOld = (node) => {
    select(node);
    return document.execCommand("copy");
  };
  const copy = async (node) => {
    try {
      await navigator.clipboard.writeText(node.textContent);
      return true;
    } catch {
      return copyOld(node);
    }
  };
  for (const button of document.querySelectorAll("button.copy")) {
    const name = button.textContent;
    button.hidden = false;
    button.addEventListener("click", async () => {
      const done = await copy(button.parentNode.querySelector("code"));
      button.textContent = done ? "Copied" : "Selected";
      say(done ? "Copied." : "Selected; copy it with the keyboard.");
      setTimeout(() => { button.textContent = name; }, 2000);
    });
  }

  const box = document.getElementById("filter");
  if (box) {
    const rows = [...document.querySelectorAll("#facts tbody tr")];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const count = document.getElementById("count");
    const filter = () => {
      const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
      let left = 0;
      rows.forEach((row, place) => {
        row.hidden = !words.every((word) => texts[place].includes(word));
        left += row.hidden ? 0 : 1;
      });
      count.textContent = `${left} of ${rows.length}`;
    };
    box.closest(".filter").hidden = false;
    box.addEventListener("input", filter);
    box.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { box.value = ""; filter(); }
    });
    filter();
  }

  const opened = [];
  window.addEventListener("beforeprint", () => {
    for (const each of document.querySelectorAll("details:not([open])")) {
      each.open = true;
      opened.push(each);
    }
  });
  window.addEventListener("afterprint", () => {
    for (const each of opened.splice(0)) { each.open = false; }
  });
})();
"""


def page(title: str, *body: Child, verdict: str, exit_code: int) -> str:
    """Return the whole document."""
    head = tag(
        "head",
        Markup("\n"),
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy()),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(STYLE_SHEET)),
    )
    script = tag("script", Markup(SCRIPT))
    whole = tag("body", Markup("\n"), *body, script, data_verdict=verdict, data_exit_code=exit_code)
    return "<!DOCTYPE html>\n" + tag("html", Markup("\n"), head, whole, lang="en")


def policy() -> str:
    """Return the page's Content-Security-Policy."""
    allowed = (
        "default-src 'none'",
        f"style-src {_hash(STYLE_SHEET)}",
        f"script-src {_hash(SCRIPT)}",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(allowed)


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
