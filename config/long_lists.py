"""Lists of the console over long tables: they are counted in part, searched by index, and filtered without scans."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import Any, cast

from dateutil.relativedelta import relativedelta
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import cached_property

from config import list_search
from config.crypto import is_encrypted
from config.saved_filters.pages import SavedFilters
from config.totals import WithTotals

MOST_COUNTED = 10_000  # rows; filters and searches lead to the others
CUT = "config.search_is_cut"  # in the request's META: the search did not look at everything
MONTHS = 12  # months that a filter of dates offers by name


class ManyRows(int):
    """The number of rows of a list that was not counted to its end."""

    def __str__(self) -> str:
        return f"more than {int(self):,}"


class BoundedPaginator(Paginator[Any]):
    """Counts at most MOST_COUNTED rows."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        found = int(rows.order_by()[: MOST_COUNTED + 1].count())
        return found if found <= MOST_COUNTED else ManyRows(MOST_COUNTED)


class LeanList(ChangeList):
    """A list that reads no secrets: to decrypt those of each row and of its agent takes most of the time."""

    is_cut = False  # the search found too much elsewhere, so perhaps not all rows are here

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        request.META[CUT] = False
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        self.is_cut = request.META[CUT]
        joined = self.list_select_related if isinstance(self.list_select_related, list | tuple) else ()
        return rows.defer(*secrets_of(self.model), *(name for path in joined for name in secrets_of(self.model, path)))

    def get_ordering_field(self, field_name: Any) -> Any:
        """Refuse to sort by a column whose head is no link, because no index sorts it. Anybody can write `?o=3`."""
        is_sortable = self.sortable_by is None or field_name in self.sortable_by
        return super().get_ordering_field(field_name) if is_sortable else None


def secrets_of(model: type[Model], path: str = "") -> list[str]:
    """The encrypted columns of the model, or of the model that this path of relations leads to."""
    for name in path.split("__") if path else ():
        model = model._meta.get_field(name).related_model  # type: ignore[assignment]  # noqa: SLF001
    before = f"{path}__" if path else ""
    return [f"{before}{field.name}" for field in model._meta.concrete_fields if is_encrypted(field)]  # noqa: SLF001


class LongLists(SavedFilters, WithTotals):
    """The last base of every admin of the console: what an admin says itself has priority."""

    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = 50
    show_facets = admin.ShowFacets.NEVER  # to count the rows of each choice reads the whole table

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return LeanList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        fields = [str(one) for one in self.get_search_fields(request)]
        cut = partial(request.META.__setitem__, CUT, True)
        return list_search.found(queryset, fields, search_term, cut=cut), False


def bounded(console: type[admin.ModelAdmin[Any]]) -> type[admin.ModelAdmin[Any]]:
    """The same admin as a long list."""
    if issubclass(console, LongLists):
        return console
    made = type(console.__name__, (console, LongLists), {"__module__": console.__module__})
    return cast("type[admin.ModelAdmin[Any]]", made)


class WhenFilter(admin.DateFieldListFilter):
    """A filter of dates that reads no row: the last day, this and the past months. For lists that are too long for
    `date_hierarchy`, which reads all rows to find the years and months that have some.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        hour = timezone.now().replace(minute=0, second=0, microsecond=0)
        month = hour.replace(day=1, hour=0)
        ranges: list[tuple[str, datetime, datetime | None]] = [
            ("Last 24 hours", hour - timedelta(days=1), None),
            ("This month", month, None),
        ]
        for back in range(1, MONTHS + 1):
            first = month - relativedelta(months=back)
            ranges.append((f"{first:%B %Y}", first, first + relativedelta(months=1)))
        kept = [link for link in self.links if str(link[0]) in {"Any date", "Today", "Past 7 days", "No date"}]
        self.links = (*kept, *((title, self._between(first, after)) for title, first, after in ranges))

    def _between(self, first: datetime, after: datetime | None) -> dict[str, Any]:
        ends = {self.lookup_kwarg_until: after.isoformat(sep=" ")} if after else {}
        return {self.lookup_kwarg_since: first.isoformat(sep=" "), **ends}


class _OneOf(admin.FieldListFilter):
    """Base of the filters that `one_of` makes."""

    known: tuple[tuple[str, str], ...] = ()

    def __init__(
        self, field: Any, request: HttpRequest, params: Any, model: Any, model_admin: Any, field_path: str
    ) -> None:
        self.lookup = f"{field_path}__exact"
        self.chosen = (params.get(self.lookup) or [None])[-1]
        super().__init__(field, request, params, model, model_admin, field_path)

    def expected_parameters(self) -> list[str | None]:
        return [self.lookup]

    def choices(self, changelist: Any) -> Any:
        yield {
            "selected": self.chosen is None,
            "query_string": changelist.get_query_string(remove=[self.lookup]),
            "display": "All",
        }
        for value, label in self.known:
            yield {
                "selected": self.chosen == value,
                "query_string": changelist.get_query_string({self.lookup: value}),
                "display": label,
            }


def one_of(choices: Iterable[tuple[str, Any]]) -> type[admin.FieldListFilter]:
    """A filter of a column that has these values. Django would read all rows to find them."""
    known = tuple((str(value), str(label)) for value, label in choices)
    return type("OneOf", (_OneOf,), {"known": known})
