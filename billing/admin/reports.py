"""The Reports page: tables for a range of months. Each table is also available as CSV."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from billing.models import DeferredRevenue, Reports
from billing.reports import months, tables
from billing.reports.tables import ReportTable
from config.errors import BadRequest
from config.read_only import WrittenByRules

SHOWN = 500  # rows of a table on the page; the CSV file has all rows


@admin.register(Reports)
class ReportsAdmin(WrittenByRules):
    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        now = timezone.now()
        asked, problem = months.year_so_far(now=now), ""
        first, last = request.GET.get("from") or asked.names[0], request.GET.get("to") or asked.names[1]
        try:
            asked = months.months(first, last)
        except BadRequest as refusal:
            problem = refusal.message
        named = request.GET.get("csv") or ""
        wanted = tables.table(named, asked, now=now) if named and not problem else None
        if wanted is not None:
            return _file(wanted, asked.names)
        found = [] if problem else tables.quick_tables(asked, now=now)
        if not problem and (more := request.GET.get("also")) in tables.ON_REQUEST:
            found += [one for one in [tables.table(str(more), asked, now=now)] if one]
        context = {
            **self.admin_site.each_context(request),
            "title": "Reports",
            "opts": self.opts,
            "first": first,
            "last": last,
            "problem": problem,
            "tables": [(table, _words(table.head), table.rows[:SHOWN]) for table in found],
            "shown": SHOWN,
            "more": {} if problem else _not_in(found),
        }
        return TemplateResponse(request, "admin/billing/reports.html", context, status=400 if problem else 200)


def _words(head: Iterable[str]) -> list[str]:
    """The names of the columns as people read them; the CSV file keeps them."""
    return [name.replace("_usd", " in USD").replace("_", " ") for name in head]


def _not_in(found: list[ReportTable]) -> dict[str, str]:
    """The tables that the page computes only on request, by name."""
    there = {table.name for table in found}
    return {name: title for name, title in tables.ON_REQUEST.items() if name not in there}


def _file(table: ReportTable, names: tuple[str, str]) -> HttpResponse:
    answer = HttpResponse(tables.as_csv(table), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{table.name}-{names[0]}-{names[1]}.csv"'
    return answer


@admin.register(DeferredRevenue)
class DeferredRevenueAdmin(WrittenByRules):
    list_display = ("ended_at", "provider", "tier", "period", "currency", "usd")
    list_filter = ("provider", "tier", "period", "currency")
    date_hierarchy = "ended_at"
