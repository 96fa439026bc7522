"""Creating an agent: all checks in their order, then one transaction."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast

from django.db import transaction
from django.db.models import ForeignObjectRel
from django.utils import timezone

from accounts import mailbox
from accounts.errors import AccountSuspended
from accounts.models import User
from agents import entitlement, slugs
from agents.configuring import a2a, channels, llm_key, profile, tools, vendors
from agents.domains import check, claims, names
from agents.domains.records import DnsAnswers
from agents.errors import CreatesClosed
from agents.models import Agent
from agents.running import lifecycle
from catalog.engines import check_tier, known_engine
from catalog.llm_models import known_model
from catalog.models import Engine
from catalog.personas import current_soul, public_persona
from catalog.tiers import known_tier
from catalog.vocabulary import DEFAULT_ENGINE
from config import dry_run, waiting
from config.errors import BadRequest
from config.ids import new_id
from config.operator_settings import operator_settings
from webhooks import addresses, hooks

DASH_USERNAME = "owner"
DASH_PASSWORD_BYTES = 18
TOKEN_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAgent:
    """The fields that a caller may give when creating an agent, with the API's defaults."""

    persona_id: str
    tier: str
    engine: str = DEFAULT_ENGINE.value
    name: str | None = None
    channels: list[str] = field(default_factory=lambda: [channels.WEB])
    channel_secrets: dict[str, str] = field(default_factory=dict, repr=False)
    lang: str = "en"
    timezone: str | None = None
    domain: str | None = None
    domain_seen: DnsAnswers | None = field(default=None, repr=False)  # comes from DNS, not from the caller
    tools: dict[str, Any] | None = field(default=None, repr=False)
    llm_provider: str | None = None
    llm_key: str | None = field(default=None, repr=False)
    llm_key_checked: bool = False  # comes from the provider, not from the caller
    model: str | None = None
    extra_soul: str | None = None
    a2a: dict[str, Any] | None = field(default=None, repr=False)
    webhook_url: str | None = None


def values_of(body: dict[str, Any]) -> dict[str, Any]:
    """Turn a validated request body into NewAgent's fields. Aliases are resolved; a null field gets its default."""
    given = {name: value for name, value in body.items() if value is not None}
    alias = {"telegram_token": given.pop("telegram_token")} if "telegram_token" in given else {}
    given_secrets = channels.given(given.pop("channel_secrets", {}), **alias)
    if given.get("tools"):
        keys = tools.given(given["tools"].get("secrets"), prefix="tools.")
        given["tools"] = {**given["tools"], "secrets": channels.merged({}, keys)}
    return profile.checked(given) | {"channel_secrets": channels.merged({}, given_secrets)}


def checked(user: User, wanted: NewAgent) -> NewAgent:
    """Check a new agent. Returns it with domain and webhook URL as they are stored.

    Makes network calls: call it outside a transaction. Raises BadRequest naming the field, DomainTaken,
    FreePodCapReached, TrialsUsedUp, CreatesClosed, NoFreePlaceLeft.
    """
    engine = known_engine(wanted.engine)
    _check_values(wanted, engine)
    domain = names.normalised(wanted.domain) if wanted.domain is not None else None
    webhook_url = None
    if wanted.webhook_url is not None:
        webhook_url = addresses.checked(wanted.webhook_url, field="webhookUrl", account=user.id)
    _check_rules(engine, wanted, domain)
    seen = _seen(user, domain) if domain is not None else None
    _refuse_early(user, wanted)
    if not operator_settings.CREATES_OPEN:
        raise CreatesClosed
    entitlement.refuse_full_platform()
    if wanted.llm_key and not dry_run.skips("llmKey (its provider)"):
        with waiting.looks.take(user.id):
            checked = vendors.check_key(_provider_of(wanted), wanted.llm_key, name="llmKey")
        wanted = replace(wanted, llm_key_checked=checked)
    return replace(wanted, domain=domain, domain_seen=seen, webhook_url=webhook_url)


