"""What an agent's owner is told of a channel on which nobody hears people.

A channel is silent once its pod has said so for two minutes: then it is on the timeline and in `explain`, and a mail
goes to the owner. One mail for a silence, and none within an hour after another. A pod that says nothing leaves all as
it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from accounts import mail_choices
from agents.channels import WEB
from agents.models import Agent, Desired, Reason, Status, Transition
from agents.pod.masking import mask_text
from agents.silences.models import REASON_LENGTH, ChannelState
from config import post
from config.crypto import readable

ACTOR = "channels"
PERIOD = timedelta(minutes=1)
SILENT_AFTER = timedelta(minutes=2)
# A silence that nobody looked at for longer is not known to be one.
UNSEEN = timedelta(minutes=5)
MAIL_AGAIN = timedelta(hours=1)
NAMES = {"telegram": "Telegram", "discord": "Discord", "whatsapp": "WhatsApp", "email": "E-mail"}

# Another silence begins when its owner has it run again. When the owner was last written to is kept.
_OVER: dict[str, Any] = {"since": None, "reason": "", "told_at": None}

Said = Mapping[str, str | None]


def listens(agent: Agent) -> bool:
    """Whether its engine should be connected to channels: without a model key it is not."""
    runs = agent.status == Status.RUNNING and agent.desired == Desired.RUNNING
    return runs and agent.llm_key_hash is not None and any(name != WEB for name in agent.channels)


@transaction.atomic
def note(asked: Agent, said: Said | None, *, now: datetime) -> None:
    """Write down what the pod said (None: nothing) when it was asked as this agent, and tell what follows from it.

    Twice is harmless.
    """
    locked = Agent.objects.select_for_update(no_key=True, of=("self",)).select_related("user")
    agent = readable(locked.get(pk=asked.pk))
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
        return  # another worker was told later
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
        _on_timeline(agent, f"{state.channel} is silent: {state.reason}", now=now)
    if state.told_at is None:
        state.look_at = min(now + PERIOD, state.since + SILENT_AFTER)
    elif _may_be_mailed(state, agent, now=now):
        state.mailed_at = now
        _mail(state, agent)


def _hears(state: ChannelState, agent: Agent, *, now: datetime) -> None:
    if state.told_at is not None:
        _on_timeline(agent, f"{state.channel} hears again", now=now)
    for name, value in _OVER.items():
        setattr(state, name, value)


def _may_be_mailed(state: ChannelState, agent: Agent, *, now: datetime) -> bool:
    if not agent.user.is_active:
        return False
    if state.mailed_at is None or state.since is None:
        return state.since is not None
    return state.mailed_at < state.since and now - state.mailed_at >= MAIL_AGAIN


def _words(reason: str, agent: Agent) -> str:
    """The pod may be anybody's: no secret of the agent, one line, and no more of it than is read."""
    secrets = [
        *agent.channel_secrets.values(),
        *(agent.tool_secrets or {}).values(),
        agent.llm_key,
        agent.management_token,
    ]
    return post.one_line(mask_text(reason, [text for text in secrets if text]), at_most=REASON_LENGTH)


def _on_timeline(agent: Agent, words: str, *, now: datetime) -> None:
    """The agent's status stays."""
    Transition.objects.create(
        agent=agent,
        from_status=agent.status,
        to_status=agent.status,
        reason=Reason.CHANNEL,
        actor=ACTOR,
        note=words,
        at=now,
    )


def _mail(state: ChannelState, agent: Agent) -> None:
    """Without the pod's own words: an engine that was taken over would write to its owner in our name."""
    mail = post.rendered(
        "channel_silent",
        lang=mail_choices.language(agent.user, otherwise=agent.lang),
        name=agent.name,
        channel=NAMES.get(state.channel, state.channel),
        since=state.since,
        agent_id=agent.pk,
    )
    post.write(agent.user_id, mail)
