"""The page *Audit log*: what people did in the console, the newest first."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db import connection
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from config.audit.models import AuditEntry
from config.read_only import WrittenByRules

MOST_VERBS = 200
CELL = 60  # characters of a text on the list; the row's own page has all of it

# Each step jumps over all rows of a verb, so the table may have millions.
VERBS = """
WITH RECURSIVE found AS (
    (SELECT verb FROM config_auditentry ORDER BY verb LIMIT 1)
    UNION ALL
    SELECT (SELECT verb FROM config_auditentry WHERE verb > found.verb ORDER BY verb LIMIT 1)
    FROM found WHERE found.verb IS NOT NULL
)
SELECT verb FROM found WHERE verb IS NOT NULL LIMIT %s
"""


class VerbFilter(admin.SimpleListFilter):
    title, parameter_name = "what", "verb"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        with connection.cursor() as cursor:
            cursor.execute(VERBS, [MOST_VERBS])
            return [(verb, verb) for (verb,) in cursor.fetchall()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
        return queryset.filter(verb=self.value()) if self.value() else queryset


@admin.register(AuditEntry)
class AuditEntryAdmin(WrittenByRules):
    list_display = ("at", "who", "address", "verb", "object_", "reason_")
    list_filter = (VerbFilter, "at")
    sortable_by = ()
    search_fields = ("who",)  # shows the field for the search; `get_search_results` searches
    search_help_text = (
        "E-mail or id of a person, id of an object or the beginning of its name, or an address, exactly as written"
    )
    fields = ("at", "who", "who_id", "address", "verb", "kind", "object_id", "label", "reason", "changed")
    readonly_fields = ("changed",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Every column here has an index, so that a search in millions of rows is quick."""
        term = search_term.strip()
        if not term:
            return queryset, False
        person = Q(who=term.lower()) | Q(who_id=term) | Q(address=term)
        return queryset.filter(person | Q(object_id=term) | Q(label__startswith=term)), False

    @admin.display(description="object")
    def object_(self, entry: AuditEntry) -> str:
        return Truncator(" ".join(filter(None, (entry.kind, entry.label)))).chars(CELL)

    @admin.display(description="reason")
    def reason_(self, entry: AuditEntry) -> str:
        return Truncator(entry.reason).chars(CELL)

    @admin.display(description="changes")
    def changed(self, entry: AuditEntry) -> SafeString | str:
        lines = format_html_join("", "<p dir='auto'>{}: {} → {}</p>", (_shown(*one) for one in entry.changes))
        return lines or "none"


def _shown(name: str, before: str, after: str) -> tuple[str, str, str]:
    return name, before or "empty", after or "empty"
