"""Give the page book/model.md the whole model: its parts, a word on its way, and what was measured.

A part of the Sphinx build. The directive `whole-model` puts a figure into the page, and with it, as
JSON, all that book/assets/figures/model.js shows: the chapter of each part, the shapes that hooks
see while the trained speller says a word, and the error rates of the models that lack a part.
No number is typed in here. The rates come from the stored results of `make capstone` and `make gpt`
(transformer_ref/assets/capstone/results.json and transformer_ref/assets/gpt/results.json).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective
from torch import Tensor, nn

from book._extensions.drawings import inline_svg
from book._extensions.ends import chapters_of
from book._extensions.figures import moving_figure
from tools.drawings.model_map import ATTENTION, CHAPTERS, PARTS, POSITIONS, model_map
from tools.inputs import ROOT
from transformer_ref.applications.g2p import Speller, load_g2p
from transformer_ref.attention import record_attention
from transformer_ref.experiments.capstone.ablations import SEEDS
from transformer_ref.experiments.capstone.comparison import rates, runs_by_name, spread
from transformer_ref.experiments.capstone.systems import RECIPE, SMALL
from transformer_ref.experiments.results import load_results

WORD = "knight"  # until the reader sends another one
LEARNED = 20.0  # percent: whoever errs less has learned the task, and scatters as the others do


@dataclass(frozen=True)
class Part:
    """What the figure says of a part of the model; D, S, T and so on stand for its sizes.

    Attributes:
        name: in the list of parts.
        chapters: where it is explained, the most important one first.
        text: what it does.
        shape: what comes out of it.
    """

    name: str
    chapters: tuple[str, ...]
    text: str
    shape: str = ""


STACK = "A stack of {layers} such layers, each with weights of its own."
PART_TEXTS = {
    "whole": Part(
        "The whole model", ("sequences", "capstone", "where_next"),
        "The encoder reads the source, here letters. The decoder writes the target, here phonemes, "
        "one after the other. Tokens meet in attention alone; all else works on one at a time.",
    ),
    "source": Part(
        "Letters", ("tokenizers",), "The word comes in as ids, one for each letter.", "(B, S)"
    ),
    "source-embedding": Part(
        "Embedding of the letters", ("embeddings",),
        "Looks up a vector of D = {D} features for each letter.", "(B, S, D)",
    ),
    "source-positions": Part(
        "Positions of the letters", ("positions",),
        "Adds to each vector at which place it stands, because attention does not see order.",
        "(B, S, D)",
    ),
    "encoder-attention": Part(
        "Self-attention", ("attention",),
        "Each letter looks at all letters and takes a weighted mean of what they hold.",
        "(B, S, D)",
    ),
    "encoder-feed-forward": Part(
        "Feed-forward network of the encoder", ("blocks",),
        "Works on each vector by itself: up to {d_ff} hidden units and back.", "(B, S, D)",
    ),
    "encoder": Part("The encoder", ("depth", "blocks"), f"{STACK} Every letter sees every letter."),
    "memory": Part(
        "Memory", ("blocks",),
        "What the encoder has found: one vector for each letter. Every decoder layer reads it.",
        "(B, S, D)",
    ),
    "target": Part(
        "Phonemes so far", ("training",),
        "The decoder reads what it has said. In training it reads the right answer instead, all "
        "positions at once: teacher forcing.", "(B, T)",
    ),
    "target-embedding": Part(
        "Embedding of the phonemes", ("embeddings",),
        "Looks up a vector of D = {D} features for each phoneme.", "(B, T, D)",
    ),
    "target-positions": Part(
        "Positions of the phonemes", ("positions",),
        "Adds to each vector at which place it stands, because attention does not see order.",
        "(B, T, D)",
    ),
    "masked-attention": Part(
        "Masked self-attention", ("masking", "attention"),
        "Each phoneme looks at itself and at those before it. The causal mask hides what comes "
        "later, which does not exist yet when the model speaks.", "(B, T, D)",
    ),
    "cross-attention": Part(
        "Cross-attention", ("blocks", "attention"),
        "Here the decoder reads the letters: queries come from the phonemes, keys and values from "
        "the memory.", "(B, T, D)",
    ),
    "decoder-feed-forward": Part(
        "Feed-forward network of the decoder", ("blocks",),
        "Works on each vector by itself: up to {d_ff} hidden units and back.", "(B, T, D)",
    ),
    "decoder": Part(
        "The decoder", ("gpt", "depth"),
        f"{STACK} Without encoder and cross-attention it is a GPT.",
    ),
    "residual": Part(
        "Residual lines: add", ("blocks",),
        "They lead what came in around the sublayer, and add it to what came out.",
    ),
    "norm": Part(
        "Norms", ("blocks",),
        "They bring each vector to one size: after the sum (post-norm, as in the paper) or before "
        "the sublayer (pre-norm).",
    ),
    "output": Part(
        "Output projection and softmax", ("training", "decoding"),
        "A score for each of V = {V} tokens; the softmax makes probabilities of them.", "(B, T, V)",
    ),
    "next": Part(
        "Next phoneme", ("decoding", "tuning"),
        "One token is chosen and joins the phonemes so far; the decoder runs until it says <eos>.",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Taken:
    """What was taken away, and which stored runs say what that costs.

    Attributes:
        key: its name in the figure.
        what: for "Take away ...".
        parts: that it belongs to.
        ghosts: parts that are drawn as gone.
        pre: names of the runs with it and without it.
        post: the same in post-norm, where that was measured.
        model: which model the runs are of.
        note: why it comes out so.
    """

    key: str
    what: str
    parts: tuple[str, ...]
    ghosts: tuple[str, ...]
    pre: tuple[str, str]
    post: tuple[str, str] | None = None
    model: str = "small Transformer"
    note: str = ""


TAKEN = (
    Taken(
        "positions", "the positions", POSITIONS, POSITIONS, ("whole", "no positions"),
        note="The encoder sees a bag of letters, in which dog is god.",
    ),
    Taken(
        "mask", "the causal mask", ("masked-attention",), ("mask",), ("whole", "no causal mask"),
        note="In training it reads its answers, and alone it says nothing at all.",
    ),
    Taken(
        "residual", "the residual lines", ("residual",), ("residual",), ("whole", "no residual"),
        post=("post-norm", "post-norm, no residual"),
        note="Its answers are far too long, so there are more errors than phonemes.",
    ),
    Taken(
        "heads", "all heads but one", ATTENTION, (), ("whole", "one head"),
        note="One head of the same total size does the work of four.",
    ),
    Taken(
        "scaling", "the scaling", ATTENTION, (), ("whole", "no scaling"),
        post=("post-norm", "post-norm, no scaling"),
        note="The scores are not divided by the root of the head size.",
    ),
    Taken(
        "encoder", "the encoder", ("encoder", "memory", "decoder"),
        ("encoder", "encoder-attention", "encoder-feed-forward", "memory", "cross-attention"),
        ("whole", "decoder-only"),
        note="A decoder of as many parameters reads the letters as a prompt.",
    ),
    Taken(
        "letters", "the look at the letters", ("cross-attention",),
        ("cross-attention", "memory-line"), ("LSTM, attention", "LSTM, last state"), model="LSTM",
        note="Measured in an LSTM, a recurrent network: without attention it presses each word "
        "into one vector.",
    ),
)  # fmt: skip


# ---- what was measured --------------------------------------------------------------------------


def stored_rates() -> dict[str, list[float]]:
    """Return the phoneme error rates on dev in percent, one for each seed, by the run's name."""
    runs = runs_by_name() | load_results("gpt")["spellers"]
    return {name: [round(rate, 3) for rate in rates(found)] for name, found in runs.items()}


