"""What a pod is given, made from the agent's row: a pure mapping, so that a test can read it."""

from __future__ import annotations

from typing import Any, Protocol
from urllib.parse import urlsplit

from django.conf import settings

from agents.configuring import a2a
from agents.egress import told
from agents.engines.providers import base_url_of, is_own_server
from agents.models import AccountSpending, Agent, Spending
from agents.pod.gateway.spending.limits import Spent
from agents.runtimes.base import Access, Identity, Limits, PodConfig, PodSecrets, PodSpec
from agents.spending.narrowing import AccountState, narrowed
from catalog import engines, llm_models, personas, tiers, tools


def spec_of(agent: Agent) -> PodSpec:
    """The complete specification of the pod at the agent's current revision."""
    tier = tiers.tier_of(agent.tier)
    return PodSpec(
        namespace=agent.namespace,
        agent_id=agent.id,
        engine=agent.engine,
        slug=agent.slug,
        tier=agent.tier,
        limits=Limits(memory_bytes=tier.memory_bytes, disk_bytes=tier.disk_bytes, cpu=tier.cpu),
        config=config_of(agent),
        secrets=secrets_of(agent),
        identity=Identity(key=agent.gateway_key, certificate=agent.gateway_certificate),
        public_url=public_url(agent),
        console_url=settings.BASE_URL,
        domain=agent.domain if agent.domain_ready_at else None,
        data_expected=agent.data_expected,
        restore=restore_of(agent),
        egress_limited=told.is_limited(agent),
    )


def config_of(agent: Agent) -> PodConfig:
    """The configuration that the engine needs."""
    toolsets = [name for name in agent.tools_enabled or [] if name != a2a.TOOLSET]  # the gateway has that one
    return PodConfig(
        revision=agent.spec_revision,
        soul=agent.soul,
        extra_soul=agent.extra_soul,
        lang=agent.lang,
        timezone=agent.timezone,
        name=agent.name,
        provider=agent.llm_provider,
        model=_model_name(agent),
        toolsets=tools.effective(toolsets, engines.engine_of(agent.engine)),
        mcp_servers=agent.mcp_servers,
        channels=agent.channels,
        channel_secrets=agent.channel_secrets,
        a2a_enabled=agent.a2a_enabled,
        has_peers=bool(_peers(agent)),
        dashboard=bool(agent.dash_username and agent.dash_password),
        has_key=bool(agent.llm_key),
        own_model_server=is_own_server(agent.llm_provider, settings.LLM_BASE_URLS) if agent.llm_provider else False,
        telegram_api_url=settings.TELEGRAM_API_URL,
        discord_api_url=settings.DISCORD_API_URL,
        whatsapp_api_url=settings.WHATSAPP_API_URL,
        public_url=f"https://{agent.domain}" if agent.domain and agent.domain_ready_at else public_url(agent),
        egress_authority=told.authority_of(agent),
        egress_limited=bool(told.is_limited(agent)),
    )


def secrets_of(agent: Agent) -> PodSecrets:
    """The secrets that only the gateway may hold."""
    return PodSecrets(
        management_token=agent.management_token,
        ticket_key=agent.ticket_key,
        llm_key=agent.llm_key,
        llm_base_url=base_url_of(agent.llm_provider, settings.LLM_BASE_URLS) if agent.llm_provider else None,
        dash_username=agent.dash_username,
        dash_password=agent.dash_password,
        a2a_token=agent.a2a_token if agent.a2a_enabled else None,
        a2a_peers=_peers(agent),
        peer_networks=[str(network) for network in (*settings.PEER_ALLOWED_CIDRS, *settings.POD_EGRESS_CIDRS)],
        tool_keys=agent.tool_secrets or {},
        tool_urls=settings.TOOL_SERVICE_URLS if agent.tool_secrets else {},
        spending_limits=_limits(agent),
        egress=told.secrets_of(agent),
    )


def restore_of(agent: Agent) -> str:
    """The id of this generation's restore, "" for none. The next generation may restore the same backup again."""
    return f"{agent.restores}.{agent.generation}" if agent.restores else ""


def access_of(agent: Agent) -> Access:
    """Token and certificate for speaking with the agent's gateway."""
    return Access(token=agent.management_token, certificate=agent.gateway_certificate)


class HasAddress(Protocol):
    """An agent, or the columns of its row that say its address."""

    @property
    def slug(self) -> str: ...

    @property
    def a2a_enabled(self) -> bool: ...


def public_url(agent: HasAddress) -> str:
    """The agent's own address: its slug under the platform's domain, with the port if it is not the usual one. In
    development visitors come to the router itself, unless Caddy is in front of it.
    """
    port = f":{settings.ROUTER_PORT}" if settings.DEVELOPMENT else ""
    if settings.TLS == "auto":
        port = "" if settings.HTTPS_PORT == 443 else f":{settings.HTTPS_PORT}"
    return f"{urlsplit(settings.BASE_URL).scheme}://{agent.slug}.{settings.PLATFORM_DOMAIN}{port}"


def a2a_url(agent: HasAddress) -> str | None:
    """Where peers reach the agent, or None while A2A is off."""
    return f"{public_url(agent)}/a2a" if agent.a2a_enabled else None


def _limits(agent: Agent) -> dict[str, int | bool]:
    """The owner's limits of what model calls may take. A gateway that has a limit in USD refuses calls until it is told
    what was spent.
    """
    own: Spending | None = getattr(agent, "spending", None)
    account = AccountSpending.objects.filter(pk=agent.user_id).first()
    return narrowed(own.limits() if own else {}, AccountState(account) if account else None, Spent())


def _peers(agent: Agent) -> list[dict[str, Any]]:
    """The peers that the agent may ask; none while A2A is off."""
    return agent.a2a_peers or [] if agent.a2a_enabled else []


def model_id(agent: Agent) -> str | None:
    """The model that the pod uses: the owner's choice, else the provider's default for this persona."""
    if agent.llm_provider is None:
        return None
    recommended = personas.recommended_models(agent.persona_id)
    return agent.model or llm_models.default_model(agent.llm_provider, recommended)


def _model_name(agent: Agent) -> str | None:
    """The model's own name."""
    model = model_id(agent)
    return model.split(":", 1)[1] if model else None


def suffix_of(namespace: str) -> str:
    """The agent's part of `pod-<suffix>-<generation>`."""
    return namespace.removeprefix("pod-").rsplit("-", 1)[0]
