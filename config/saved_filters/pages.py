"""What a list of the console shows of saved filters, and the pages that save, open and change one."""

from __future__ import annotations

import copy
from typing import Any
from urllib.parse import unquote_plus

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import FieldError, PermissionDenied, SuspiciousOperation, TooManyFieldsSent, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from config.errors import NotFound, ServiceError
from config.saved_filters import dates, saving
from config.saved_filters.models import NAME_LENGTH, QUERY_LENGTH, SavedFilter

# Not part of a filter: pages, errors, windows that choose a row, and lists that are shown whole.
LEFT_OUT = ("p", "e", "all", "_popup", "_to_field", "_facets", "_changelist_filters")
WRONG = (IncorrectLookupParameters, SuspiciousOperation, ValidationError, FieldError, ValueError, TypeError)


class FilterNameForm(forms.Form):
    name = forms.CharField(max_length=NAME_LENGTH)
    is_shared = forms.BooleanField(required=False)

    def clean_name(self) -> str:
        return " ".join(str(self.cleaned_data["name"]).split())


class NewFilterForm(FilterNameForm):
    query = forms.CharField(max_length=QUERY_LENGTH)


class SavedFilters(admin.ModelAdmin[Any]):
    """Base of lists whose filters are saved. Who may see the list may save filters on it."""

    def get_urls(self) -> list[URLPattern]:
        pages = (
            ("saved-filters/", self.save_filter_view, "save_filter"),
            ("saved-filters/<str:filter_id>/", self.open_filter_view, "open_filter"),
            ("saved-filters/<str:filter_id>/change/", self.change_filter_view, "change_filter"),
        )
        ours = [path(at, self.admin_site.admin_view(view), name=self._named(name)) for at, view, name in pages]
        return [*ours, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        answer = super().changelist_view(request, extra_context)
        listed = (getattr(answer, "context_data", None) or {}).get("cl")
        if isinstance(answer, TemplateResponse) and listed and not listed.is_popup:
            (answer.context_data or {}).update(self._offered(request, listed))
        return answer

    def save_filter_view(self, request: HttpRequest) -> HttpResponse:
        """Save the list's present filters under a name."""
        self._only_who_sees(request)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        form = NewFilterForm(request.POST)
        if not form.is_valid():
            return self._back(request, refusal=_first_problem(form))
        query = _query(form.cleaned_data["query"])
        listed = self.list_with(request, query)
        if listed is None or not query:
            return self._back(request, refusal="This list has no such filters, so nothing was saved.")
        rest, moving = dates.split(listed.filter_specs, query)
        if len(rest.urlencode()) > QUERY_LENGTH:  # an address has up to nine times the characters
            return self._back(request, refusal=f"Query: has more than {QUERY_LENGTH} characters as an address.")
        name, is_shared = form.cleaned_data["name"], form.cleaned_data["is_shared"]
        try:
            saving.save(
                request.user,
                listed=self._label(),
                name=name,
                query=rest.urlencode(),
                moving=moving,
                is_shared=is_shared,
                now=timezone.now(),
            )
        except ServiceError as refusal:
            return self._back(request, query=query.urlencode(), refusal=refusal.message)
        follows = "".join(f" {one} follows the clock." for one in moving.values())
        messages.success(request, f"The filter {name} is saved.{follows}")
        return self._back(request, query=query.urlencode())

    def open_filter_view(self, request: HttpRequest, filter_id: str) -> HttpResponse:
        """Lead to the list with this filter. The list checks what the person may see."""
        self._only_who_sees(request)
        row = saving.usable(request.user, self._label()).filter(pk=filter_id).first()
        if row is None:
            raise Http404
        if not row.moving:
            return self._back(request, query=row.query)
        listed = self.list_with(request, QueryDict())
        return self._back(request, query=dates.joined(listed.filter_specs if listed else (), row.query, row.moving))

    def change_filter_view(self, request: HttpRequest, filter_id: str) -> HttpResponse:
        """Rename, share or delete one of one's own filters."""
        self._only_who_sees(request)
        try:
            row = saving.own(request.user, filter_id, listed=self._label())
            form = FilterNameForm(request.POST or None, initial={"name": row.name, "is_shared": row.is_shared})
            if request.method == "POST" and "delete" in request.POST:
                saving.delete(request.user, row.pk, listed=self._label())
                return self._back(request, told=f"The filter {row.name} is deleted.")
            if form.is_valid() and self._changed(request, row, form):
                return self._back(request, told=f"The filter {form.cleaned_data['name']} is saved.")
        except NotFound as nothing:
            raise Http404 from nothing
        filters = [*_pairs(row.query), *row.moving.items()]
        context = {"title": "Saved filter", "opts": self.opts, "row": row, "form": form, "filters": filters}
        context |= self.admin_site.each_context(request)
        return TemplateResponse(request, "admin/saved_filter.html", context)

    def _changed(self, request: HttpRequest, row: SavedFilter, form: FilterNameForm) -> bool:
        try:
            saving.change(request.user, row.pk, listed=self._label(), **form.cleaned_data)
        except saving.NameTaken as refusal:
            form.add_error("name", refusal.message)
            return False
        return True

    def _offered(self, request: HttpRequest, listed: ChangeList) -> dict[str, Any]:
        present = _query(listed.get_query_string().removeprefix("?"))
        rest, moving = dates.split(listed.filter_specs, present)
        now_open = (rest.urlencode(), moving)
        return {
            "saved_filters": [
                {
                    "name": row.name,
                    "address": self._place("open_filter", row.pk),
                    "change": row.owner_id == request.user.pk and self._place("change_filter", row.pk),
                    "owner": "" if row.owner_id == request.user.pk else str(row.owner),
                    "is_shared": row.is_shared,
                    "is_open": (row.query, row.moving) == now_open,
                }
                for row in saving.shown(request.user, self._label())
            ],
            "present_filter": present.urlencode(),
            "save_filter_at": self._place("save_filter"),
            "longest_name": NAME_LENGTH,
        }

    def list_with(self, request: HttpRequest, query: QueryDict) -> ChangeList | None:
        """The list with these filters. None if it refuses them: a saved filter has only what the list allows."""
        asked = copy.copy(request)
        asked.method, asked.GET = "GET", query  # type: ignore[assignment]  # a query that was read is not changed
        try:
            return self.get_changelist_instance(asked)
        except WRONG:
            return None

    def _only_who_sees(self, request: HttpRequest) -> None:
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied

    def _back(self, request: HttpRequest, *, query: str = "", refusal: str = "", told: str = "") -> HttpResponse:
        if refusal:
            messages.error(request, refusal)
        if told:
            messages.success(request, told)
        place = self._place("changelist")
        return HttpResponseRedirect(f"{place}?{query}" if query else place)

    def _place(self, page: str, *args: str) -> str:
        return reverse(f"admin:{self._named(page)}", args=args, current_app=self.admin_site.name)

    def _named(self, page: str) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{page}"

    def _label(self) -> str:
        return f"{self.opts.app_label}.{self.opts.model_name}"


def _query(text: str) -> QueryDict:
    """The filters in this text, in one order, without what is no filter. Empty if it cannot be a query."""
    try:
        typed = QueryDict("" if "\0" in unquote_plus(text) else text)
    except (TooManyFieldsSent, UnicodeError):
        typed = QueryDict()
    found = QueryDict(mutable=True)
    for key in sorted(typed):
        if key not in LEFT_OUT and any(typed.getlist(key)):
            found.setlist(key, typed.getlist(key))
    return found


def _pairs(query: str) -> list[tuple[str, str]]:
    return [(key, ", ".join(values)) for key, values in QueryDict(query).lists()]


def _first_problem(form: forms.Form) -> str:
    field, problems = next(iter(form.errors.items()))
    return f"{str(field).capitalize()}: {problems[0]}"