def two_standard_errors(found: dict[str, list[float]]) -> float:
    """Return how far the means of two systems' runs must be apart, as the capstone does."""
    learned = [rates(runs) for runs in runs_by_name().values() if max(rates(runs)) < LEARNED]
    return 2 * spread(learned) * (2 / len(found["whole"])) ** 0.5


def measured() -> dict[str, Any]:
    """Return what was taken away with the rates of it, and the rates of pre- and post-norm."""
    found = stored_rates()
    limit = two_standard_errors(found)

    def compare(pair: tuple[str, str] | None) -> dict[str, Any] | None:
        if pair is None:
            return None
        first, second = (found[name] for name in pair)
        seen = abs(mean(second) - mean(first)) > limit
        return {"with": first, "without": second, "seen": seen}

    one_by_one = [
        {
            "key": taken.key, "what": taken.what, "parts": taken.parts, "ghosts": taken.ghosts,
            "pre": compare(taken.pre), "post": compare(taken.post),
            "model": taken.model, "note": taken.note,
        }
        for taken in TAKEN
    ]  # fmt: skip
    return {
        "taken": one_by_one,
        "norms": compare(("whole", "post-norm")),
        "seeds": len(SEEDS),
        "epochs": RECIPE.epochs,
        "layers": SMALL.num_encoder_layers,
        "parameters": runs_by_name()["whole"][0]["parameters"],
    }


# ---- a word on its way --------------------------------------------------------------------------

# The modules whose output has the shape that a part shows; of a stack, the first layer.
MODULES = {
    "source-embedding": "src_embedding",
    "source-positions": "src_positions",
    "encoder-attention": "encoder.layers.0.self_attention",
    "encoder-feed-forward": "encoder.layers.0.feed_forward",
    "encoder-hidden": "encoder.layers.0.feed_forward.linear1",
    "memory": "encoder",
    "target-embedding": "tgt_embedding",
    "target-positions": "tgt_positions",
    "masked-attention": "decoder.layers.0.self_attention",
    "cross-attention": "decoder.layers.0.cross_attention",
    "decoder-feed-forward": "decoder.layers.0.feed_forward",
    "decoder-hidden": "decoder.layers.0.feed_forward.linear1",
    "decoder": "decoder",
    "output": "output_proj",
}
WEIGHTS = {  # shapes of attention weights
    "encoder-weights": "encoder.layers.0.self_attention",
    "masked-weights": "decoder.layers.0.self_attention",
    "cross-weights": "decoder.layers.0.cross_attention",
}


