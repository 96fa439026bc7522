"""The page *Settings*: each setting with its value, where the value comes from, and the newest changes."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import Substr
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from config.admin_steps import WithSteps
from config.admin_steps.page import address
from config.operator_settings import shown
from config.operator_settings.admin_steps import (
    ChangeGuarded,
    ChangeSetting,
    RemoveCredential,
    ResetGuarded,
    ResetSetting,
    SetCredential,
    SettingStep,
)
from config.operator_settings.models import OperatorSetting, SettingChange
from config.operator_settings.registry import SETTINGS
from config.operator_settings.shown import SettingLine
from config.read_only import NeitherAddedNorDeleted, WrittenByRules

NEWEST = 50  # changes on the page; their own list has all of them


@admin.register(OperatorSetting)
class OperatorSettingAdmin(NeitherAddedNorDeleted, WithSteps):
    changing: tuple[SettingStep, ...] = (ChangeSetting(), ChangeGuarded(), SetCredential())
    resetting: tuple[SettingStep, ...] = (ResetSetting(), ResetGuarded(), RemoveCredential())
    pages = (*changing, *resetting)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "title": "Settings",
            "opts": self.opts,
            "groups": {
                group: [(line, self._links(request, line)) for line in lines] for group, lines in shown.groups().items()
            },
            "changes": with_people(SettingChange.objects.all())[:NEWEST],
        }
        return TemplateResponse(request, "admin/config/settings.html", context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Lead from a setting's address to the page that changes it."""
        if not (self.has_change_permission(request) or self.has_guarded_permission(request)):
            raise PermissionDenied
        if (name := unquote(object_id)) not in SETTINGS:
            raise Http404
        step = self._step(name, self.changing)
        if not step.allowed(self, request):
            raise PermissionDenied
        return redirect(address(self, step, [name]))

    def has_guarded_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("config.change_guarded")

    def _step(self, name: str, steps: tuple[SettingStep, ...]) -> SettingStep:
        """The one of the steps that is for this setting."""
        return next(step for step in steps if step.takes(SETTINGS[name]))

    def _links(self, request: HttpRequest, line: SettingLine) -> list[tuple[str, str]]:
        """The steps that this person may take with the setting: their words and addresses."""
        name = line.setting.name
        steps = [self._step(name, self.changing)]
        if line.source == shown.OPERATOR or line.problem:
            steps.append(self._step(name, self.resetting))
        return [(step.button, address(self, step, [name])) for step in steps if step.allowed(self, request)]


@admin.register(SettingChange)
class SettingChangeAdmin(WrittenByRules):
    list_display = ("at", "name", "before", "after", "who", "reason")
    list_filter = ("name", "at")
    search_fields = ("name", "actor", "reason")
    fields = ("at", "name", "before", "after", "who", "actor", "reason")

    def get_queryset(self, request: HttpRequest) -> QuerySet[SettingChange]:
        return with_people(super().get_queryset(request))

    @admin.display(description="who")
    def who(self, change: SettingChange) -> str:
        return str(change.person or change.actor)  # type: ignore[attr-defined] # annotated


def with_people(changes: QuerySet[SettingChange]) -> QuerySet[SettingChange]:
    """The changes with `person`: the e-mail of who made it, while the account exists."""
    people = get_user_model().objects.filter(pk=Substr(OuterRef("actor"), len("operator:") + 1))
    return changes.annotate(person=Subquery(people.values("email")[:1]))
