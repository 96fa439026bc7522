"""Notes and looks in the console: everybody with the right sees them, and nobody edits them."""

from __future__ import annotations

from django.contrib import admin

from accounts.helping.models import PersonNote, StaffLook
from config.read_only import WrittenByRules


@admin.register(PersonNote)
class PersonNoteAdmin(WrittenByRules):
    list_display = ("at", "user", "author", "text")
    list_select_related = ("user",)
    list_filter = ("at",)
    search_fields = ("user__id", "user__email", "author")


@admin.register(StaffLook)
class StaffLookAdmin(WrittenByRules):
    list_display = ("began_at", "user", "operator", "reason", "ended_at")
    list_select_related = ("user", "operator")
    list_filter = ("began_at", ("ended_at", admin.EmptyFieldListFilter))
    search_fields = ("user__id", "user__email", "operator__email")
    fields = ("user", "operator", "reason", "began_at", "ends_at", "ended_at", "places")
