"""Base classes of the admins of rows that only rules write: the console shows them and cannot change them."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Model, URLField
from django.http import HttpRequest


class NeitherAddedNorDeleted:
    """For admins and their inlines, named before Django's class."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class ReadOnly(NeitherAddedNorDeleted):
    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class WrittenByRules(ReadOnly, admin.ModelAdmin[Any]):
    """Tables that may be long: a page has 50 rows, and nothing counts them all."""

    list_per_page = 50
    formfield_overrides: ClassVar[Any] = {URLField: {"assume_scheme": "https"}}  # Django 5 warns without it
    show_full_result_count = False