@transaction.atomic
def create(user: User, wanted: NewAgent, *, actor: str) -> tuple[Agent, str | None]:
    """Create a checked agent and start its provisioning. Returns it with its webhook secret (None without a webhook),
    which is not shown again.

    Raises FreePodCapReached, TrialsUsedUp, NoFreePlaceLeft and DomainTaken again: of two creates at the same time, only
    one can get the last place or the name. Raises AccountSuspended when the account was suspended in the meantime.
    """
    now = timezone.now()
    entitlement.hold_free_place(user, now=now)
    persona = public_persona(wanted.persona_id)
    soul = current_soul(persona.id) or persona.soul
    agent = _row(user, wanted, name=wanted.name or persona.name, soul=soul, now=now)
    _insert(agent)
    if wanted.domain is not None and wanted.domain_seen is not None:
        claims.claim(agent, wanted.domain, seen=wanted.domain_seen, actor=actor)
        agent.refresh_from_db(fields=["domain", "domain_ready_at", "spec_revision"])
    secret = hooks.install(agent, url=wanted.webhook_url, now=now)[1] if wanted.webhook_url is not None else None
    lifecycle.begin(agent, actor=actor, now=now)
    return agent, secret


@transaction.atomic
def create_again(deleted: Agent, *, restores: str, actor: str, note: str) -> Agent:
    """Create an agent like a deleted one. Its first pod starts with the backup `restores`. The old secrets are gone.

    Only operators do this, so neither caps nor used-up trials stop it. Raises AccountSuspended.
    """
    now = timezone.now()
    user = User.objects.select_for_update(no_key=True).get(pk=deleted.user_id)
    if not user.is_active:
        raise AccountSuspended
    wanted = NewAgent(
        persona_id=deleted.persona_id,
        tier=deleted.tier,
        engine=deleted.engine,
        channels=[name for name in deleted.channels if name not in channels.SECRETS] or [channels.WEB],
        lang=deleted.lang,
        timezone=deleted.timezone,
        tools={"enabled": deleted.tools_enabled, "mcp_servers": []} if deleted.tools_enabled is not None else None,
        extra_soul=deleted.extra_soul,
    )
    agent = _row(user, wanted, name=deleted.name, soul=deleted.soul, now=now)
    agent.restores = restores
    _insert(agent)
    lifecycle.begin(agent, actor=actor, now=now, note=note)
    return agent


def _insert(agent: Agent) -> None:
    """Insert the row. A new agent cannot have these relations yet; noting that here saves a query for each."""
    agent.save(force_insert=True)
    for later in ("hook", "quota_snapshot"):
        relation = cast("ForeignObjectRel", Agent._meta.get_field(later))  # noqa: SLF001 # as select_related does
        relation.set_cached_value(agent, None)


def _check_values(wanted: NewAgent, engine: Engine) -> None:
    """Check each field alone and against the engine. Raises for the first wrong field."""
    public_persona(wanted.persona_id)
    known_tier(wanted.tier)
    channels.check(wanted.channels, secrets=wanted.channel_secrets, engine_id=engine.id)
    if wanted.tools is not None:
        chosen, keys = wanted.tools["enabled"], wanted.tools.get("secrets", {})
        tools.check(chosen, wanted.tools["mcp_servers"], secrets=keys, engine_id=engine.id, prefix="tools.")
    a2a.check(wanted.a2a)
    if wanted.a2a and not wanted.a2a["enabled"] and a2a.TOOLSET in (wanted.tools or {}).get("enabled", []):
        raise BadRequest("a2a.enabled: false contradicts the toolset 'a2a' in tools.enabled")
    _check_key(wanted, engine)


def _check_key(wanted: NewAgent, engine: Engine) -> None:
    if wanted.model is not None:
        llm_key.check_model(engine, provider=wanted.llm_provider, model=wanted.model)
    if wanted.llm_key is None:
        if wanted.llm_provider is not None:
            raise BadRequest("llmKey: needed with llmProvider")
        return
    llm_key.check(engine, provider=_provider_of(wanted), key=wanted.llm_key, model=wanted.model, field="llmProvider")


