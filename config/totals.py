"""Sums of the money on a list of the console: for each currency alone, exact, and of all rows of the filter.

A list counts at most MOST_COUNTED rows, and sums as many with each visit. For more rows the list has a link to a page
that sums all of them, within SECONDS of the database's time. There is no sum of a part: it is whole, or it is not told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import OperationalError, transaction
from django.db.models import Count, F, QuerySet, Sum
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from config import sql

SECONDS = 10
MOST_LINES = 100  # groups, the longest first: anybody can send coins of any name


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a list sums: `sums` for each value of `by`. Both name columns, or expressions by a name."""

    by: Mapping[str, Any]
    sums: Mapping[str, Any]
    unit: str = ""  # of the sums

    def text(self, name: str, group: Mapping[str, Any], total: Decimal) -> str:
        """A sum as people read it."""
        return f"{total:f}"

    def shown(self, group: Mapping[str, Any]) -> list[str]:
        """The cells that say which group it is."""
        return [str(value if value is not None else "") for value in group.values()]

    def head(self) -> list[str]:
        return [one.replace("_", " ") for one in self.by]


@dataclass(frozen=True, slots=True)
class TotalLines:
    """`lines` have the group, its number of rows, and for each sum its text and how many rows have none."""

    head: list[str]
    lines: list[list[str]] = field(default_factory=list)
    rows: int = 0
    is_cut: bool = False  # there are more groups


def summed(rows: QuerySet[Any], totals: Totals) -> TotalLines:
    """The sums of these rows, in one statement."""
    names = {f"of_{name}": F(one) if isinstance(one, str) else one for name, one in totals.by.items()}
    columns: dict[str, Any] = {"number": Count("pk")}
    for name, column in totals.sums.items():
        columns |= {f"sum_{name}": Sum(column), f"known_{name}": Count(column)}
    grouped = rows.order_by().values(**names).annotate(**columns).order_by("-number", *names)
    found = list(grouped[: MOST_LINES + 1])
    head = [*totals.head(), "rows", *(f"{name} {totals.unit}".strip() for name in totals.sums)]
    lines = [_line(row, totals) for row in found[:MOST_LINES]]
    return TotalLines(head, lines, sum(row["number"] for row in found[:MOST_LINES]), len(found) > MOST_LINES)


def _line(row: Mapping[str, Any], totals: Totals) -> list[str]:
    group = {name: row[f"of_{name}"] for name in totals.by}
    cells = [*totals.shown(group), f"{row['number']:,}"]
    for name in totals.sums:
        total, missing = row[f"sum_{name}"], row["number"] - row[f"known_{name}"]
        text = totals.text(name, group, Decimal(total)) if total is not None else ""
        cells.append(f"{text} ({missing:,} without an amount)" if text and missing else text)
    return cells


class WithTotals(admin.ModelAdmin[Any]):
    """Base of lists that sum their rows, if `totals` says what."""

    totals: ClassVar[Totals | None] = None

    def get_urls(self) -> list[URLPattern]:
        if self.totals is None:
            return super().get_urls()
        ours = path("totals/", self.admin_site.admin_view(self.totals_view), name=self._totals_page())
        return [ours, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        answer = super().changelist_view(request, extra_context)
        listed = (getattr(answer, "context_data", None) or {}).get("cl")
        if isinstance(answer, TemplateResponse) and listed and self.totals and not listed.is_popup:
            context = answer.context_data or {}
            if getattr(listed, "is_cut", False):
                context["totals_cut"] = True
            elif type(listed.result_count) is int:  # counted to the end
                context["totals"] = summed(listed.queryset, self.totals) if listed.result_count else None
            else:
                place = reverse(f"admin:{self._totals_page()}")
                context["totals_at"] = f"{place}{listed.get_query_string(remove=['p'])}"
        return answer

    def totals_view(self, request: HttpRequest) -> HttpResponse:
        """The sums of all rows of the filter, however many there are."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        listed = self.list_with(request, request.GET)
        place = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
        if listed is None or self.totals is None:
            return HttpResponseRedirect(f"{place}?e=1")
        is_cut = getattr(listed, "is_cut", False)
        context = {
            **self.admin_site.each_context(request),
            "title": f"Totals of {self.opts.verbose_name_plural}",
            "opts": self.opts,
            "totals": None if is_cut else _in_time(listed.queryset, self.totals),
            "totals_cut": is_cut,
            "list_at": f"{place}{listed.get_query_string()}",
            "seconds": SECONDS,
        }
        return TemplateResponse(request, "admin/totals.html", context)

    def list_with(self, request: HttpRequest, query: Any) -> Any:
        """The list with these filters. None if it refuses them."""
        raise NotImplementedError

    def _totals_page(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_totals"


def _in_time(rows: QuerySet[Any], totals: Totals) -> TotalLines | None:
    """The sums, or None if the database needs too long for them."""
    try:
        with transaction.atomic():
            sql.execute("SELECT set_config('statement_timeout', %s, true)", [f"{SECONDS}s"])
            return summed(rows, totals)
    except OperationalError:
        return None
