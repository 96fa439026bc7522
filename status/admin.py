from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html_join

from config.admin_steps import DeleteRows, WithSteps
from config.read_only import ReadOnly, WrittenByRules
from status import incidents, loops
from status.announcements import admin as announcements_admin  # noqa: F401  # registers announcements
from status.components import IDS
from status.models import HealthSample, Incident, IncidentStatus, Loop


class IncidentForm(forms.ModelForm[Incident]):
    components = forms.MultipleChoiceField(
        choices=[(name, name) for name in IDS],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="While the incident is open, the status page shows these as degraded or worse.",
    )
    update = forms.CharField(
        required=False,
        max_length=4_000,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="News for customers. It is added to the incident at /status/page and in its feed.",
    )

    class Meta:
        model = Incident
        fields = ("title", "status", "started_at", "resolved_at", "components")

    def clean(self) -> dict[str, Any] | None:
        others = Incident.objects.filter(opened_for=self.instance.opened_for, resolved_at=None)
        is_open = self.cleaned_data.get("status") != IncidentStatus.RESOLVED
        if self.instance.opened_for and is_open and others.exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError("This part has a newer open incident already: add to that one.")
        return super().clean()


class DeleteIncidents(DeleteRows):
    title = "Delete incidents"
    model = Incident
    warnings = (
        *DeleteRows.warnings,
        "It disappears from /status/incidents too. If the incident is over, mark it as resolved instead.",
    )

    def shown(self, row: Any) -> dict[str, str]:
        return {
            "title": row.title,
            "status": row.status,
            "started": f"{row.started_at:%Y-%m-%d %H:%M} UTC",
            "components": ", ".join(row.components),
        }


@admin.register(Incident)
class IncidentAdmin(WithSteps):
    """Incidents are written by operators and are visible at once in /status/incidents."""

    form = IncidentForm
    list_display = ("title", "status", "started_at", "resolved_at", "components")
    list_filter = ("status",)
    search_fields = ("id", "title")
    date_hierarchy = "started_at"
    readonly_fields = ("began", "told")
    steps = (DeleteIncidents(),)

    def save_model(self, request: HttpRequest, obj: Incident, form: IncidentForm, change: bool) -> None:
        super().save_model(request, obj, form, change)
        incidents.tell(obj, text=form.cleaned_data["update"].strip(), now=timezone.now())

    @admin.display(description="how it began")
    def began(self, incident: Incident) -> str:
        if not incident.opened_for:
            return "An operator wrote it."
        return f"By itself, for {incident.opened_for}. It closes by itself too, until an operator adds to it."

    @admin.display(description="updates so far")
    def told(self, incident: Incident) -> str:
        told = ((f"{one.at:%Y-%m-%d %H:%M} UTC", one.status, one.text) for one in incident.updates.all())
        return format_html_join("", "<p>{}, {}: {}</p>", told) or "nothing"


@admin.register(Loop)
class LoopAdmin(ReadOnly, admin.ModelAdmin[Loop]):
    """When each periodic job last succeeded. Only the workers write it."""

    list_display = ("name", "period", "succeeded_at", "lateness")
    search_fields = ("name",)

    @admin.display(description="runs every")
    def period(self, loop: Loop) -> str:
        every = loops.PERIODS.get(loop.name)
        return str(every) if every else "runs no more"

    @admin.display(description="late by")
    def lateness(self, loop: Loop) -> str:
        """How long after its due time the next success is awaited. A job may take its time: see `loops.is_late`."""
        if loop.name not in loops.PERIODS:
            return "-"
        now = timezone.now()
        late = max(now - loop.succeeded_at - loops.PERIODS[loop.name], timedelta(0))
        words = str(timedelta(seconds=int(late.total_seconds())))
        return f"{words}, late" if loops.is_late(loop.name, last=loop.succeeded_at, now=now) else words


class WasBad(admin.SimpleListFilter):
    """As the service level “The API answers” counts (status/service_levels/measures.py)."""

    title, parameter_name = "API", "api"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("bad", "did not answer well")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[HealthSample]) -> QuerySet[HealthSample]:
        return queryset.bad() if self.value() == "bad" else queryset  # type: ignore[attr-defined] # its own query set


@admin.register(HealthSample)
class HealthSampleAdmin(WrittenByRules):
    """What was down in each half minute of the last eight days. A half minute without a row was bad too."""

    list_display = ("at", "down", "requests", "failed")
    list_filter = (WasBad, "at")
    fields = list_display
    ordering = ("-at",)
