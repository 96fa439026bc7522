"""The kinds of jobs: the steps of the console's lists that have `bulk`. The step's rule changes each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.http import HttpRequest, QueryDict

from config.admin_steps import Step
from config.jobs.models import Job


@dataclass(frozen=True, slots=True)
class JobKind:
    name: str
    console: ModelAdmin[Any]
    step: Step[Any]

    def allowed(self, user: Any) -> bool:
        """Whether this person may do the step, as on the page of the list."""
        return bool(user.is_active and user.is_staff) and self.step.allowed(self.console, _of(user))

    def seen_by(self, user: Any) -> bool:
        return self.console.has_view_permission(_of(user))

    def form(self, fields: dict[str, list[str]]) -> forms.Form:
        """The step's form with what the operator typed when the job was started."""
        sent = QueryDict(mutable=True)
        for name, values in fields.items():
            sent.setlist(name, values)
        return self.step.form_of(sent, [])


def of(console: ModelAdmin[Any], step: Step[Any]) -> JobKind:
    return JobKind(f"{console.opts.label_lower}.{step.name}", console, step)


def every() -> dict[str, JobKind]:
    """All kinds, by name. Django has registered every list of the console at the start of each process."""
    found = (
        of(console, step)
        for console in admin.site._registry.values()  # noqa: SLF001  # Django has no other way to a site's admins
        for step in (*getattr(console, "steps", ()), *getattr(console, "pages", ()))
        if step.bulk
    )
    return {kind.name: kind for kind in found}


def kind_of(job: Job) -> JobKind | None:
    return every().get(job.kind)


def _of(user: Any) -> HttpRequest:
    request = HttpRequest()
    request.user = user
    return request
