from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.markup import strip_markup


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("> RuntimeError: x", "RuntimeError: x"),
        ("> > >   nested", "  nested"),
        (">> nested", "nested"),
        (">>> import torch", ">>> import torch"),
        ("> >>> import torch", ">>> import torch"),
        (">=2.6.0", ">=2.6.0"),
        ("a > b", "a > b"),
        ("&gt; error: &lt;x&gt; &amp; &quot;y&quot;&#39;s", 'error: <x> & "y"\'s'),
        ("&unknown; & x;", "&unknown; & x;"),
        ("```", ""),
        ("```python", ""),
        ("   ~~~~ text", ""),
        ("```RuntimeError: y", "RuntimeError: y"),
        ("```text RuntimeError: y```", "RuntimeError: y"),
        ("`torch_dtype` is deprecated", "`torch_dtype` is deprecated"),
        ("<details><summary>Log</summary>", "Log"),
        ("<details open>", ""),
        ('<pre class="x">text</pre><br/>', "text"),
        ("std::vector<int> x; <frozen importlib>", "std::vector<int> x; <frozen importlib>"),
        ("\u256d\u2500\u2500 Error \u2500\u2500\u256e", "Error"),
        ("\u2502 boxed text   \u2502", "boxed text"),
        ("\u2502   indented \u2502", "  indented"),
        ("\u2503 torch \u2502 2.6.0 \u2503", "torch   2.6.0"),
        ("\u2570\u2500> [20 lines of output]", "[20 lines of output]"),
        ("\u2502   \u251c\u2500\u2500 torch v2.6.0", "torch v2.6.0"),
        ("\u2500" * 40, ""),
        ("\u2570\u2500\u2500\u256f", ""),
        (" 45%|\u2588\u2588\u2588  | 45/100", " 45%|\u2588\u2588\u2588  | 45/100"),
        ("+-----+", "+-----+"),
        ("| a | b |", "| a | b |"),
        ("", ""),
    ],
)
def test_what_stands_around_a_line_goes(text: str, said: str) -> None:
    assert strip_markup(text) == said


@given(st.text() | st.text("\u2502\u2500 >&lt;`~<br/>"))
def test_any_text_survives(text: str) -> None:
    assert len(strip_markup(text)) <= len(text)
