"""The size of the vision tower and projector of a multimodal model.

Sources: modeling files of transformers 4.57 (qwen2_vl, qwen2_5_vl, clip, siglip, llama4). A tower
of another family is taken for a plain ViT with a projector of two matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flashdoctor.tune.fields import Fields

_WORDS = ("vision_config", "visual", "vision_tower", "vit_config", "vision_encoder")
_MOST_LAYERS = 1024
_CHANNELS = 3


def has_vision(config: Fields) -> bool:
    """Whether a config describes a model that takes pictures."""
    return any(config.get(word) for word in _WORDS)


def vision_parameters(config: Fields, text_hidden: int) -> int:
    """Return the parameters outside of the language model; 0 where nothing can be said."""
    vision = config.part("vision_config")
    if vision is None:
        return 0
    tower = _TOWERS.get(config.text("model_type") or "", _plain)
    return tower(vision, text_hidden)


def _layer(hidden: int, inner: int) -> int:
    """Return the parameters of a ViT layer: attention, MLP of two matrices, two norms, biases."""
    attention = 4 * (hidden * hidden + hidden)
    return attention + 2 * hidden * inner + inner + hidden + 4 * hidden


def _sizes(vision: Fields) -> tuple[int, int, int]:
    hidden = vision.whole("hidden_size", "embed_dim", "width") or 0
    count = vision.whole("num_hidden_layers", "depth", "layers", most=_MOST_LAYERS) or 0
    ratio = vision.number("mlp_ratio") or 4
    inner = vision.whole("intermediate_size")
    return hidden, count, int(hidden * ratio) if inner is None else inner


def _patches(vision: Fields) -> tuple[int, int]:
    """Return the inputs of a patch and the patches of a picture."""
    side = vision.whole("patch_size", "spatial_patch_size", least=1) or 14
    image = vision.whole("image_size") or side
    return _CHANNELS * side * side, (image // side) ** 2


def _clip(vision: Fields, text: int) -> int:
    hidden, count, inner = _sizes(vision)
    patch, many = _patches(vision)
    ends = hidden + patch * hidden + (many + 1) * hidden + 4 * hidden
    return count * _layer(hidden, inner) + ends + _projector(hidden, text)


def _projector(width: int, text: int) -> int:
    return width * text + text + text * text + text


def _gemma3(vision: Fields, text: int) -> int:
    hidden, count, inner = _sizes(vision)
    patch, many = _patches(vision)
    ends = patch * hidden + hidden + many * hidden + 2 * hidden
    return count * _layer(hidden, inner) + ends + hidden * text + hidden


def _llama4(vision: Fields, text: int) -> int:
    hidden, count, inner = _sizes(vision)
    patch, many = _patches(vision)
    middle = vision.whole("projector_input_dim") or 4096
    out = vision.whole("projector_output_dim") or middle
    ends = patch * hidden + hidden + (many + 1) * hidden + 4 * hidden
    seen = vision.whole("vision_output_dim") or out
    return count * _layer(hidden, inner) + ends + inner * middle + middle * out + seen * text


def _merger(vision: Fields, hidden: int, text: int) -> int:
    wide = hidden * (vision.whole("spatial_merge_size", least=1) or 2) ** 2
    out = vision.whole("out_hidden_size") or text
    return wide * wide + wide + wide * out + out


def _qwen2(vision: Fields, text: int) -> int:
    hidden, count, inner = vision.whole("embed_dim") or 0, *_sizes(vision)[1:]
    inner = int(hidden * (vision.number("mlp_ratio") or 4))
    patch = _patches(vision)[0] * (vision.whole("temporal_patch_size", least=1) or 2)
    merger = _merger(vision, hidden, vision.whole("hidden_size") or text) + 2 * hidden
    return patch * hidden + count * _layer(hidden, inner) + merger


def _qwen25(vision: Fields, text: int) -> int:
    hidden, count, inner = _sizes(vision)
    patch = _patches(vision)[0] * (vision.whole("temporal_patch_size", least=1) or 2)
    attention = 4 * (hidden * hidden + hidden)
    mlp = 3 * hidden * inner + 2 * inner + hidden
    merger = _merger(vision, hidden, text) + hidden
    return patch * hidden + count * (attention + mlp + 2 * hidden) + merger


def _plain(vision: Fields, text: int) -> int:
    hidden, count, inner = _sizes(vision)
    patch, many = _patches(vision)
    merged = _projector(hidden, text)
    return count * _layer(hidden, inner) + (patch + many) * hidden + merged


_TOWERS: Mapping[str, Callable[[Fields, int], int]] = {
    "qwen2_vl": _qwen2,
    "qwen2_5_vl": _qwen25,
    "llava": _clip,
    "gemma3": _gemma3,
    "llama4": _llama4,
}
