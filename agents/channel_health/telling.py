"""What an agent's owner is told about a channel that is silent, which means that the agent hears nobody there.

A channel counts as silent when its pod has said so for two minutes. Then it is on the timeline and in `explain`, and
the owner gets a mail: one mail for each silence, and at most one in an hour. If a pod does not answer, nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from accounts import mail_choices
from agents import timeline
from agents.channel_health.models import REASON_LENGTH, ChannelState
from agents.configuring.channels import WEB
from agents.models import Agent, Desired, Reason, Status
from agents.pod.masking import mask_text
from config import outgoing_mail
from config.crypto import readable

ACTOR = "channels"
PERIOD = timedelta(minutes=1)
SILENT_AFTER = timedelta(minutes=2)
# After a longer time without a look, a silence that was not told yet starts again.
UNSEEN = timedelta(minutes=5)
MAIL_AGAIN = timedelta(hours=1)
NAMES = {"telegram": "Telegram", "discord": "Discord", "whatsapp": "WhatsApp", "email": "E-mail"}

# When the owner starts the agent again, the next silence is a new one. The time of the last mail is kept.
_OVER: dict[str, Any] = {"since": None, "reason": "", "told_at": None}

Said = Mapping[str, str | None]


def listens(agent: Agent) -> bool:
    """Whether the engine should be connected to channels. Without a model key it is not."""
    runs = agent.status == Status.RUNNING and agent.desired == Desired.RUNNING
    return runs and agent.llm_key_hash is not None and any(name != WEB for name in agent.channels)


@transaction.atomic
def note(asked: Agent, said: Said | None, *, now: datetime) -> None:
    """Record what the pod said (None: nothing) when it was asked with the configuration of `asked`, and tell the owner
    what follows.

    Running twice is harmless.
    """
    agent = readable(Agent.objects.select_related("user").lock(asked.pk))
    states = ChannelState.objects.filter(agent=agent)
    if not listens(agent):
        states.update(look_at=None, **({} if agent.desired == Desired.RUNNING and agent.llm_key_hash else _OVER))
        return
    states.exclude(channel__in=agent.channels).delete()
    is_current = asked.spec_revision == agent.spec_revision
    for state in states:
        state.look_at = now + PERIOD
        if said is not None and is_current and state.channel in said:
            _apply(state, agent, reason=said[state.channel], now=now)
        state.save()


def _apply(state: ChannelState, agent: Agent, *, reason: str | None, now: datetime) -> None:
    if state.heard_from_at is not None and now <= state.heard_from_at:
        return  # another worker has a later answer
    unseen = state.heard_from_at is None or now - state.heard_from_at > UNSEEN
    state.heard_from_at, state.revision = now, agent.spec_revision
    if reason is None:
        _hears(state, agent, now=now)
        return
    state.reason = _words(reason, agent)
    if state.since is None or (unseen and state.told_at is None):
        state.since = now
    if state.told_at is None and now - state.since >= SILENT_AFTER:
        state.told_at = now
        timeline.note(agent, f"{state.channel} is silent: {state.reason}", reason=Reason.CHANNEL, actor=ACTOR, now=now)
    if state.told_at is None:
        state.look_at = min(now + PERIOD, state.since + SILENT_AFTER)
    elif _may_be_mailed(state, agent, now=now):
        state.mailed_at = now
        _mail(state, agent)


def _hears(state: ChannelState, agent: Agent, *, now: datetime) -> None:
    if state.told_at is not None:
        timeline.note(agent, f"{state.channel} hears again", reason=Reason.CHANNEL, actor=ACTOR, now=now)
    for name, value in _OVER.items():
        setattr(state, name, value)


def _may_be_mailed(state: ChannelState, agent: Agent, *, now: datetime) -> bool:
    if not agent.user.is_active:
        return False
    if state.mailed_at is None or state.since is None:
        return state.since is not None
    return state.mailed_at < state.since and now - state.mailed_at >= MAIL_AGAIN


def _words(reason: str, agent: Agent) -> str:
    """The reason as one short line without the agent's secrets: the pod may be in a stranger's hands."""
    secrets = [
        *agent.channel_secrets.values(),
        *(agent.tool_secrets or {}).values(),
        agent.llm_key,
        agent.management_token,
    ]
    return outgoing_mail.one_line(mask_text(reason, [text for text in secrets if text]), at_most=REASON_LENGTH)


def _mail(state: ChannelState, agent: Agent) -> None:
    """Write to the owner. The mail does not repeat the pod's own words: an engine in a stranger's hands could write to
    its owner in our name."""
    mail = outgoing_mail.rendered(
        "channel_silent",
        lang=mail_choices.language(agent.user, otherwise=agent.lang),
        name=agent.name,
        channel=NAMES.get(state.channel, state.channel),
        since=state.since,
        agent_id=agent.pk,
    )
    outgoing_mail.write(agent.user_id, mail)
