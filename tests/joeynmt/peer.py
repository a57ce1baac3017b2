"""Build JoeyNMT's Transformer with random weights, run it, and write down all that it computed.

Run by conftest.py in a process of its own, where JoeyNMT can be imported:

    python tests/joeynmt/peer.py FILE
"""

from __future__ import annotations

import sys
from types import SimpleNamespace

import torch
from joeynmt.model import Model, build_model
from joeynmt.search import beam_search, greedy
from joeynmt.vocabulary import Vocabulary
from torch import Tensor

UNK, PAD, BOS, EOS = range(4)  # the order that JoeyNMT's vocabulary starts with
SRC_VOCAB, TGT_VOCAB = 23, 19
BATCH, SOURCE, TARGET, MAX_LEN = 40, 7, 5, 14
BEAM_SIZES = (2, 3, 5)
STACK = {
    "type": "transformer",
    "hidden_size": 12,
    "ff_size": 20,
    "num_heads": 3,
    "dropout": 0.0,
    "embeddings": {"embedding_dim": 12, "scale": True, "dropout": 0.0},
}
NEVER = -100.0  # a logit


def vocabulary(size: int) -> Vocabulary:
    """Some tokens with JoeyNMT's special ones before them."""
    special = {"unk": UNK, "pad": PAD, "bos": BOS, "eos": EOS}
    config = {f"{name}_token": f"<{name}>" for name in special}
    config |= {f"{name}_id": token_id for name, token_id in special.items()}
    config |= {"sep_token": None, "sep_id": None, "lang_tags": []}
    return Vocabulary([f"t{i}" for i in range(size - len(special))], SimpleNamespace(**config))


@torch.no_grad()
def random_model(norm: str) -> Model:
    """Build a model of which every parameter is drawn anew, biases and norms too.

    Feature 0 of the last norm is 1 for each token, which makes column 0 of the output matrix the
    bias of the logits: padding and begin never win.  Large weights make the end win now and then.
    """
    config = {
        "encoder": {**STACK, "num_layers": 2, "layer_norm": norm},
        "decoder": {**STACK, "num_layers": 3, "layer_norm": norm},
    }
    model = build_model(config, vocabulary(SRC_VOCAB), vocabulary(TGT_VOCAB)).eval()
    for name, parameter in model.named_parameters():
        parameter.normal_(std=0.3).add_(float("layer_norm.weight" in name))
    model.src_embed.lut.weight[PAD] = model.trg_embed.lut.weight[PAD] = 0.0
    decoder = model.decoder
    last = decoder.layer_norm if norm == "pre" else decoder.layers[-1].feed_forward.layer_norm
    last.weight[0], last.bias[0] = 0.0, 1.0
    decoder.output_layer.weight[EOS] *= 3.0
    decoder.output_layer.weight[:, 0] = 0.0
    decoder.output_layer.weight[[PAD, BOS], 0] = NEVER
    return model


def batch() -> dict[str, Tensor]:
    """Draw ids (B, S) and (B, T), most rows padded."""
    src = torch.randint(4, SRC_VOCAB, (BATCH, SOURCE))
    tgt = torch.randint(4, TGT_VOCAB, (BATCH, TARGET))
    for row in range(BATCH):
        src[row, SOURCE - row % SOURCE :] = PAD
        tgt[row, TARGET - row % TARGET :] = PAD
    return {"src": src, "tgt": tgt}


@torch.no_grad()
def forward(model: Model, src: Tensor, tgt: Tensor) -> dict[str, Tensor]:
    """Encode, and decode in one pass."""
    src_mask = (src != PAD)[:, None]
    memory, *_ = model(
        return_type="encode", src=src, src_length=(src != PAD).sum(dim=1), src_mask=src_mask
    )
    logits, *_ = model(
        return_type="decode",
        encoder_output=memory,
        encoder_hidden=None,
        src_mask=src_mask,
        trg_input=tgt,
        unroll_steps=None,
        trg_mask=(tgt != PAD)[:, None],
    )
    return {"memory": memory, "logits": logits}


def search(model: Model, src: Tensor, memory: Tensor) -> dict[str, Tensor]:
    """Search greedily and with beams, without a length penalty, the end allowed from the start."""
    given = {
        "src_mask": (src != PAD)[:, None],
        "max_output_length": MAX_LEN - 1,
        "model": model,
        "encoder_output": memory,
        "encoder_hidden": None,
        "min_output_length": 0,
        "return_prob": "hyp",
    }
    found = {"greedy": greedy(**given)[0]}
    for size in BEAM_SIZES:
        ids, scores, _ = beam_search(**given, beam_size=size, alpha=0.0, n_best=size)
        found[f"beam_{size}"] = ids.view(BATCH, size, -1)
        found[f"scores_{size}"] = scores.view(BATCH, size)
    return found


def run(norm: str) -> dict[str, dict[str, Tensor]]:
    """Write down all about one model; it searches in float64, with and without an end token."""
    torch.manual_seed(0)
    model, inputs = random_model(norm), batch()
    result = {"weights": {name: value.clone() for name, value in model.state_dict().items()}}
    result["inputs"] = inputs
    result["float32"] = forward(model, **inputs)
    model = model.double()
    result["float64"] = forward(model, **inputs)
    src, memory = inputs["src"], result["float64"]["memory"]
    result["ending"] = search(model, src, memory)
    with torch.no_grad():
        model.decoder.output_layer.weight[EOS, 0] = NEVER
    result["endless"] = search(model, src, memory)
    return result


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.save({norm: run(norm) for norm in ("post", "pre")}, sys.argv[1])
