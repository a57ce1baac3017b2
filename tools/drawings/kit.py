"""The kit of the schematics: text, boxes, arrows, grids of numbers and braces, as SVG.

A drawing is made in pixels, with its origin at the top left; its size follows from what is on it.
What a thing is decides on its colour: each element has the class of its role (`query`, `key`, ...),
and the style sheet of :mod:`tools.drawings.palette` gives the role its colour.
Arrows have heads of their own instead of markers, so that no element needs an id and several
drawings can stand in one page.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from tools.drawings.palette import own_style

Point = tuple[float, float]

SIZE = 14.0  # of text; on a phone a drawing is as wide as the page, so this is what is read there
MARGIN = 6.0
# Of one character of text, as a part of its size: wide enough for the fonts that are in use.
WIDTH_OF_A_CHARACTER = 0.58


@dataclass(frozen=True)
class Area:
    """A rectangle on a drawing: what was drawn there can be pointed at."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Where it ends."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Where it ends."""
        return self.y + self.height

    def at(self, across: float, down: float) -> Point:
        """Return the point at these fractions of its width and height."""
        return self.x + across * self.width, self.y + down * self.height


class Drawing:
    """One schematic."""

    def __init__(self) -> None:
        self.elements: list[ElementTree.Element] = []
        self.words: list[tuple[str, Area]] = []  # each line of text, and about where it stands
        self._corners: list[Point] = []

    def text(
        self,
        at: Point,
        text: str,
        role: str = "ink",
        *,
        size: float = SIZE,
        anchor: str = "middle",
        style: str = "",
    ) -> None:
        """Write text, vertically centred at a point; a new line begins a line below.

        Args:
            at: the point.
            text: one line or several.
            role: decides on the colour.
            size: in pixels.
            anchor: what lies at the point: "start", "middle" or "end" of each line.
            style: "bold", "fixed", or both of them.
        """
        lines = text.split("\n")
        for number, line in enumerate(lines):
            y = at[1] + (number - (len(lines) - 1) / 2) * size * 1.2
            element = self._add(
                "text", f"{role} {style}", x=at[0], y=y + 0.35 * size, font_size=size
            )
            if anchor != "start":
                element.set("text-anchor", anchor)
            _write(element, line, size)
            width = len(line) * size * WIDTH_OF_A_CHARACTER
            left = at[0] - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * width
            area = Area(left, y - size / 2, width, size)
            self.words.append((line, area))
            self._reach((area.x, area.y), (area.right, area.bottom))

    def box(
        self,
        area: Area,
        label: str = "",
        role: str = "ink",
        *,
        size: float = SIZE,
        kind: str = "box",
        opacity: float | None = None,
    ) -> Area:
        """Draw a box with a label in its middle, and return its area.

        Args:
            area: where.
            label: one line or several.
            role: decides on the colour of both.
            size: of the label.
            kind: "box", "box cell" for one of a grid, or "frame" for one around others.
            opacity: of its filling; None = that of all boxes.
        """
        rect = self._add(
            "rect", f"{kind} {role}", x=area.x, y=area.y, width=area.width, height=area.height,
            rx=0 if kind == "box cell" else 5,
        )  # fmt: skip
        if opacity is not None:
            rect.set("style", f"fill-opacity:{opacity:.2f}")
        self._reach((area.x, area.y), (area.right, area.bottom))
        if label:
            self.text(area.at(0.5, 0.5), label, role, size=size)
        return area

    def circle(self, middle: Point, radius: float, role: str = "ink") -> None:
        """Draw a circle around a point, filled as a box is."""
        (x, y), r = middle, radius
        self._add("circle", f"box {role}", cx=x, cy=y, r=r)
        self._reach((x - r, y - r), (x + r, y + r))

    def line(
        self,
        points: Sequence[Point],
        role: str = "ink",
        *,
        arrow: bool = False,
        dashed: bool = False,
        width: float = 1.5,
    ) -> None:
        """Draw a line through points, with a head at its end for an arrow."""
        (x, y), end = points[-2], points[-1]
        if arrow:
            self._head((x, y), end, role, 5 + 1.5 * width)
            length = math.dist((x, y), end)
            short = max(0.0, 1 - (3 + width) / length)
            points = [*points[:-1], (x + short * (end[0] - x), y + short * (end[1] - y))]
        path = "M" + " L".join(f"{_number(x)} {_number(y)}" for x, y in points)
        self._add("path", f"line {role}{' dashed' * dashed}", d=path, stroke_width=width)
        self._reach(*points, end)

    def curve(
        self, start: Point, pull: Point, push: Point, end: Point, role: str, *, width: float
    ) -> Point:
        """Draw a curve that leaves `start` towards `pull` and arrives at `end` from `push`.

        Returns:
            Its middle.
        """
        numbers = " ".join(_number(value) for value in (*pull, *push, *end))
        path = f"M{_number(start[0])} {_number(start[1])} C{numbers}"
        self._add("path", f"line {role}", d=path, stroke_width=width)
        x, y = ((start[i] + 3 * pull[i] + 3 * push[i] + end[i]) / 8 for i in (0, 1))
        self._reach(start, end, (x, y - width / 2))
        return x, y

    def arrow(self, start: Point, end: Point, label: str = "", role: str = "ink") -> None:
        """Draw an arrow, and its label above it, or to its right where it goes up or down."""
        self.line([start, end], role, arrow=True)
        if not label:
            return
        x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
        if abs(end[0] - start[0]) > abs(end[1] - start[1]):
            self.text((x, y - 12), label, role, size=13)
        else:
            self.text((x + 7, y), label, role, size=13, anchor="start")

    def grid(
        self,
        at: Point,
        values: Sequence[Sequence[float | str]],
        role: str = "ink",
        *,
        title: str = "",
        rows: Sequence[str] = (),
        columns: Sequence[str] = (),
        cell: tuple[float, float] = (44, 26),
        shade: bool = False,
        lit: Collection[int] = (),
    ) -> Area:
        """Draw a matrix, a number a cell, and return the area of its cells.

        Args:
            at: the top left of its cells; title and labels stand outside.
            values: rows of numbers, or of text.
            role: decides on the colour.
            title: stands above.
            rows: a label to the left of each row.
            columns: a label above each column.
            cell: width and height of a cell.
            shade: fill a cell the darker, the nearer its number is to 1.
            lit: rows that stand out, by a frame.
        """
        width, height = cell
        area = Area(*at, width * len(values[0]), height * len(values))
        for i, row in enumerate(values):
            for j, value in enumerate(row):
                place = Area(at[0] + j * width, at[1] + i * height, width, height)
                strength = 0.06 + 0.5 * float(value) if shade else None
                self.box(place, "", role, kind="box cell", opacity=strength)
                self.text(place.at(0.5, 0.5), _shown(value), size=13, style="fixed")
        for i in lit:
            self.box(Area(at[0], at[1] + i * height, area.width, height), "", "lit", opacity=0.0)
        for i, label in enumerate(rows):
            self.text((at[0] - 7, at[1] + (i + 0.5) * height), label, "muted", anchor="end")
        for j, label in enumerate(columns):
            self.text((at[0] + (j + 0.5) * width, at[1] - 10), label, "muted", size=13)
        if title:
            above = 28 if columns else 14
            self.text((area.at(0.5, 0)[0], at[1] - above), title, role, style="bold")
        return area

    def brace(self, start: Point, end: Point, role: str = "muted") -> None:
        """Draw a brace below a stretch from left to right."""
        (left, y), (right, _) = start, end
        middle, r = (left + right) / 2, 6.0
        path = (
            f"M{_number(left)} {_number(y)} q0 {r} {r} {r} H{_number(middle - r)} q{r} 0 {r} {r} "
            f"q0 -{r} {r} -{r} H{_number(right - r)} q{r} 0 {r} -{r}"
        )
        self._add("path", f"line {role}", d=path, stroke_width=1.2)
        self._reach((left, y), (right, y + 2 * r))

    def svg(self) -> str:
        """Return the drawing as the text of a file that is right on its own."""
        left, top = (min(corner[i] for corner in self._corners) - MARGIN for i in (0, 1))
        right, bottom = (max(corner[i] for corner in self._corners) + MARGIN for i in (0, 1))
        width, height = _number(math.ceil(right - left)), _number(math.ceil(bottom - top))
        root = ElementTree.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "class": "drawing",
                "viewBox": f"{_number(left)} {_number(top)} {width} {height}",
                "width": width,
                "height": height,
            },
        )
        ElementTree.SubElement(root, "style").text = own_style()
        root.extend(self.elements)
        ElementTree.indent(root, space="")
        return ElementTree.tostring(root, encoding="unicode") + "\n"

    def _head(self, start: Point, end: Point, role: str, size: float) -> None:
        """Draw the head of an arrow: a triangle whose tip is the arrow's end."""
        angle = math.atan2(end[1] - start[1], end[0] - start[0])
        corners = [end] + [
            (end[0] - size * math.cos(angle + side), end[1] - size * math.sin(angle + side))
            for side in (0.45, -0.45)
        ]
        points = " ".join(f"{_number(x)},{_number(y)}" for x, y in corners)
        self._add("polygon", f"head {role}", points=points)

    def _add(self, tag: str, classes: str, **attributes: str | float) -> ElementTree.Element:
        """Add an element; a name with "_" is an attribute with "-"."""
        texts = {
            name.replace("_", "-"): value if isinstance(value, str) else _number(value)
            for name, value in attributes.items()
        }
        element = ElementTree.Element(tag, {"class": " ".join(classes.split()), **texts})
        self.elements.append(element)
        return element

    def _reach(self, *corners: Point) -> None:
        self._corners += corners


