"""The table of `make bench-peers`: one row per measure and system."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks import marked

COMMAND = "make bench-peers"
HEADINGS = ("", "", "CPU each", "per CPU second", "per second", "median", "p99", "memory")
LONG_MS = 10_000  # from here on, a time is shown in seconds
NOTHING = ""


@dataclass(frozen=True, kw_only=True)
class PeerFigure:
    """What one system needs for one thing. None: not measured, and the cell stays empty."""

    what: str
    who: str
    cpu_ms: float | None = None  # of all processes of the server, the database included
    at_rest: float | None = None  # percent of a core, where nothing is asked; it takes the place of `cpu_ms`
    rate: float | None = None  # per second of wall-clock time
    median_ms: float | None = None
    p99_ms: float | None = None  # where there are few, the slowest
    megabytes: float | None = None  # PSS


def percentile_99(values: Sequence[float]) -> float:
    """The value that 99 of 100 do not exceed; with few values, the largest."""
    return statistics.quantiles(values, n=100, method="inclusive")[-1] if len(values) > 1 else values[0]


def table(figures: Iterable[PeerFigure]) -> str:
    """Markdown. The rows of one measure stay together, in the order in which the measures came first."""
    figures = list(figures)
    order = list(dict.fromkeys(figure.what for figure in figures))
    rows: list[list[str]] = []
    for what in order:
        same = [figure for figure in figures if figure.what == what]
        rows += [[what if number == 0 else NOTHING, *_cells(each)] for number, each in enumerate(same)]
    return marked.table(HEADINGS, rows)


def _cells(figure: PeerFigure) -> list[str]:
    per_cpu_second = 1000 / figure.cpu_ms if figure.cpu_ms else None
    return [
        figure.who,
        _time(figure.cpu_ms) if figure.at_rest is None else f"{figure.at_rest:.2f} % of a core",
        _with_unit(per_cpu_second, ""),
        _with_unit(figure.rate, ""),
        _time(figure.median_ms),
        _time(figure.p99_ms),
        _with_unit(figure.megabytes, "MB"),
    ]


def _time(value: float | None) -> str:
    return _with_unit(value, "ms") if value is None or value < LONG_MS else _with_unit(value / 1000, "s")


def _with_unit(value: float | None, unit: str) -> str:
    if value is None:
        return NOTHING
    number = f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}" if abs(value) >= 10 else f"{value:,.2f}"
    return f"{number} {unit}".rstrip()