@torch.inference_mode()
def way_of(speller: Speller, word: str) -> dict[str, Any]:
    """Say a word greedily, and keep the shapes that each pass through the model has.

    Every pass reads the whole target so far, without the cache of the chapter on decoding.

    Returns:
        The `word`, and for each pass the `tokens` that went in, the `shapes` by part, the `next`
        token and its `probability`.
    """
    model, vocabulary = speller.model, speller.phonemes
    src, ids, passes = speller.source([word]), [vocabulary.bos_id], []
    while ids[-1] != vocabulary.eos_id:
        target = torch.tensor([ids])
        shapes, logits = _shapes_of_pass(model, src, target)
        probabilities = logits[0, -1].softmax(dim=-1)
        best = int(probabilities.argmax())
        passes.append(
            {
                "tokens": [vocabulary.tokens[i] for i in ids],
                "shapes": {"source": list(src.shape), "target": list(target.shape), **shapes},
                "next": vocabulary.tokens[best],
                "probability": round(probabilities[best].item(), 4),
            }
        )
        ids.append(best)
    return {"word": word, "passes": passes}


def _shapes_of_pass(
    model: nn.Module, src: Tensor, target: Tensor
) -> tuple[dict[str, list[int]], Tensor]:
    """Run the model once; return the shapes by part, and the logits."""
    shapes: dict[str, list[int]] = {}

    def keep(part: str, output: Tensor) -> None:
        shapes[part] = list(output.shape)

    hooks = [
        model.get_submodule(name).register_forward_hook(
            lambda _, __, output, part=part: keep(part, output)
        )
        for part, name in MODULES.items()
    ]
    try:
        with record_attention(model) as recorded:
            logits: Tensor = model(src, target)
    finally:
        for hook in hooks:
            hook.remove()
    shapes |= {part: list(recorded[name].shape) for part, name in WEIGHTS.items()}
    return shapes, logits


# ---- the page -----------------------------------------------------------------------------------


def chapter_titles() -> dict[str, str]:
    """Return the short title of each chapter by its slug, in the order of the book."""
    return {slug: _title(slug) for slug in (Path(page["file"]).name for page in chapters_of(ROOT))}


def _title(slug: str) -> str:
    notebook = json.loads((ROOT / f"book/{slug}.ipynb").read_text(encoding="utf-8"))
    (title,) = re.findall(r"\A# ([^:\n]+)", "".join(notebook["cells"][0]["source"]))
    return str(title)


def _label(lines: str) -> str:
    """Write the label of a box on one line."""
    return lines.replace(",\n", " + ").replace("-\n", "-").replace("\n", " ")


def figure_data(speller: Speller) -> dict[str, Any]:
    """Return all that the figure shows; `messages` are the words in it, for translators."""
    config = speller.model.config
    sizes = {
        "D": config.d_model, "d_ff": config.d_ff, "V": config.tgt_vocab_size,
        "H": config.num_heads, "layers": config.num_encoder_layers,
    }  # fmt: skip
    parts = [
        {
            "key": key, "name": part.name, "chapters": part.chapters,
            "text": part.text.format(**sizes), "shape": part.shape,
            "label": _label(PARTS[key][0]) if key in PARTS else "",
            "role": PARTS[key][1] if key in PARTS else "",
        }
        for key, part in PART_TEXTS.items()
    ]  # fmt: skip
    chapters = chapter_titles()
    words = [part[name] for part in parts for name in ("name", "text", "label")]
    words += [word for taken in TAKEN for word in (taken.what, taken.note)]
    return {
        "messages": [*dict.fromkeys(filter(None, [*words, *chapters.values()]))],
        "sizes": sizes,
        "chapters": chapters,
        "parts": parts,
        "here": {slug: list(lit) for slug, lit in CHAPTERS.items()},
        "way": way_of(speller, WORD),
        "measured": measured(),
    }


def still_svg() -> str:
    """Return what the figure shows without JavaScript: the map of the kit, in both layouts."""
    alt = (
        "The model: letters pass an embedding, positions and the encoder, phonemes an embedding, "
        "positions and the decoder, a linear layer and a softmax."
    )
    layouts = {"wide": model_map(()), "narrow": model_map((), narrow=True)}
    return "".join(inline_svg(one.svg(), alt, layout) for layout, one in layouts.items())


class WholeModel(SphinxDirective):
    """`whole-model`: the figure of the whole model; its content is the caption."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the figure; each chapter's own map leads to the place that names this chapter."""
        data = figure_data(load_g2p(torch.device("cpu")))
        places = "".join(f'<span id="from-{slug}"></span>' for slug in data["chapters"])
        note = _(
            "With JavaScript, you send a word through the model here, see the numbers in each box, "
            "and take parts of the model away."
        )
        figure = moving_figure("model", list(self.content), still_svg(), note, data)
        return [nodes.raw("", places, format="html"), figure]


def setup(app: Sphinx) -> None:
    """Connect the functions above to Sphinx."""
    app.add_directive("whole-model", WholeModel)
