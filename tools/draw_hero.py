"""Draw the picture of the start page from the trained model: `python -m tools.draw_hero`.

It shows the cross-attention of one decoder layer while the model spells one word in phonemes.
Run it again after the model was trained again; a test compares the picture with the model.
"""

from __future__ import annotations

from pathlib import Path

import torch

from transformer_ref.applications.g2p import load_g2p
from transformer_ref.files import write_text

PICTURE = Path(__file__).resolve().parent.parent / "book" / "assets" / "hero.svg"
WORD = "cheese"
LAYER = 1  # the second of three; the mean over its heads
COLOURS = ("#0b7285", "#b4540a", "#5f3dc4")
FAINTEST = 0.01

HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 520 250" role="img" \
aria-label="Which letters the model reads while it speaks">
<!-- Made by tools/draw_hero.py from the weights of the trained model. -->
<style>text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;\
font-weight:600;text-anchor:middle}.letter{font-size:30px;fill:#4a5560}.phoneme{font-size:26px;fill:#fff}</style>
"""


def measure() -> tuple[list[str], list[list[float]]]:
    """Return the phonemes of the word and, for each, the weight of every letter."""
    phonemes, layers = load_g2p(torch.device("cpu")).attention(WORD)
    weights = layers[LAYER].mean(dim=0)[:-1].tolist()  # without the end token
    return phonemes[:-1], weights


def draw(phonemes: list[str], weights: list[list[float]]) -> str:
    """Return the SVG: letters below, phonemes above, a curve as wide as each weight."""
    letters = [60 + 80 * column for column in range(len(WORD))]
    sounds = [100 + 160 * row for row in range(len(phonemes))]
    parts = [
        f'<path d="M{x} 62C{x} 124 {y} 126 {y} 188" fill="none" stroke="{COLOURS[row]}" '
        f'stroke-width="{1 + 20 * weight:.1f}" stroke-linecap="round" '
        f'opacity="{0.25 + 0.65 * min(1.0, 1.6 * weight):.2f}" data-weight="{weight:.3f}"/>'
        for row, x in enumerate(sounds)
        for weight, y in zip(weights[row], letters, strict=True)
        if weight >= FAINTEST
    ]
    for row, x in enumerate(sounds):
        parts.append(
            f'<rect x="{x - 42}" y="14" width="84" height="48" rx="12" fill="{COLOURS[row]}"/>'
            f'<text class="phoneme" x="{x}" y="47">{phonemes[row]}</text>'
        )
    for letter, y in zip(WORD.upper(), letters, strict=True):
        parts.append(
            f'<rect x="{y - 30}" y="188" width="60" height="50" rx="10" fill="#fff" '
            f'stroke="#b8c2cc" stroke-width="1.5"/>'
            f'<text class="letter" x="{y}" y="224">{letter}</text>'
        )
    return HEAD + "\n".join(parts) + "\n</svg>\n"


def main() -> None:
    """Write the picture."""
    write_text(PICTURE, draw(*measure()))


if __name__ == "__main__":
    main()
