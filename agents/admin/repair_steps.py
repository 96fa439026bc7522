"""Steps of an agent's own page that take nothing away: restart its engine, send events again, test."""

from __future__ import annotations

from django.db.models import QuerySet

from agents import timeline
from agents.admin.steps import AgentStep
from agents.models import Agent, Desired, Reason, Status
from agents.running import engine_restart
from agents.talking import talk_test
from config.admin_steps import Given, Logged
from config.errors import Conflict
from webhooks import deliveries, delivery_log

MOST_RESENT = 50
LONGEST_WORDS = 1_000  # of a talk test: the agent's own programs write them


class RestartEngine(AgentStep):
    name, title, button, done = "restart_engine", "Restart the engine", "Restart engine", "Engine restarted"
    permission = "pause"
    alone = True
    in_transaction = False  # the pod is asked during the step
    warnings = (
        "The engine's processes end and start again in the same pod. Answers that are being written fail. Conversations"
        " and data stay.",
        "Downtime: as long as the engine takes to start, for most engines some seconds.",
    )

    def among(self, chosen: QuerySet[Agent]) -> QuerySet[Agent]:
        return chosen.filter(status=Status.RUNNING, desired=Desired.RUNNING)

    def take(self, row: Agent, *, given: Given) -> Logged | None:
        engine_restart.restart(row, actor=given.actor, why=given.reason, now=given.now)
        return None


class ResendEvents(AgentStep):
    name, title, button, done = "resend_events", "Send failed events again", "Send events again", "Sent again"
    permission = "resend"
    alone = True
    warnings = (
        f"The newest deliveries that failed, at most {MOST_RESENT}, are sent to the webhook that the agent has now,"
        " with the same ids and bytes. The receiver may have seen some of them already.",
    )

    def among(self, chosen: QuerySet[Agent]) -> QuerySet[Agent]:
        return chosen.filter(hook__isnull=False)

    def means(self, rows: list[Agent]) -> list[str]:
        found = [(row, len(delivery_log.failed(row, most=MOST_RESENT))) for row in rows]
        return [f"{row.pk}: {count} deliveries failed." for row, count in found]

    def take(self, row: Agent, *, given: Given) -> Logged | None:
        failed = delivery_log.failed(row, most=MOST_RESENT)
        if not failed:
            raise NothingFailed
        for delivery in failed:
            deliveries.resend(delivery, actor=given.actor, now=given.now)
        words = f"{len(failed)} failed deliveries are sent again: {given.reason}"
        timeline.note(row, words, reason=Reason.OPERATOR, actor=given.actor, now=given.now)
        given.say(f"{len(failed)} deliveries are sent again.")
        return None


class NothingFailed(Conflict):
    message = "no delivery of the last days has failed"


class TalkTestAgent(AgentStep):
    name, title, button, done = "talk_test_agent", "Talk test", "Talk test", "Tested"
    permission = "test"
    alone = True
    in_transaction = False  # the pod is asked during the step
    warnings = (
        "One word goes through each hop: gateway, engine, model and channels. It takes up to a minute and a half.",
        "The owner's model key pays for one short answer. People in conversations notice nothing.",
    )

    def among(self, chosen: QuerySet[Agent]) -> QuerySet[Agent]:
        return chosen.exclude(desired__in=[Desired.DELETED, Desired.STOPPED])

    def take(self, row: Agent, *, given: Given) -> Logged | None:
        found = talk_test.run(row)
        words = ", ".join(f"{hop.hop}: {hop.error or 'ok'}" for hop in found.hops)[:LONGEST_WORDS]
        note = f"talk test: {words} ({given.reason})"
        timeline.note(row, note, reason=Reason.OPERATOR, actor=given.actor, now=given.now)
        given.say(words)
        return [(row, f"{given.reason}: {words}")]
