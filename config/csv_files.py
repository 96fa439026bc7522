"""Tables as CSV (RFC 4180), and the action that gives every list of the console as one."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import label_for_field, lookup_field
from django.core.exceptions import ObjectDoesNotExist
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.html import strip_tags

MOST = 50_000  # rows of a list in one file
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run a cell that begins like this as a formula


class _Lines:
    """A file for the csv module that returns each line instead of storing it."""

    def write(self, line: str) -> str:
        return line


def lines(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """One line of CSV for each row."""
    writer = csv.writer(_Lines())
    for row in rows:
        yield writer.writerow([_inert(cell) for cell in row])


@admin.action(description="Download as CSV", permissions=["view"])
def download_csv(
    console: admin.ModelAdmin[Any], request: HttpRequest, chosen: QuerySet[Any]
) -> StreamingHttpResponse | None:
    """The chosen rows with the columns of the list, or with `csv_columns`, written while they are read."""
    if chosen[MOST:].exists():
        messages.error(request, f"A file has at most {MOST:,} rows: choose fewer with the filters.")
        return None
    answer = StreamingHttpResponse(lines(_table(console, request, chosen)), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{console.opts.model_name}.csv"'
    return answer


def _table(console: admin.ModelAdmin[Any], request: HttpRequest, chosen: QuerySet[Any]) -> Iterator[list[str]]:
    columns = getattr(console, "csv_columns", None) or console.get_list_display(request)
    names = [name for name in columns if name != "action_checkbox"]
    yield [strip_tags(str(label_for_field(name, console.model, console))) for name in names]
    for row in chosen.iterator(chunk_size=500):
        yield [_cell(console, name, row) for name in names]


def _cell(console: admin.ModelAdmin[Any], name: Any, row: Any) -> str:
    try:
        value = lookup_field(name, row, console)[2]
    except ObjectDoesNotExist:
        return ""
    match value:
        case None:
            return ""
        case datetime():
            return value.isoformat()
        case list() | tuple():
            return ", ".join(map(str, value))
        case _:
            return strip_tags(str(value))


def _inert(cell: str) -> str:
    """Make a cell harmless for spreadsheets: texts come from outside. Negative numbers stay as they are."""
    is_number = cell.replace(".", "", 1).removeprefix("-").isdecimal()
    return f"'{cell}" if cell.startswith(FORMULA) and not is_number else cell
