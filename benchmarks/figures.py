"""The result of a benchmark: a figure, its goal, and its baseline."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap

_VERDICTS = {True: "pass", False: "FAIL", None: "report"}
_HEADINGS = ("figure", "value", "goal", "verdict", "compared with")
_BASELINE_WIDTH = 70


@dataclass(frozen=True)
class Figure:
    """One result. `ok` is None if the goal is only reported."""

    name: str
    value: float
    unit: str
    goal: str
    ok: bool | None
    baseline: str


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the rounds' ratios. Both were measured in turns, so a busy machine affects both."""
    return statistics.median(our / their for our, their in zip(ours, theirs, strict=True))


def table(figures: Iterable[Figure]) -> str:
    """One line per figure. The description of the baseline is wrapped beside it."""
    rows = [(f.name, f"{_number(f.value)} {f.unit}", f.goal, _VERDICTS[f.ok], f.baseline) for f in figures]
    widths = [max(len(row[i]) for row in [*rows, _HEADINGS]) for i in range(4)]
    lines = [_line(_HEADINGS, widths), "-" * (sum(widths) + 8 + _BASELINE_WIDTH)]
    for *cells, baseline in rows:
        first, *more = wrap(baseline, _BASELINE_WIDTH) or [""]
        lines.append(_line((*cells, first), widths))
        lines += [_line(("", "", "", "", part), widths) for part in more]
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or float(value).is_integer() else f"{value:,.2f}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
    return "  ".join([*padded, cells[-1]]).rstrip()
