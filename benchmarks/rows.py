"""A row of the results: what was measured against what, what is asked, and whether that is met."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Self

import torch

from benchmarks.timing import Ratio

TIME_RATIO = "time ratio"


@dataclass(frozen=True)
class Asked:
    """A bound on a figure.

    Attributes:
        bound: which side of the limit is good.
        limit: of the figure.
        goal: whether to miss it is no failure.
    """

    bound: Literal["<=", ">="]
    limit: float
    goal: bool = False

    def met_by(self, value: float) -> bool:
        """Hold a figure against the limit."""
        return value <= self.limit if self.bound == "<=" else value >= self.limit

    def __str__(self) -> str:
        return f"{'goal ' if self.goal else ''}{self.bound} {self.limit:g}"


@dataclass(frozen=True)
class Setting:
    """Where and how a case is measured.

    Attributes:
        device: what computes.
        repetitions: runs of each side of a quick case; slow cases divide it.
        slow_bfloat16: measure bfloat16 even where the processor has no instructions for it.
        multi30k: the folder of Multi30k, if there is one.

    """

    device: torch.device
    repetitions: int = 9
    slow_bfloat16: bool = False
    multi30k: Path | None = None


@dataclass(frozen=True)
class Row:
    """One row.

    Attributes:
        case: which case it belongs to.
        device: where it was measured, "cpu" or "cuda".
        what: what was measured; of a ratio, what stands above the line.
        against: what stands below the line, or what the figure is compared with.
        unit: of the figure.
        value: the figure, the median if it was measured more than once; None = not measured.
        quartiles: the first and the third, if it was measured more than once.
        asked: the bound, "" if there is none.
        met: whether the figure keeps the bound; None = no bound or no figure.
        failed: whether it misses a bound that is more than a goal.
        note: why there is no figure, or what to know of it.
        details: other figures of the same measurement.
        conditions: date, machine and versions.
    """

    case: str
    device: str
    what: str
    against: str
    unit: str = TIME_RATIO
    value: float | None = None
    quartiles: tuple[float, float] | None = None
    asked: str = ""
    met: bool | None = None
    failed: bool = False
    note: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    conditions: dict[str, str | int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        """The fields as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Undo :meth:`as_dict`.

        Raises:
            ValueError: if the fields are not those of a row.
        """
        if values.keys() != {f.name for f in fields(cls)}:
            raise ValueError(f"a row has other fields: {sorted(values)}")
        quartiles = values["quartiles"]
        return cls(**{**values, "quartiles": tuple(quartiles) if quartiles else None})


def measured(
    case: str,
    device: torch.device,
    what: str,
    against: str,
    figure: float | Ratio,
    asked: Asked | None = None,
    *,
    unit: str = TIME_RATIO,
    quartiles: tuple[float, float] | None = None,
    note: str = "",
    **details: Any,
) -> Row:
    """Make a row of a figure, or of a ratio with its quartiles and both times."""
    if isinstance(figure, Ratio):
        value, quartiles = figure.median, (figure.lower, figure.upper)
        details = {
            "numerator_seconds": figure.numerator_seconds,
            "denominator_seconds": figure.denominator_seconds,
            "repetitions": figure.repetitions,
            **details,
        }
    else:
        value = figure
    met = asked.met_by(value) if asked else None
    return Row(
        case,
        device.type,
        what,
        against,
        unit,
        value,
        quartiles,
        str(asked or ""),
        met,
        failed=met is False and asked is not None and not asked.goal,
        note=note,
        details=details,
    )


def not_measured(
    case: str, device: str, what: str, against: str, why: str, asked: Asked | None = None
) -> Row:
    """Make a row that says why it has no figure."""
    return Row(case, device, what, against, unit="", asked=str(asked or ""), note=why)
