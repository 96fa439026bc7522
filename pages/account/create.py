"""/create and /create/key: create an agent from a persona. First choose plan and engine, then enter the model key."""

from __future__ import annotations

import re
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import Any
from urllib.parse import urlencode

from django.db import transaction
from django.http import HttpResponseBase
from rest_framework.request import Request

from accounts import replies
from accounts.authentication import caller
from agents import creation, entitlement
from agents.configuring.profile import LANGS, MAX_NAME_CHARACTERS
from agents.creation import NewAgent
from agents.errors import AboveTrialTier
from catalog import engines, llm_providers, personas, tiers
from catalog.models import Engine, Persona, Tier
from catalog.vocabulary import DEFAULT_ENGINE
from config import clock
from config.crypto import sha256
from config.errors import BadRequest, ServiceError
from pages.account.agents import agent_refusals, model_providers
from pages.account.agents.domain import hostname
from pages.account.base import AccountPageViewSet
from pages.account.names import plan_name
from pages.frame import stamped
from pages.languages import address
from pages.public.reading import read
from pages.words import machine, translated, usd

CREATE, KEY = "/create", "/create/key"
_ONCE = re.compile(r"[A-Za-z0-9_-]{16,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChoice:
    """The choice from the URL. Defaults: the persona's plan and the default engine."""

    persona: Persona
    tier: Tier
    engine: Engine

    @property
    def query(self) -> str:
        return urlencode({"persona": self.persona.pk, "tier": self.tier.pk, "engine": self.engine.pk})


class ChoicePage(AccountPageViewSet):
    """Common parts of both pages."""

    def choice(self) -> AgentChoice:
        """Read the choice from the URL. Raises UnknownPersona, UnknownTier, UnknownEngine."""
        persona = personas.public_persona(self.sent.GET.get("persona", ""))
        asked = self.sent.GET.get("tier")
        engine_id = self.sent.GET.get("engine") or DEFAULT_ENGINE
        return AgentChoice(
            persona=persona,
            tier=tiers.known_tier(asked) if asked else _smallest(persona),
            engine=engines.known_engine(engine_id),
        )

    def choosing(self, choice: AgentChoice, *, problem: str = "", status: int = 200) -> HttpResponseBase:
        context = {
            "choice": choice,
            "persona": read(choice.persona, self.language),
            "plans": [plan_option(tier, chosen=choice.tier.pk) for tier in tiers.offered() if _is_free(tier)],
            "engines": [_engine(engine, choice) for engine in engines.offered()],
            "trial": tiers.trial(),
            "problem": problem,
            "options_sheet": stamped("billing/renew.css"),
        }
        return self.page("create.html", context, status=status)


class CreatePage(ChoicePage):
    """Anybody may choose. The next page asks for the sign-in."""

    permission_classes = ()

    def back(self) -> str:
        return self.sent.get_full_path()

    def retrieve(self, request: Request) -> HttpResponseBase:
        if not self.sent.GET.get("persona"):
            return self.go(f"{address('', self.language)}#personas")
        return self.choosing(self.choice())


class CreateKeyPage(ChoicePage):
    def back(self) -> str:
        """The URL of this page, also after a form: it contains the choice."""
        return self.sent.get_full_path()

    def retrieve(self, request: Request) -> HttpResponseBase:
        choice = self.choice()
        try:
            _check(choice)
        except ServiceError as refusal:
            return self.choosing(choice, problem=agent_refusals.text(refusal, choice.engine), status=refusal.status)
        return self._asking(choice)

    def create(self, request: Request) -> HttpResponseBase:
        choice = self.choice()
        try:
            agent_id = self._made(choice, self._wanted(choice))
        except replies.OtherBody as refusal:  # a person who goes back and changes something wants another agent
            text = agent_refusals.text(refusal, choice.engine)
            return self._asking(choice, problem=text, status=refusal.status, once=token_urlsafe(16))
        except ServiceError as refusal:
            return self._asking(choice, problem=agent_refusals.text(refusal, choice.engine), status=refusal.status)
        return self.go(f"/account/agents/{agent_id}")

    def _asking(self, choice: AgentChoice, *, problem: str = "", status: int = 200, once: str = "") -> HttpResponseBase:
        """Show the form. The key is not shown again; the other fields are."""
        persona = read(choice.persona, self.language)
        context = {
            "choice": choice,
            "persona": persona,
            "plan": plan_name(choice.tier.pk),
            "name": self.typed("name") or persona.name,
            "longest": MAX_NAME_CHARACTERS,
            "domain": self.typed("domain"),
            "chosen": self.typed("provider"),
            "providers": llm_providers.offered(choice.engine),
            "once": once or self.typed("once") or token_urlsafe(16),
            "problem": problem,
            "keys_at": model_providers.keys_at(choice.engine),
        }
        return self.page("create_key.html", context, status=status)

    def _wanted(self, choice: AgentChoice) -> NewAgent:
        key = self.typed("key").strip()
        given: dict[str, Any] = {
            "persona_id": choice.persona.pk,
            "tier": choice.tier.pk,
            "engine": choice.engine.pk,
            "name": " ".join(self.typed("name").split()) or None,
            "domain": hostname(self.typed("domain")) or None,
            "lang": self.language.code if self.language.code in LANGS else "en",
            "llm_key": key or None,
            "llm_provider": (self.typed("provider") or None) if key else None,
        }
        return NewAgent(**creation.values_of(given))

    def _made(self, choice: AgentChoice, wanted: NewAgent) -> str:
        """Create the agent and return its id. If the same form is sent again, no second agent is created."""
        once = self.typed("once")
        if _ONCE.fullmatch(once) is None:
            raise BadRequest("once: missing from the form")
        user, now = caller(self.request), clock.now()
        fingerprint = sha256(repr([choice.query, wanted.name, wanted.domain]))
        kept = replies.reserve(user, method="POST", path=KEY, key=once, fingerprint=fingerprint, now=now)
        if kept.status is not None:
            return str(kept.reply["agent"])
        try:
            checked = creation.checked(user, wanted)
            with transaction.atomic():
                agent, _ = creation.create(user, checked, actor=f"user:{user.pk}")
                replies.keep(kept, status=200, reply={"agent": agent.pk})
        except BaseException:
            replies.release(kept)
            raise
        return str(agent.pk)


def _check(choice: AgentChoice) -> None:
    """Check plan and engine with the rules of creation, before the person enters more."""
    engines.check_tier(choice.engine, choice.tier)
    entitlement.refuse_above_trial(choice.tier)


def _is_free(tier: Tier) -> bool:
    """Whether an agent can start with this plan unpaid. Larger plans must be paid for."""
    try:
        entitlement.refuse_above_trial(tier)
    except AboveTrialTier:
        return False
    return True


def _smallest(persona: Persona) -> Tier:
    """The persona's plan or the next larger one that is free to start with; if there is none, the largest free one."""
    free = [tier for tier in tiers.offered() if _is_free(tier)]
    wanted = tiers.tier_of(persona.tier)
    return next((tier for tier in free if tier.rank >= wanted.rank), (free or tiers.offered())[-1])


def plan_option(tier: Tier, *, chosen: str) -> dict[str, Any]:
    return {
        "id": tier.pk,
        "name": plan_name(tier.pk),
        "price": usd(tier.monthly_usd),
        "machine": machine(tier),
        "chosen": tier.pk == chosen,
    }


def _engine(engine: Engine, choice: AgentChoice) -> dict[str, Any]:
    return {
        "id": engine.pk,
        "label": engine.label,
        "about": translated(engine.description),
        "smallest": plan_name(engine.min_tier),
        "chosen": engine.pk == choice.engine.pk,
    }
