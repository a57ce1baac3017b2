"""The colours of the book: one for each role, the same in drawings, formulas and on the pages.

Plots have the light ones from :data:`transformer_ref.plotting.ROLES`.
All of them have a contrast of at least 4.5 to the page, and differ in lightness or hue for
colour-blind eyes; a label always stands beside a colour.
"""

from __future__ import annotations

from transformer_ref.plotting import ROLES

# On the dark page, in the order of plotting.ROLES.
DARK = {
    "query": "#6cc0f0",
    "key": "#ffa64d",
    "value": "#4fd3a6",
    "source": "#e0cc66",
    "target": "#f09ac9",
    "memory": "#bba4f0",
    "residual": "#a9b5bb",
    "mask": "#98a3aa",
}
LIGHT_PAGE = {**ROLES, "ink": "#22303a", "muted": "#4d5b66", "lit": "#0b5563", "ground": "#ffffff"}
DARK_PAGE = {**DARK, "ink": "#dde4e6", "muted": "#a9b5bb", "lit": "#6fd3c9", "ground": "#14191d"}

FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','Liberation Sans',sans-serif"
FIXED = "ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace"


def variables(colors: dict[str, str]) -> str:
    """Return the colours as CSS declarations."""
    return "".join(f"--role-{name}:{color};" for name, color in colors.items())


def rules() -> str:
    """Return how the classes of a drawing look; the colours are variables."""
    lines = [
        f".drawing text{{font-family:{FONT};fill:var(--role-ink);stroke:none}}",
        f".drawing text.fixed{{font-family:{FIXED}}}",
        ".drawing text.bold{font-weight:600}",
        ".drawing .line{fill:none;stroke:var(--role-ink);stroke-linecap:round}",
        ".drawing .dashed{stroke-dasharray:4 4}",
        ".drawing .box{stroke:var(--role-ink);stroke-width:1.2;fill:var(--role-ground)}",
        ".drawing .cell{stroke-width:.8}",
        ".drawing .frame{stroke:var(--role-muted);stroke-width:1.2;fill:none}",
        ".drawing .head{fill:var(--role-ink);stroke:none}",
    ]
    for name in LIGHT_PAGE:
        color = f"var(--role-{name})"
        lines += [
            f".drawing text.{name},.drawing .head.{name}{{fill:{color}}}",
            f".drawing .line.{name}{{stroke:{color}}}",
            f".drawing .box.{name}{{stroke:{color};fill:{color};fill-opacity:.13}}",
        ]
    # What is lit stands out by its frame too, not by its colour alone.
    lines.append(".drawing .box.lit:not(.cell){stroke-width:2.6;fill-opacity:.2}")
    return "\n".join(lines)


def page_style() -> str:
    """Return the style sheet of the pages into which drawings are put."""
    return (
        "/* The colours of the book and the look of its drawings; made by `make drawings`. */\n"
        f"html{{{variables(LIGHT_PAGE)}}}\n"
        f'html[data-theme="dark"]{{{variables(DARK_PAGE)}}}\n'
        f"{rules()}\n"
    )


def own_style() -> str:
    """Return the style of a drawing that stands alone, on a light or dark page."""
    return (
        f"\nsvg.drawing{{{variables(LIGHT_PAGE)}}}\n"
        f"@media (prefers-color-scheme: dark){{svg.drawing{{{variables(DARK_PAGE)}"
        "background:var(--role-ground)}}\n"
        f"{rules()}\n"
    )
