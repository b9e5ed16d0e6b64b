from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flashdoctor.tune.custom_code import find_attention_by_hand

BY_HAND = """
import torch
from torch import nn

class Attention(nn.Module):
    def forward(self, x):
        scores = torch.matmul(query_states, key_states.transpose(2, 3)) / self.scale
        scores = scores + mask
        weights = nn.functional.softmax(scores, dim=-1)
        return torch.matmul(weights, value_states)
"""
FUSED = BY_HAND + "\nfrom flash_attn import flash_attn_func\n"
SDPA = BY_HAND.replace("nn.functional.softmax", "F.scaled_dot_product_attention")
ROUTER = "probabilities = torch.softmax(self.gate(x), dim=-1)\n"
COMMENT = "# torch.matmul(query, key)\n" + ROUTER


def test_a_softmax_over_scores_is_found_by_line() -> None:
    assert find_attention_by_hand(BY_HAND) == 9
    assert find_attention_by_hand("s = torch.einsum('bhd', q, k)\np = s.softmax(-1)") == 2


def test_a_fused_way_beside_it_is_enough() -> None:
    assert find_attention_by_hand(FUSED) is None
    assert find_attention_by_hand(SDPA) is None


def test_other_softmaxes_are_no_attention() -> None:
    assert find_attention_by_hand(ROUTER) is None
    assert find_attention_by_hand(COMMENT) is None


@given(st.text(max_size=300))
def test_any_text_is_read(code: str) -> None:
    line = find_attention_by_hand(code)
    assert line is None or line >= 1
