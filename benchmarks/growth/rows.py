"""The table of `python -m benchmarks.growth`: one row for each job, and the sums of what repeats."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import marked
from benchmarks.growth.costs import FEW, MANY, SIZES, SOME, Growth, WorkKind

HEADINGS = (
    "work",
    "every",
    *(f"{size:,} agents" for size in SIZES),
    f"per 1,000 at {MANY:,}",
    "growth",
    "verdict",
)
_ORDER = (WorkKind.IDLE, WorkKind.SWEEP, WorkKind.REQUEST)
_SUMS = {WorkKind.IDLE: "all due scans together", WorkKind.SWEEP: "all sweeps together"}


def table(growths: Sequence[Growth]) -> str:
    rows = [_row(growth) for kind in _ORDER for growth in growths if growth.work.kind == kind]
    sums = [_sum(name, [growth for growth in growths if growth.work.kind == kind]) for kind, name in _SUMS.items()]
    return marked.table(HEADINGS, [*rows, *sums])


def _row(growth: Growth) -> list[str]:
    """A sweep's growth is of one more agent, without what a run costs in any case."""
    is_sweep = growth.work.kind == WorkKind.SWEEP
    times = f"{growth.steepening:.2f} x an agent" if is_sweep else f"{growth.factor:.2f} x"
    return [
        growth.work.name
        if growth.work.kind == WorkKind.REQUEST or growth.work.name.startswith("the ")
        else f"`{growth.work.name}`",
        _period(growth.work.every),
        *(_ms(growth.ms[size]) for size in SIZES),
        _ms(growth.ms[MANY] / (MANY / 1000)),
        times,
        "pass" if growth.is_well else "FAIL",
    ]


def _sum(name: str, growths: Sequence[Growth]) -> list[str]:
    """The share of one core that these jobs take, each as often as it runs."""
    share = {
        size: sum(growth.ms[size] / growth.work.every / 10 for growth in growths if growth.work.every) for size in SIZES
    }
    cells = [f"{share[size]:.2f} % of a core" for size in (FEW, SOME, MANY)]
    return [name, "", *cells, f"{share[MANY] / (MANY / 1000):.3f} %", f"{share[MANY] / share[FEW]:.2f} x", ""]


def _period(seconds: float) -> str:
    if not seconds:
        return ""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length and not seconds % length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _ms(value: float) -> str:
    number = f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
    return f"{number if value >= 0.1 else f'{value:.3f}'} ms"
