"""What the page "Where next" builds, guesses with and names in another library is as it says."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding

from transformer_ref.experiments.where_next import draft_by_counts, draft_by_neighbour
from transformer_ref.g2p import load_g2p
from transformer_ref.positions import frequencies

PAGE = Path(__file__).resolve().parents[2] / "book" / "where_next.ipynb"
CELLS = {
    cell["id"]: "".join(cell["source"])
    for cell in json.loads(PAGE.read_text(encoding="utf-8"))["cells"]
}
D_MODEL, HEADS, SETS, D_FF, LENGTH = 32, 4, 2, 48, 7


def layer_of_the_page() -> nn.Module:
    names: dict[str, Any] = {"torch": torch, "nn": nn, "F": F, "frequencies": frequencies}
    for cell in ("rotate", "grouped-attention", "swiglu-code", "layer-code"):
        exec(CELLS[cell], names)
    made = names["Layer"](D_MODEL, HEADS, SETS, D_FF)
    assert isinstance(made, nn.Module)
    return made


def halves(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Reorder the rows of each head: the library pairs feature i with i + half."""
    rows = weight.unflatten(0, (heads, -1, 2))  # (heads, pairs, 2, D)
    return rows.transpose(1, 2).flatten(end_dim=2)


@torch.no_grad()
def test_the_layer_is_that_of_llama() -> None:
    torch.manual_seed(0)
    mine = layer_of_the_page()
    config = LlamaConfig(
        hidden_size=D_MODEL, num_attention_heads=HEADS, num_key_value_heads=SETS,
        intermediate_size=D_FF, rms_norm_eps=torch.finfo(torch.float32).eps,
    )  # fmt: skip
    config._attn_implementation = "eager"
    theirs = LlamaDecoderLayer(config, layer_idx=0).eval()
    state = mine.state_dict()
    state["norm1.weight"].uniform_(0.5, 2)
    state["norm2.weight"].uniform_(0.5, 2)
    attention = {
        "q_proj": halves(state["attention.q_proj.weight"], HEADS),
        "k_proj": halves(state["attention.k_proj.weight"], SETS),
        "v_proj": state["attention.v_proj.weight"],
        "o_proj": state["attention.out_proj.weight"],
    }
    mlp = {name: state[f"feed_forward.{name}.weight"] for name in ("gate", "up", "down")}
    theirs.load_state_dict(
        {f"self_attn.{name}.weight": weight for name, weight in attention.items()}
        | {f"mlp.{name}_proj.weight": weight for name, weight in mlp.items()}
        | {
            "input_layernorm.weight": state["norm1.weight"],
            "post_attention_layernorm.weight": state["norm2.weight"],
        }
    )
    x = torch.randn(2, LENGTH, D_MODEL)
    places = LlamaRotaryEmbedding(config)(x, torch.arange(LENGTH)[None])
    future = torch.full((LENGTH, LENGTH), -torch.inf).triu(1)[None, None]
    expected = theirs(x, attention_mask=future, position_embeddings=places)
    torch.testing.assert_close(mine(x), expected)


def test_what_the_reader_is_to_find_is_there() -> None:
    rows = [
        line.split("|")[1] for line in CELLS["real-code"].splitlines() if line.startswith("| `")
    ]
    names = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert len(names) >= 6

    library = find_spec("transformers")
    assert library is not None
    assert library.origin is not None
    llama = Path(library.origin).parent / "models" / "llama" / "modeling_llama.py"
    source = llama.read_text(encoding="utf-8")
    assert names <= set(re.findall(r"^(?:class|def) (\w+)", source, re.MULTILINE))


def test_drafts_guess_from_the_list_that_they_were_given() -> None:
    speller = load_g2p(torch.device("cpu"))
    phonemes = speller.phonemes
    entries = [("knife", [["N", "AY", "F"]]), ("knight", [["N", "AY", "T"]]), ("no", [["N", "OW"]])]

    copied = draft_by_neighbour(speller, entries, length=2)
    said = [phonemes.bos_id]
    assert phonemes.decode(copied("knighted", said)) == ["N", "AY"]
    said += phonemes.encode(["N", "AY"])
    assert phonemes.decode(copied("knighted", said)) == ["T"]
    assert phonemes.decode(copied("knight", [phonemes.bos_id])) == ["N", "AY"]  # not from itself

    counted = draft_by_counts(speller, [*entries, entries[0]])
    assert phonemes.decode(counted("zoo", [phonemes.bos_id])) == ["N", "AY", "F"]
    assert counted("zoo", [phonemes.bos_id, *phonemes.encode(["N", "OW"])]) == []  # then the end
