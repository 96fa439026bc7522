"""The page *Settings*: each setting with its value, where the value comes from, and the newest changes."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from config.admin_steps import WithSteps
from config.admin_steps.page import address
from config.operator_settings import shown
from config.operator_settings.admin_steps import ChangeSetting, RemoveCredential, ResetSetting, SetCredential
from config.operator_settings.models import OperatorSetting, SettingChange
from config.operator_settings.registry import SETTINGS
from config.read_only import NeitherAddedNorDeleted, WrittenByRules

NEWEST = 50  # changes on the page; their own list has all of them


@admin.register(OperatorSetting)
class OperatorSettingAdmin(NeitherAddedNorDeleted, WithSteps):
    pages = (ChangeSetting(), ResetSetting(), SetCredential(), RemoveCredential())

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "title": "Settings",
            "opts": self.opts,
            "groups": shown.groups(),
            "changes": SettingChange.objects.all()[:NEWEST],
            "may_change": self.has_change_permission(request),
            "may_set": self.has_credentials_permission(request),
        }
        return TemplateResponse(request, "admin/config/settings.html", context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Lead from a setting's address to the page that changes it, or that sets the credential."""
        if not (self.has_change_permission(request) or self.has_credentials_permission(request)):
            raise PermissionDenied
        if (name := unquote(object_id)) not in SETTINGS:
            raise Http404
        step = self.pages[2 if SETTINGS[name].is_credential else 0]
        if not step.allowed(self, request):
            raise PermissionDenied
        return redirect(address(self, step, [name]))

    def has_credentials_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("config.set_credentials")


@admin.register(SettingChange)
class SettingChangeAdmin(WrittenByRules):
    list_display = ("at", "name", "before", "after", "actor", "reason")
    list_filter = ("name", "at")
    search_fields = ("name", "actor", "reason")
    fields = list_display
