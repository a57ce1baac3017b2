"""Weights of Hugging Face's encoder-decoders (Marian, M2M100) put into ours, name by name.

``copy_layer(ours, theirs)`` and ``copy_model(ours, theirs, order)`` make a pair compute the same
function; what the two sides count differently is the order of features in Marian's positions.
"""

from __future__ import annotations

import re

import torch
from torch import Tensor, nn

from transformer_ref import DecoderLayer, EncoderLayer, Transformer

# Their names, and ours; the first that fits counts.
NAMES = (
    (r"model\.(encoder|decoder)\.layer_norm", r"\1.norm"),
    (r"model\.(encoder|decoder)\.layers", r"\1.layers"),
    (r"model\.encoder\.embed_tokens", "src_embedding.embedding"),
    (r"model\.decoder\.embed_tokens", "tgt_embedding.embedding"),
    (r"lm_head", "output_proj"),
)
PARTS = {
    "self_attn": "self_attention",
    "encoder_attn": "cross_attention",
    "fc1": "feed_forward.linear1",
    "fc2": "feed_forward.linear2",
}
LAYER_NORMS: dict[type[nn.Module], tuple[str, ...]] = {
    EncoderLayer: ("self_attn", "final"),
    DecoderLayer: ("self_attn", "encoder_attn", "final"),
}


def randomise(module: nn.Module, seed: int = 0) -> None:
    """Draw every parameter anew, biases and norms too; padding rows stay zero, tables as they are.

    Layer norms stay near 1, or tied logits would all look alike after a few layers.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if "embed_positions" not in name:
                noise = torch.randn(parameter.shape, generator=generator) * 0.3
                parameter.copy_(noise + ("norm.weight" in name))
        for child in module.modules():
            if isinstance(child, nn.Embedding) and child.padding_idx is not None:
                child.weight[child.padding_idx] = 0.0


def our_name(name: str, layer: type[nn.Module]) -> str:
    """Their name of a parameter inside a layer of the given kind, as ours."""
    for index, prefix in enumerate(LAYER_NORMS.get(layer, ()), start=1):
        name = name.replace(f"{prefix}_layer_norm", f"norm{index}")
    return ".".join(PARTS.get(part, part) for part in name.split("."))


def copy_model(ours: Transformer, theirs: nn.Module, order: Tensor) -> None:
    """Load their weights into ours; our feature i is their feature order[i].

    What reads the residual stream has its features on the last axis, what writes to it on the
    first; inside a sublayer (heads, hidden layer) there is nothing to reorder.
    """
    weights = {}
    for name, value in theirs.state_dict().items():
        if "embed_positions" in name or name in ("model.shared.weight", "final_logits_bias"):
            continue
        name = our_name(name, DecoderLayer if ".decoder." in name else EncoderLayer)
        for pattern, replacement in NAMES:
            name = re.sub(f"^{pattern}", replacement, name)
        if re.search(r"(out_proj|linear2)\.", name):
            value = value[order]
        elif not re.search(r"(q_proj|k_proj|v_proj|linear1)\.bias", name):
            value = value[..., order]
        weights[name] = value
    ours.load_state_dict(weights)


def marian_order(d_model: int) -> Tensor:
    """Marian keeps all sines before all cosines: where our feature i stands there."""
    return torch.arange(d_model).view(2, -1).t().flatten()
