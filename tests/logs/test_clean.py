from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.logs.clean import clean_line, peel

ERROR = "ImportError: libcudart.so.12: cannot open shared object file"


@pytest.mark.parametrize(
    "text",
    [
        ERROR,
        f"> {ERROR}",
        f"> vllm-1  | (Worker_TP0 pid=1) {ERROR}",
        f"vllm-1  | > {ERROR}",
        f"2025-01-02T03:04:05.1234567Z \u2502 {ERROR} \u2502",
        f"&gt; [rank0]: {ERROR}",
        f"E   {ERROR}   ",
    ],
)
def test_layers_come_off_in_any_order(text: str) -> None:
    assert clean_line(text) == [ERROR]


def test_an_entry_in_an_entry() -> None:
    inner = '{\\"level\\": \\"error\\", \\"msg\\": \\"(W pid=1) boom\\"}'
    assert clean_line(f'app-1  | {{"log": "{inner}\\n", "stream": "stderr"}}')[-1] == (
        '{"level": "error", "msg": "(W pid=1) boom"}'
    )


def test_indentation_stays() -> None:
    assert peel('[rank0]:   File "x.py", line 3') == '  File "x.py", line 3'


@given(st.text())
def test_any_line_gives_at_least_one_text(text: str) -> None:
    assert clean_line(text)
