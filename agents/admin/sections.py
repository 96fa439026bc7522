"""The sections of an agent's page: the newest rows of the lists about it. Each asks the database once or twice."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from accounts import letters
from accounts.models import User
from agents.backups.admin_steps import RestoreBackup
from agents.backups.models import Backup, Stage
from agents.clusters.models import Pod
from agents.models import Agent, Transition, UsageHour
from agents.watching import usage_curves, usage_hours
from config.admin_sections import ROWS, Cell, PageSection, everything, page_of, table
from config.admin_steps import address
from webhooks.models import Delivery

TIMELINE_ROWS = 20
EVIDENCE = 10
STEP = timedelta(hours=6)  # of the plot
LONGEST_NOTE = 200


def moment(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}" if at else "-"


def timeline(agent: Agent, request: HttpRequest) -> PageSection | None:
    if not request.user.has_perm("agents.view_transition"):
        return None
    rows = Transition.objects.filter(agent=agent).order_by("-at", "-id")[:TIMELINE_ROWS]
    return table(
        "timeline",
        "Timeline",
        ("When (UTC)", "From", "To", "Reason", "Who", "Note"),
        ((moment(row.at), row.from_status, row.to_status, row.reason, row.actor, _short(row.note)) for row in rows),
        links=(Cell("The whole timeline", everything("agents_transition", agent=agent.pk)),),
    )


def usage(agent: Agent, request: HttpRequest) -> PageSection | None:
    now = timezone.now()
    hours = usage_hours.of(agent, now=now)
    sentence = "Memory (line) and disk (dashes) in percent of the plan, of the last 30 days." if hours else ""
    drawing = _plot(hours, now=now) if hours else ""
    return PageSection(name="usage", title="Use of quota", sentence=sentence or "Not measured yet.", drawing=drawing)


def _plot(hours: list[UsageHour], *, now: datetime) -> SafeString:
    end = usage_curves.start(now, STEP) + STEP
    begin, steps = end - usage_hours.KEPT, usage_hours.KEPT // STEP
    shown = [one for one in hours if begin <= one.at < end]  # the clock of the measurements may be ahead of ours
    paths, words = [], []
    for name, of in (("memory", usage_curves.memory), ("disk", usage_curves.disk)):
        most = {(at - begin) // STEP: one for at, one in usage_curves.fullest(shown, of, STEP).items()}
        if most:
            paths.append((name, usage_curves.path(most)))
            words.append(f"{name}: highest {max(one.percent for one in most.values())} %")
    lines = format_html_join("", '<path class="{}" d="{}"></path>', paths)
    svg = '<svg class="usage-plot" viewBox="0 0 {} 100" role="img" aria-label="{}" preserveAspectRatio="none">{}</svg>'
    return format_html(svg + "<p>{}</p>", steps, ", ".join(words), lines, ", ".join(words))


def pod_events(agent: Agent, request: HttpRequest) -> PageSection | None:
    """What the observer has stored. No cluster is asked, so a cluster that hangs delays nothing."""
    if not request.user.has_perm("agents.view_pod"):
        return None
    pods = list(Pod.objects.filter(namespace__startswith=f"pod-{agent.suffix}-").select_related("cluster")[:ROWS])
    told = [(pod.namespace, _short(str(line))) for pod in pods for line in (pod.evidence or [])[:EVIDENCE]]
    told += [(agent.namespace, _short(str(line))) for line in (agent.cause_evidence or [])[:EVIDENCE]]
    states = [(pod.namespace, _state(pod)) for pod in pods]
    links = [Cell(pod.namespace, page_of("agents_pod", pod.pk)) for pod in pods]
    return table("pods", "Pod and its events", ("Pod", "Seen"), [*states, *told], links=tuple(links))


def _state(pod: Pod) -> str:
    gateway = "gateway answers" if pod.gateway_alive else "no gateway"
    why = f", {pod.cause}: {_short(pod.message or '')}" if pod.cause else ""
    return f"on {pod.cluster}: {pod.phase} since {moment(pod.since)}, {gateway}, {pod.restarts} restarts{why}"


def log(agent: Agent, request: HttpRequest) -> PageSection | None:
    part = reverse("admin:agents_agent_last_lines", args=[agent.pk])
    links = (Cell("All kept lines", reverse("admin:agents_agent_logs", args=[agent.pk])),)
    return PageSection(name="log", title="Last lines of the log", part=part, links=links)


def deliveries(agent: Agent, request: HttpRequest) -> PageSection | None:
    if not request.user.has_perm("webhooks.view_delivery"):
        return None
    rows = Delivery.objects.filter(agent=agent).select_related("event").defer("event__body").newest_first()[:ROWS]
    return table(
        "deliveries",
        "Deliveries",
        ("When (UTC)", "Event", "State", "Attempts", "Status", "Error"),
        (
            (
                moment(row.created_at),
                Cell(row.event.type, page_of("webhooks_delivery", row.pk)),
                row.state,
                row.attempts,
                row.http_status or "-",
                row.error or "-",
            )
            for row in rows
        ),
        links=(Cell("All deliveries", everything("webhooks_delivery", agent=agent.pk)),),
    )


def backups(agent: Agent, request: HttpRequest) -> PageSection | None:
    if not request.user.has_perm("agents.view_backup"):
        return None
    step, console = RestoreBackup(), admin.site.get_model_admin(Backup)
    may = step.allowed(console, request)

    def restore(row: Backup) -> Cell:
        if not may or row.stage != Stage.DONE:
            return Cell("-")
        return Cell("Restore", address(console, step, [row.pk], back=request.path))

    rows = Backup.objects.filter(agent=agent).defer("credential").order_by("-asked_at", "-id")[:ROWS]
    return table(
        "backups",
        "Backups",
        ("Asked for (UTC)", "Name", "Kind", "Stage", "MiB", "Note", "Repair"),
        (
            (moment(row.asked_at), row.name, row.kind, row.stage, row.size >> 20, _short(row.note), restore(row))
            for row in rows
        ),
        links=(Cell("All backups", everything("agents_backup", agent=agent.pk)),),
    )


def mails(agent: Agent, request: HttpRequest) -> PageSection | None:
    """The mails to the owner that name the agent, among the owner's newest."""
    if not request.user.has_perm("accounts.view_letter"):
        return None
    return table(
        "mails",
        "Mails to the owner about it",
        ("Written (UTC)", "Subject", "Sent (UTC)"),
        (
            (
                moment(row.written_at),
                Cell(row.subject, page_of("accounts_letter", row.pk)),
                moment(row.mailed_at),
            )
            for row in letters.newest(agent.user_id, naming=agent.pk, most=ROWS)
        ),
        links=(Cell("All mails to the owner", everything("accounts_letter", user=agent.user_id)),),
    )


def _short(text: str) -> str:
    return Truncator(text).chars(LONGEST_NOTE)


def of_person(user: User, request: HttpRequest) -> PageSection | None:
    """The newest agents of a person, on the person's page."""
    if not request.user.has_perm("agents.view_agent"):
        return None
    rows = Agent.objects.owned_by(user.pk).order_by("-created_at", "-id")
    shown = rows.only("pk", "name", "status", "desired", "engine", "tier", "paid", "entitled_until", "created_at")
    return table(
        "agents",
        "Agents",
        ("Made (UTC)", "Agent", "Status", "Wanted", "Engine", "Plan", "Paid", "May run until (UTC)"),
        (
            (
                moment(row.created_at),
                Cell(row.name or row.pk, page_of("agents_agent", row.pk)),
                row.status,
                row.desired,
                row.engine,
                row.tier,
                "yes" if row.paid else "no",
                moment(row.entitled_until) if row.entitled_until else "no end",
            )
            for row in shown[:ROWS]
        ),
        links=(Cell("All agents", everything("agents_agent", user=user.pk)),),
    )


SECTIONS: list[Any] = [timeline, usage, pod_events, log, deliveries, backups, mails]
