"""The list *Jobs*, and the page of each: what it will do, how far it is, and what came of each row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone

from config import csv_files
from config.errors import ServiceError
from config.jobs import control, kinds
from config.jobs.forms import StartForm
from config.jobs.kinds import JobKind
from config.jobs.models import Job, JobRow, JobRowState, JobState
from config.read_only import WrittenByRules

SAMPLE = 10  # rows that the page of a draft shows
PER_PAGE = 100
REFRESH_SECONDS = 5
# Which buttons a job has, by its state, and the rule of each.
BUTTONS = {
    JobState.DRAFT: (),
    JobState.RUNNING: ("stop",),
    JobState.STOPPED: ("resume", "retry"),
    JobState.DONE: ("retry",),
}


@admin.register(Job)
class JobAdmin(WrittenByRules):
    list_display = ("created_at", "what", "state", "by", "total", "done", "failed", "skipped", "reason")
    list_filter = ("state", "created_at")
    search_fields = ("id", "by__email", "reason")
    search_help_text = "Id of the job, e-mail of its operator, or words of its reason"
    list_select_related = ("by",)

    def get_urls(self) -> list[URLPattern]:
        report = path("<str:object_id>/report.csv", self.admin_site.admin_view(self.report_view), name="config_job_csv")
        return [report, *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        """The jobs on lists that this person sees. A draft is for its operator alone."""
        seen = [name for name, kind in kinds.every().items() if kind.seen_by(request.user)]
        mine = ~Q(state=JobState.DRAFT) | Q(by=request.user.pk)
        return super().get_queryset(request).filter(mine, kind__in=seen)

    @admin.display(description="what", ordering="kind")
    def what(self, job: Job) -> str:
        kind = kinds.kind_of(job)
        return kind.step.title if kind else job.kind

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        job, kind = self._found(request, unquote(object_id))
        if request.method != "POST":
            return _page(self, request, job, kind, None)
        if not kind.allowed(request.user):
            raise PermissionDenied
        form = _start_form(job, kind, request.POST) if "start" in request.POST else None
        if form is not None and not form.is_valid():
            return _page(self, request, job, kind, form)
        try:
            _act(request, job, kind, form)
        except ServiceError as refusal:
            messages.error(request, refusal.message)
        return redirect("admin:config_job_change", quote(job.pk))

    def report_view(self, request: HttpRequest, object_id: str) -> HttpResponse | StreamingHttpResponse:
        """Each row with its result, as a file that is written while it is read from the database."""
        job, _ = self._found(request, object_id)
        answer = StreamingHttpResponse(csv_files.lines(_report(job)), content_type="text/csv; charset=utf-8")
        answer["Content-Disposition"] = f'attachment; filename="{job.pk}.csv"'
        return answer

    def _found(self, request: HttpRequest, job_id: str) -> tuple[Job, JobKind]:
        if not self.has_view_permission(request):
            raise PermissionDenied
        job = self.get_queryset(request).select_related("by").filter(pk=job_id).first()
        kind = kinds.kind_of(job) if job else None
        if job is None or kind is None:
            if request.method == "POST":
                raise PermissionDenied
            raise Http404
        return job, kind


def _act(request: HttpRequest, job: Job, kind: JobKind, form: StartForm | None) -> None:
    """Do what the pressed button says. Raises ServiceError."""
    now, title, by = timezone.now(), kind.step.title, request.user
    if form is not None:
        if job.by_id != by.pk:
            raise PermissionDenied
        control.start(job, title=title, by=by, fields=form.typed(), pace=form.pace(), now=now)
    elif "stop" in request.POST:
        control.stop(job, title=title, now=now)
    elif "resume" in request.POST:
        control.resume(job, title=title, by=by, now=now)
    elif "retry" in request.POST:
        control.retry(job, title=title, by=by, now=now)
    else:
        raise PermissionDenied


def _start_form(job: Job, kind: JobKind, sent: Any) -> StartForm:
    return StartForm(sent, job=job, step=kind.step)


def _page(console: JobAdmin, request: HttpRequest, job: Job, kind: JobKind, form: StartForm | None) -> TemplateResponse:
    is_draft = job.state == JobState.DRAFT
    may = kind.allowed(request.user)
    context = {
        **console.admin_site.each_context(request),
        "opts": console.opts,
        "title": kind.step.title,
        "job": job,
        "kind": kind,
        "ended": job.total - job.left,
        "may": may,
        "buttons": [one for one in BUTTONS[JobState(job.state)] if may and (one != "retry" or job.failed)],
        "form": (form or _start_form(job, kind, None)) if is_draft and may else None,
        **(_sample(job, kind) if is_draft else _results(request, job)),
    }
    answer = TemplateResponse(request, "admin/config/job.html", context)
    if job.state == JobState.RUNNING and "still" not in request.GET:
        answer["Refresh"] = str(REFRESH_SECONDS)
    return answer


def _sample(job: Job, kind: JobKind) -> dict[str, Any]:
    """The first rows, as the page of the step shows them."""
    rows = kind.step.rows(list(job.rows.values_list("object_id", flat=True)[:SAMPLE]))
    cells = kind.step.cells(rows) if rows else []
    return {"columns": list(cells[0]) if cells else [], "sample": [list(one.values()) for one in cells]}


def _results(request: HttpRequest, job: Job) -> dict[str, Any]:
    """A page of the job's rows, those with the chosen result. The counts are kept with the job."""
    counts = {"": job.total, **{name: getattr(job, name) for name in ("done", "failed", "skipped")}}
    chosen = request.GET.get("result", "")
    if chosen not in JobRowState.values:
        chosen = ""
    rows = job.rows.filter(state=chosen) if chosen else job.rows.all()
    paginator = Paginator(rows, PER_PAGE)
    paginator.count = counts.get(chosen, job.left)
    return {
        "chosen": chosen,
        "counts": [(name, number) for name, number in {**counts, "pending": job.left}.items()],
        "rows": paginator.get_page(request.GET.get("page")),
    }


def _report(job: Job) -> Iterator[list[str]]:
    yield ["row", "result", "message", "ended", "tries"]
    for row in JobRow.objects.filter(job=job).order_by("pk").iterator(chunk_size=2_000):
        yield [row.object_id, row.state, row.message, row.ended_at.isoformat() if row.ended_at else "", str(row.tries)]
