"""The weights and the config of a GPT-2 of the ``transformers`` library, under our names.

Source: Radford et al. 2019 (GPT-2).
"""

from typing import Any

from torch import Tensor

from transformer_ref.layers import Activation

ACTIVATIONS: dict[str, Activation] = {  # what the transformers library calls them
    "gelu_new": "gelu",
    "gelu_pytorch_tanh": "gelu",
    "gelu": "gelu_exact",
    "relu": "relu",
}
NAMES = {  # parts of the weights' names, theirs and ours
    "transformer.wte.": "embedding.embedding.",
    "transformer.wpe.": "positions.",
    "transformer.h.": "layers.",
    "transformer.ln_f.": "norm.",
    ".ln_1.": ".norm1.",
    ".ln_2.": ".norm2.",
    ".attn.c_proj.": ".self_attention.out_proj.",
    ".mlp.c_fc.": ".feed_forward.linear1.",
    ".mlp.c_proj.": ".feed_forward.linear2.",
    "lm_head.": "output_proj.",
}


def config_of_gpt2(model: Any) -> dict[str, Any]:
    """Read the sizes and choices of a GPT-2.

    Args:
        model: a ``GPT2LMHeadModel``.

    Returns:
        The fields of :class:`~transformer_ref.gpt.GPTConfig`.

    Raises:
        ValueError: if `model` is another one, or its config asks for what our class does not have.
    """
    theirs: Any = getattr(model, "config", None)
    if getattr(theirs, "model_type", None) != "gpt2" or not hasattr(model, "lm_head"):
        raise ValueError(f"model must be a GPT2LMHeadModel, got {type(model).__name__}")
    expected = {
        "activation_function": tuple(ACTIVATIONS),
        "layer_norm_epsilon": (1e-5,),
        "scale_attn_weights": (True,),
        "scale_attn_by_inverse_layer_idx": (False,),
        "add_cross_attention": (False,),
    }
    for name, allowed in expected.items():
        if (value := getattr(theirs, name)) not in allowed:
            raise ValueError(f"model.config.{name} must be one of {allowed}, got {value!r}")
    rates = theirs.resid_pdrop, theirs.embd_pdrop, theirs.attn_pdrop
    if len(set(rates)) > 1:
        raise ValueError(
            "model.config must have one rate for resid_pdrop, embd_pdrop and attn_pdrop, "
            f"as GPTConfig has, got {rates}; set them all to the one that you want"
        )
    return {
        "vocab_size": theirs.vocab_size,
        "d_model": theirs.n_embd,
        "num_heads": theirs.n_head,
        "num_layers": theirs.n_layer,
        "d_ff": theirs.n_inner or 4 * theirs.n_embd,
        "max_len": theirs.n_positions,
        "dropout": theirs.resid_pdrop,
        "activation": ACTIVATIONS[theirs.activation_function],
        "tie_weights": model.lm_head.weight is model.transformer.wte.weight,
    }


def renamed(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Give the weights of a GPT-2 our names, and our shapes.

    Args:
        weights: as the state dict of a ``GPT2LMHeadModel`` has them: matrices with the input first,
            and those of queries, keys and values as one.

    Returns:
        A state dict for :class:`~transformer_ref.gpt.GPT`.
    """
    state: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if ".c_" in name:
            weight = weight.t()
        for theirs, ours in NAMES.items():
            name = name.replace(theirs, ours)
        if ".c_attn." in name:
            for part, third in zip("qkv", weight.chunk(3), strict=True):
                state[name.replace("attn.c_attn", f"self_attention.{part}_proj")] = third
        else:
            state[name] = weight
    return state
