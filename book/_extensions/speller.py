"""Give the page book/speak.md the trained speller, as files that a browser reads by itself.

A part of the Sphinx build. It writes the checkpoint as a script, `_static/speller/weights.js`, into
the built site (3.7 MB that nobody should commit), and the directive `speak-your-word` puts into the
page one word as PyTorch computes it, which is shown until the reader asks for another one.

The weights are a classic script with base64 in it, because a page that was opened as a file may
load scripts but may not fetch anything. float16 halves them and changes no answer.
"""

from __future__ import annotations

import base64
import functools
import json
from pathlib import Path
from typing import Any

import torch
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective
from torch import Tensor

from book._extensions.drawings import inline_svg
from book._extensions.figures import moving_figure
from tools.drawings.kit import Area, Drawing
from transformer_ref.applications.g2p import Speller, load_g2p
from transformer_ref.files import write_text

WEIGHTS = "_static/speller/weights.js"
HEAD = """\
// The trained speller as book/assets/speller/model.js reads it: settings, tokens, the shape of each
// tensor, and all numbers in that order as float16 in base64.
// Made by book/_extensions/speller.py from the checkpoint of the package.
"""
FAINTEST = 0.03  # a smaller weight is not drawn in the still picture


@functools.cache
def load() -> Speller:
    """Load the trained model once."""
    return load_g2p(torch.device("cpu"))


def weights_script(speller: Speller) -> str:
    """Return the script that hands the model to the page."""
    state = speller.model.state_dict()
    numbers = torch.cat([tensor.flatten() for tensor in state.values()]).half().numpy()
    config = speller.model.config
    content = {
        "heads": config.num_heads,
        "encoderLayers": config.num_encoder_layers,
        "decoderLayers": config.num_decoder_layers,
        "maxLength": config.max_len,
        "letters": speller.letters.tokens,
        "phonemes": speller.phonemes.tokens,
        "shapes": {name: list(tensor.shape) for name, tensor in state.items()},
        # The bytes of a file have one order on every machine.
        "float16": base64.b64encode(numbers.astype("<f2").tobytes()).decode("ascii"),
    }
    return f"{HEAD}window.speller.weights = {json.dumps(content, separators=(',', ':'))};\n"


@torch.inference_mode()
def spoken_steps(speller: Speller, word: str) -> list[dict[str, Any]]:
    """Say a word greedily, and keep what each step chose and where it looked.

    Returns:
        For each token, that of the end included: its `id`; `cross`, the weights of each decoder
        layer's heads on the letters; `lens`, the logits after each layer, of which the last are the
        model's.
    """
    model = speller.model
    states: list[Tensor] = []
    hooks = [
        layer.register_forward_hook(lambda _, __, state: states.append(state))
        for layer in model.decoder.layers
    ]
    try:
        tokens, attention = speller.attention(word)
    finally:
        for hook in hooks:
            hook.remove()
    # The last pass is that of all tokens at once; those before it searched, token by token.
    last = states[-len(attention) :]
    lens = [model.output_proj(model.decoder.norm(state))[0] for state in last]
    return [
        {
            "id": speller.phonemes.tokens.index(token),
            "cross": [weights[:, step].tolist() for weights in attention],
            "lens": [logits[step].tolist() for logits in lens],
        }
        for step, token in enumerate(tokens)
    ]


def still(word: str, tokens: list[str], weights: list[list[float]]) -> Drawing:
    """Draw letters below, phonemes above, and curves as wide as the weights between them."""
    drawing = Drawing()
    letters = [(64.0 * place, 190.0) for place in range(len(word))]
    first = 32.0 * (len(word) - len(tokens))
    phonemes = [(first + 64.0 * place, 20.0) for place in range(len(tokens))]
    for (x, top), row in zip(phonemes, weights, strict=True):
        for (y, bottom), weight in zip(letters, row, strict=True):
            if weight >= FAINTEST:
                start, end = (x, top + 16), (y, bottom - 18)
                drawing.curve(start, (x, 105), (y, 105), end, "query", width=1 + 13 * weight)
    for (x, y), token in zip(phonemes, tokens, strict=True):
        drawing.box(Area(x - 26, y - 16, 52, 32), token, "target", size=16)
    for (x, y), letter in zip(letters, word, strict=True):
        drawing.box(Area(x - 26, y - 18, 52, 36), letter, "source", size=18)
    return drawing


def still_picture(speller: Speller, word: str) -> tuple[str, str]:
    """Return what the figure shows without JavaScript: the picture as SVG, and its summary."""
    tokens, layers = speller.attention(word)
    weights = torch.stack(layers).mean(dim=(0, 1))[:-1]  # over layers and heads; not of the end
    tokens = tokens[:-1]
    most = [word[place] for place in weights.argmax(dim=-1).tolist()]
    looks = _(", ").join(
        _("at {letter} for {phoneme}").format(letter=letter, phoneme=token)
        for token, letter in zip(tokens, most, strict=True)
    )
    ends = f"the phonemes {' '.join(tokens)} to the letters of {word}"
    alt = f"Curves from {ends}, as wide as the attention weights."
    summary = _("The model says {phonemes} for {word}. It looks mostly {looks}.")
    summary = summary.format(phonemes=" ".join(tokens), word=word, looks=looks)
    return inline_svg(still(word, tokens, weights.tolist()).svg(), alt), summary


class SpeakYourWord(SphinxDirective):
    """`speak-your-word`: the figure in which the model runs; its argument is the first word."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the figure; its content is the caption."""
        speller, word = load(), self.arguments[0]
        picture, summary = still_picture(speller, word)
        own = _("With JavaScript, you type a word of your own here.")
        note = _("{first} {second}").format(first=summary, second=own)
        data = {
            "word": word,
            "phonemes": speller.phonemes.tokens,
            "steps": spoken_steps(speller, word),
        }
        return [moving_figure("speak", list(self.content), picture, note, data)]


def write_weights(app: Sphinx, exception: Exception | None) -> None:
    """Write the model into the built site."""
    if exception is None and app.builder.format == "html":
        path = Path(app.outdir, WEIGHTS)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, weights_script(load()))


def setup(app: Sphinx) -> None:
    """Connect the functions above to Sphinx's events."""
    app.add_directive("speak-your-word", SpeakYourWord)
    app.connect("build-finished", write_weights)
