"""A base class for admins with steps. Each step is an action of the list and a page."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils import timezone

from config import audit
from config.admin_steps.page import MOST, address, page
from config.admin_steps.step import DeleteRows, Step
from config.errors import ServiceError


class WithSteps(admin.ModelAdmin[Any]):
    steps: tuple[Step[Any], ...] = ()
    pages: tuple[Step[Any], ...] = ()  # steps reached from other pages: they have a page but are no action

    def get_urls(self) -> list[URLPattern]:
        ours = [
            path(
                f"{step.name.replace('_', '-')}/",
                self.admin_site.admin_view(partial(page, self, step=step)),
                name=f"{self.opts.app_label}_{self.opts.model_name}_{step.name}",
            )
            for step in (*self.steps, *self.pages)
        ]
        return [*ours, *super().get_urls()]

    def get_actions(self, request: HttpRequest) -> Any:
        ours = {
            step.name: (partial(_asked, step=step), step.name, f"{step.title}…")
            for step in self.steps
            if step.allowed(self, request)
        }
        return {**super().get_actions(request), **ours}

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Replace Django's delete page by the page of the step that deletes."""
        row = self.get_object(request, unquote(object_id))
        step = next((step for step in self.steps if isinstance(step, DeleteRows)), None)
        if step is None or not self.has_delete_permission(request, row):
            raise PermissionDenied
        if row is None:
            raise Http404
        return redirect(address(self, step, [str(row.pk)]))

    def bounded(self, request: HttpRequest, chosen: QuerySet[Any]) -> list[Any]:
        """Return the chosen rows, at most MOST; warn if there are more. For actions that need no page."""
        rows = list(chosen[: MOST + 1])
        if len(rows) > MOST:
            _only(request, chosen)
        return rows[:MOST]


def as_job(
    console: Any,
    request: HttpRequest,
    chosen: QuerySet[Any],
    *,
    step: Step[Any],
    words: str = "",
    fields: dict[str, list[str]] | None = None,
) -> HttpResponse | None:
    """Keep the rows as the draft of a job, and lead to its page, which asks for a reason. None if that is refused."""
    from config.jobs import control, kinds  # noqa: PLC0415  # jobs are made of steps

    kind = kinds.of(console, step)
    words = (
        words or f"on the list of {console.opts.verbose_name_plural}, {request.GET.urlencode() or 'without filters'}"
    )
    try:
        job = control.draft(kind, chosen, by=request.user, now=timezone.now(), chosen=words, fields=fields)
    except ServiceError as refusal:
        messages.error(request, refusal.message)
        return None
    audit.note(f"Job prepared: {step.title}", job, changes=[("rows", "", str(job.total)), ("chosen", "", words)])
    return redirect("admin:config_job_change", quote(job.pk))


def _asked(console: Any, request: HttpRequest, chosen: QuerySet[Any], *, step: Step[Any]) -> HttpResponse | None:
    """Redirect from the list to the page of the step."""
    fitting = step.among(chosen)
    ids = [str(one) for one in fitting.values_list("pk", flat=True)[: MOST + 1]]
    if step.alone and len(ids) > 1:
        messages.error(request, "This works for one row at a time: choose only one.")
        return None
    if len(ids) > MOST and not step.bulk:
        _only(request, fitting)
    if left_out := chosen.count() - fitting.count():
        messages.info(
            request, f"{left_out} of the rows that you chose are left out, because nothing would change for them."
        )
    if len(ids) > MOST and step.bulk:
        return as_job(console, request, fitting, step=step)
    return redirect(address(console, step, ids[:MOST], filters=request.GET.urlencode()))


def _only(request: HttpRequest, chosen: QuerySet[Any]) -> None:
    messages.warning(request, f"Only the first {MOST} of {chosen.count()}: that is the most at a time.")