def _provider_of(wanted: NewAgent) -> str:
    """The key's provider: the given one, else the model's."""
    if wanted.llm_provider is not None:
        return wanted.llm_provider
    if wanted.model is None:
        raise BadRequest("llmProvider: needed with llmKey; GET /llm-providers lists them")
    return known_model(wanted.model).provider


def _check_rules(engine: Engine, wanted: NewAgent, domain: str | None) -> None:
    """Check the platform's rules for these values together."""
    check_tier(engine, known_tier(wanted.tier))
    entitlement.refuse_above_trial(known_tier(wanted.tier))
    if engine.requires_domain and domain is None:
        raise BadRequest(
            f"domain: is missing, and {engine.label} needs one: a name of yours, such as agent.example.com;"
            " GET /engines tells which engines do"
        )


def _refuse_early(user: User, wanted: NewAgent) -> None:
    """Raise FreePodCapReached or TrialsUsedUp before the platform's own refusals, and before a provider sees the key.

    Without those, `create` alone asks: its locks make the answer final.
    """
    if wanted.llm_key or operator_settings.MAX_FREE_AGENTS_TOTAL or not operator_settings.CREATES_OPEN:
        entitlement.refuse_full(user, now=timezone.now())


def _seen(user: User, domain: str) -> DnsAnswers:
    """What DNS says of the name. Raises what claiming the name would raise now."""
    seen = check.look(user.pk, domain)
    claims.refuse(user, domain, seen=seen, now=timezone.now())
    return seen


def _row(user: User, wanted: NewAgent, *, name: str, soul: str, now: datetime) -> Agent:
    agent_id = new_id("agt")
    agent = Agent(
        id=agent_id,
        user=user,
        persona_id=wanted.persona_id,
        name=name,
        tier=wanted.tier,
        engine=wanted.engine,
        channels=wanted.channels,
        channel_secrets=wanted.channel_secrets,
        lang=wanted.lang,
        timezone=wanted.timezone,
        soul=soul,
        extra_soul=wanted.extra_soul,
        model=wanted.model,
        created_at=now,
        status_since=now,
        deadline_at=now + lifecycle.PROVISIONING_DEADLINE,
        reconcile_at=now,
        inbox=mailbox.inbox(user.email),
        trial_ends_at=entitlement.trial_end(now),
        entitled_until=entitlement.trial_end(now),
        term_due_at=entitlement.first_notice(now),
        slug=slugs.mint(name),
        suffix=agent_id.removeprefix("agt_"),
        management_token=secrets.token_urlsafe(TOKEN_BYTES),
        ticket_key=secrets.token_urlsafe(TOKEN_BYTES),
        engine_key=secrets.token_urlsafe(TOKEN_BYTES),
    )
    _configure(agent, wanted)
    return agent


def _configure(agent: Agent, wanted: NewAgent) -> None:
    """Set the login of the engine's page, the tools, A2A and the key. The same rules also change them later."""
    if known_engine(wanted.engine).dash_credentials:
        agent.dash_username, agent.dash_password = DASH_USERNAME, secrets.token_urlsafe(DASH_PASSWORD_BYTES)
    if wanted.tools is not None:
        agent.tools_enabled, agent.mcp_servers = wanted.tools["enabled"], wanted.tools["mcp_servers"]
        agent.tool_secrets = wanted.tools.get("secrets") or None
        a2a.switch(agent, on=a2a.TOOLSET in wanted.tools["enabled"])
    if wanted.a2a is not None:
        a2a.apply(agent, wanted.a2a)
    if wanted.llm_key:
        checked = wanted.llm_key_checked
        llm_key.put(agent, provider=_provider_of(wanted), key=wanted.llm_key, model=wanted.model, checked=checked)
