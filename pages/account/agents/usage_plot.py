"""Plots of memory and disk for the last day and month: SVG paths without a script, and the same numbers in a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.template.defaultfilters import filesizeformat
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from agents.models import UsageHour
from agents.watching import usage_curves
from agents.watching.usage_curves import Amount, Measured
from agents.watching.usage_hours import HOUR
from pages.account import words

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageCurve:
    """The line of memory or disk, from left to right: a level for each step, and a gap where nothing was measured."""

    css: str
    name: Promise
    path: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    id: str
    title: Promise
    width: int  # number of steps
    lines: list[UsageCurve]
    begins: str
    ends: str
    column: Promise
    rows: list[tuple[str, list[tuple[Promise, str]]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """The range of a plot: its length, its steps, and the longer steps of the table."""

    id: str
    title: Promise
    column: Promise
    whole: timedelta
    step: timedelta
    row: timedelta
    said: Callable[[datetime], str]


SPANS = (
    _Span(
        id="day",
        title=_("The last 24 hours"),
        column=_("Hour"),
        whole=DAY,
        step=HOUR,
        row=HOUR,
        said=words.moment,
    ),
    _Span(
        id="month",
        title=_("The last 30 days"),
        column=_("Day"),
        whole=30 * DAY,
        step=6 * HOUR,
        row=DAY,
        said=words.day,
    ),
)
Thing = tuple[str, Promise, Measured]
THINGS: tuple[Thing, ...] = (
    ("memory", _("Memory"), usage_curves.memory),
    ("disk", _("Disk"), usage_curves.disk),
)


def plots(hours: list[UsageHour], *, now: datetime) -> list[Plot]:
    """The plots of these hours, which are sorted from oldest to newest. A range without any hours has no plot."""
    return [made for span in SPANS if (made := _plot(span, hours, now=now)).lines]


def _plot(span: _Span, hours: list[UsageHour], *, now: datetime) -> Plot:
    end = usage_curves.start(now, span.row) + span.row
    begin = end - span.whole
    shown = [one for one in hours if begin <= one.at < end]  # the clock of the measurements may be ahead of ours
    return Plot(
        id=span.id,
        title=span.title,
        width=span.whole // span.step,
        lines=[line for thing in THINGS if (line := _line(thing, shown, span, begin))],
        begins=span.said(begin),
        ends=span.said(now),
        column=span.column,
        rows=_rows(span, shown),
    )


def _line(thing: Thing, hours: list[UsageHour], span: _Span, begin: datetime) -> UsageCurve | None:
    """The line, or None if it was never measured."""
    css, name, of = thing
    most = {(at - begin) // span.step: amount for at, amount in usage_curves.fullest(hours, of, span.step).items()}
    if not most:
        return None
    told = list(most.values())
    text = gettext("highest %(most)d %%, latest %(last)d %%")
    said = {"most": max(one.percent for one in told), "last": told[-1].percent}
    return UsageCurve(css=css, name=name, path=usage_curves.path(most), summary=text % said)


def _rows(span: _Span, hours: list[UsageHour]) -> list[tuple[str, list[tuple[Promise, str]]]]:
    """The rows of the table, newest first. Its columns are the lines of the plot."""
    columns = [(name, most) for _css, name, of in THINGS if (most := usage_curves.fullest(hours, of, span.row))]
    times = sorted({at for _name, most in columns for at in most}, reverse=True)
    return [
        (span.said(at), [(name, _words(most[at]) if at in most else "–") for name, most in columns]) for at in times
    ]


def _words(amount: Amount) -> str:
    return f"{amount.percent} % ({filesizeformat(amount.used)})"
