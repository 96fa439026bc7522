"""The plain settings of an agent: name, language, time zone, the owner's extra soul, and the tier while the agent is
free."""

from __future__ import annotations

import functools
import zoneinfo
from typing import Any

from django.db import transaction
from django.utils import timezone

from agents import entitlement
from agents.configuring import configuration
from agents.models import Agent
from agents.watching import quota
from catalog.engines import check_tier, engine_of
from catalog.tiers import known_tier, tier_of
from config.errors import BadRequest, Conflict

MAX_NAME_CHARACTERS = 80
MAX_EXTRA_SOUL_CHARACTERS = 4_000
LANGS = ("en", "ru")


@functools.cache
def _zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


def check_name(name: str) -> str:
    """Return the name without surrounding space. Raises BadRequest unless it has 1 to 80 characters and no control
    character."""
    trimmed = name.strip()
    if not 1 <= len(trimmed) <= MAX_NAME_CHARACTERS or not trimmed.isprintable():
        raise BadRequest(f"name: must be 1 to {MAX_NAME_CHARACTERS} characters without control characters")
    return trimmed


def check_timezone(name: str) -> str:
    """Return the name of an IANA zone. Raises BadRequest for any other text."""
    if name not in _zones():
        raise BadRequest(f"timezone: {name!r} is not an IANA zone name such as Europe/Berlin")
    return name


def check_extra_soul(text: str) -> str:
    """Return the owner's addition to the soul. Raises BadRequest when it is longer than engines read, or has a NUL
    character, which no column can hold."""
    if len(text) > MAX_EXTRA_SOUL_CHARACTERS:
        raise BadRequest(f"extraSoul: {len(text)} characters; at most {MAX_EXTRA_SOUL_CHARACTERS}")
    if "\0" in text:
        raise BadRequest("extraSoul: text may not contain NUL")
    return text


CHECKS = {"name": check_name, "timezone": check_timezone, "extra_soul": check_extra_soul}


def checked(values: dict[str, Any]) -> dict[str, Any]:
    """Check the plain settings among these values and return all values. None clears a setting and needs no check."""
    return {
        name: CHECKS[name](value) if name in CHECKS and value is not None else value for name, value in values.items()
    }


@transaction.atomic
def change(agent: Agent, **changes: Any) -> Agent:
    """Change the named settings. If nothing changes, the revision stays."""
    changes = checked(changes)
    agent = configuration.locked(agent)
    if "tier" in changes and changes["tier"] != agent.tier:
        _prepare_tier(agent, changes["tier"])
    fields = [name for name, value in changes.items() if getattr(agent, name) != value]
    for name in fields:
        setattr(agent, name, changes[name])
    return configuration.save(agent, fields=fields) if fields else agent


@transaction.atomic
def follow_payment(agent: Agent, tier_id: str) -> Agent:
    """Give the agent the tier that was paid for, whatever it had before. The caller holds its lock."""
    if agent.tier == tier_id:
        return agent
    if quota.is_larger(tier_of(tier_id), than=tier_of(agent.tier)):
        quota.start_afresh(agent, actor=quota.ACTOR, now=timezone.now())
    agent.tier = tier_id
    return configuration.save(agent, fields=["tier"])


def _prepare_tier(agent: Agent, tier_id: str) -> None:
    tier = known_tier(tier_id)
    check_tier(engine_of(agent.engine), tier)
    if agent.paid:
        raise Conflict("tier: this agent is paid for; buy a subscription with the other tier (POST /subscriptions)")
    if quota.is_larger(tier, than=tier_of(agent.tier)):
        now = timezone.now()
        entitlement.refuse_larger(agent, tier, now=now)
        quota.start_afresh(agent, actor=quota.ACTOR, now=now)
