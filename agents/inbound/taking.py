"""Takes messages from a service. When these functions return, the message is committed, and the service may forget
it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max

from agents.errors import NoSuchAgent
from agents.inbound import whatsapp
from agents.inbound.models import InboundMessage
from agents.inbound.whatsapp import WhatsappMessage
from agents.models import Agent, Desired
from config import background
from config.errors import Unavailable
from config.ids import is_id

TASK = "agents.hand_over_messages"
WAITING_AT_MOST = 1_000  # messages of one agent
BYTES_AT_MOST = 64 * 1024  # of one message
FULL_SECONDS = 60
KEPT = timedelta(days=8)  # Meta may send a message again for up to seven days


def verify_whatsapp(agent_id: str, asked: Mapping[str, str]) -> str:
    """Answer Meta's handshake with its challenge. Raises NoSuchAgent, NotMeta, BadRequest."""
    return whatsapp.challenge(_with_channel(agent_id).channel_secrets, asked)


def take_whatsapp(agent_id: str, body: bytes, *, signature: str, now: datetime) -> None:
    """Store the messages of one call from Meta. Raises NoSuchAgent, NotMeta, BadRequest, and Unavailable when too many
    wait."""
    agent = _with_channel(agent_id)
    _keep(agent, whatsapp.messages(body, signature, secrets=agent.channel_secrets), now=now)


def _with_channel(agent_id: str) -> Agent:
    """The agent. Raises NoSuchAgent also for an agent without this channel."""
    agent = Agent.objects.live().filter(pk=agent_id).first() if is_id("agt", agent_id) else None
    if agent is None or whatsapp.CHANNEL not in agent.channels:
        raise NoSuchAgent
    return agent


@transaction.atomic
def _keep(agent: Agent, messages: Sequence[WhatsappMessage], *, now: datetime) -> None:
    fitting = [message for message in messages if len(message.body.encode()) <= BYTES_AT_MOST]
    if not fitting:
        return
    agent = Agent.objects.only("id", "desired").lock(agent.pk)
    if agent.desired == Desired.DELETED:
        raise NoSuchAgent
    waiting = InboundMessage.objects.filter(agent=agent, due_at__isnull=False)
    if waiting.count() + len(fitting) > WAITING_AT_MOST:
        raise Unavailable("too many messages wait for this agent: send it again later", retry_after=FULL_SECONDS)
    # The new messages are due after those that wait: a person's second message must not be read before the first.
    due = waiting.aggregate(last=Max("due_at"))["last"] or now
    rows = [
        InboundMessage(
            agent=agent, channel=whatsapp.CHANNEL, name=message.name, body=message.body, received_at=now, due_at=due
        )
        for message in fitting
    ]
    InboundMessage.objects.bulk_create(rows, ignore_conflicts=True)
    background.on_commit(TASK)


def purge(*, now: datetime) -> None:
    InboundMessage.objects.filter(ended_at__lt=now - KEPT).delete()