@dataclass(frozen=True)
class Matrix:
    """One of a chain of matrices, of which each is made from the one before.

    Attributes:
        title: stands above.
        values: rows of numbers, or of text.
        role: decides on the colour.
        then: what is done with it, beside the arrow to the next one.
        columns: a label above each column.
        cell: width and height of a cell.
        shade: fill a cell the darker, the nearer its number is to 1.
    """

    title: str
    values: Sequence[Sequence[float | str]]
    role: str = "ink"
    then: str = ""
    columns: Sequence[str] = ()
    cell: tuple[float, float] = (44, 26)
    shade: bool = False


def chain(matrices: Sequence[Matrix], rows: Sequence[str], narrow: bool) -> Drawing:
    """Draw matrices with an arrow from each to the next: in a row, or on a phone in a column.

    Args:
        matrices: in their order; all have the same rows.
        rows: a label for each row, of which the last one is lit.
        narrow: whether they stand below each other.
    """
    drawing = Drawing()
    x, y = 0.0, 0.0
    for number, matrix in enumerate(matrices):
        area = drawing.grid(
            (x, y), matrix.values, matrix.role, title=matrix.title,
            rows=rows if narrow or number == 0 else (), columns=matrix.columns,
            cell=matrix.cell, shade=matrix.shade, lit=[len(rows) - 1],
        )  # fmt: skip
        if number == len(matrices) - 1:
            break
        if narrow:
            middle = area.at(0.5, 0)[0]
            drawing.arrow((middle, area.bottom + 6), (middle, area.bottom + 36))
            label = matrix.then.replace("\n", " ")
            drawing.text((middle + 12, area.bottom + 20), label, "muted", size=13, anchor="start")
            y = area.bottom + (80 if matrices[number + 1].columns else 66)
        else:
            longest = max(map(len, matrix.then.split("\n")))
            gap = max(58.0, 13 * WIDTH_OF_A_CHARACTER * longest + 10)
            middle = area.at(0, 0.5)[1]
            drawing.arrow((area.right + 6, middle), (area.right + gap - 6, middle))
            drawing.text((area.right + gap / 2, middle - 20), matrix.then, "muted", size=13)
            x = area.right + gap
    return drawing


def _write(element: ElementTree.Element, line: str, size: float) -> None:
    """Put a line into a text; what follows a "_" is a subscript of one letter."""
    element.text, *parts = line.split("_")
    for part in parts:
        low = ElementTree.SubElement(
            element, "tspan", {"dy": _number(0.25 * size), "font-size": _number(0.78 * size)}
        )
        low.text = part[0]
        back = ElementTree.SubElement(element, "tspan", {"dy": _number(-0.25 * size)})
        back.text = part[1:]


def _number(value: float) -> str:
    """Write a number as short as a tenth of a pixel allows."""
    return f"{round(value, 1) + 0:g}"  # the sum makes a zero of a minus zero


def _shown(value: float | str) -> str:
    """Write a number of a grid: whole ones as such, others with two decimals, a true minus."""
    if isinstance(value, str):
        return value
    text = f"{value:.0f}" if abs(value - round(value)) < 1e-6 else f"{value:.2f}"
    return true_minus(text)


def true_minus(text: str) -> str:
    """Write each hyphen of a text of numbers as a minus sign, which is as wide as a digit."""
    return text.replace("-", "\N{MINUS SIGN}")
