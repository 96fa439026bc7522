"""A person's agents and all that belongs to them: for the export of the person's data, and to erase it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from accounts.models import User
from agents.backups.models import Backup, Repository, Stage
from agents.channel_health.models import ChannelState
from agents.domains.models import CertifiedName, DomainClaim
from agents.egress import forgetting as egress_forgetting
from agents.egress.models import Egress, EgressHost
from agents.inbound.models import InboundMessage
from agents.models import AccountSpending, Agent, AgentQuota, ModelUsage, Status, Transition
from agents.replay.keeping import TEXTS
from agents.replay.models import ReplayEntry
from agents.spending.models import KeyUsage
from agents.trials import DIGEST, hidden
from agents.watching import usage_hours
from config.crypto import readable
from config.operator_settings import operator_settings
from config.personal import MOST, Row, Section, rows
from webhooks.models import Event, Hook

SETTINGS = (
    *("id", "name", "persona_id", "tier", "engine", "channels", "lang", "timezone", "status", "created_at"),
    *("soul", "extra_soul", "llm_provider", "model", "tools_enabled", "domain", "slug", "a2a_enabled", "a2a_listed"),
    *("trial_ends_at", "last_backup_at"),
)

REPLAYED = (
    *("agent_id", "created_at", "kind", "door", "session", "turn", "model", "input", "cached", "output", "usd", "ms"),
    *("hop", "cause", "tool", "count"),
)


def exported(user: User) -> Iterator[Section]:
    """The sections of the export. Conversations are inside the agents' own data, so the export has links to the
    backups, and the messages that still wait for delivery."""
    agents = Agent.objects.owned_by(user.pk).select_related("hook").order_by("-created_at", "-id")
    yield "agents", [_settings(agent) for agent in agents[: MOST + 1]]
    there = Backup.objects.filter(agent__user=user, stage=Stage.DONE).order_by(F("taken_at").desc(nulls_last=True))
    yield "backups", [_backup(row) for row in rows(there, "agent_id", "name", "kind", "taken_at", "size")]
    waiting = InboundMessage.objects.filter(agent__user=user, due_at__isnull=False)
    yield "messages-waiting", [_waiting(message) for message in waiting.order_by("-pk")[: MOST + 1]]
    past = Transition.objects.filter(agent__user=user).order_by("-at", "-id")
    yield "timeline", rows(past, "agent_id", "from_status", "to_status", "reason", "note", "at")
    claims = DomainClaim.objects.filter(user=user).order_by("-claimed_at")
    yield "domains", rows(claims, "agent_id", "domain", "status", "claimed_at", "proved_at", "ended_at")
    took = ModelUsage.objects.filter(agent__user=user).order_by("-day", "-pk")
    yield "model-usage", rows(took, "agent_id", "day", "model", "kind", "session", "calls", "input", "output", "usd")
    by_key = KeyUsage.objects.filter(agent__user=user).order_by("-day", "-pk")
    yield "model-usage-by-key", rows(by_key, "api_key_id", "agent_id", "day", "calls", "input", "output", "usd")
    did = ReplayEntry.objects.filter(agent__user=user).order_by("-created_at", "-id")
    yield "replay", [_done(entry) for entry in did[: MOST + 1]]
    limits = AccountSpending.objects.filter(user=user)
    yield "model-limits", rows(limits, "day_usd", "month_usd", "is_stopped")
    egress = Egress.objects.filter(agent__user=user).order_by("pk")
    yield "egress", [_egress(row) for row in egress[: MOST + 1]]
    asked = EgressHost.objects.filter(agent__user=user).order_by("-day", "-pk")
    yield "egress-hosts", rows(asked, "agent_id", "day", "host", "is_refused", "count", "sent", "received")
    told = Event.objects.filter(agent__user=user).order_by("-created_at", "-id")
    yield "events", rows(told, "agent_id", "type", "created_at", "body")


def _settings(agent: Agent) -> Row:
    """The agent's settings. Of secrets only the names are there: MCP servers, peers, and channels with a token."""
    agent = readable(agent)
    hook = getattr(agent, "hook", None)
    return {
        **{name: getattr(agent, name) for name in SETTINGS},
        "mcp_servers": [server.get("name") for server in agent.mcp_servers],
        "a2a_peers": [{"name": peer.get("name"), "url": peer.get("url")} for peer in agent.a2a_peers or []],
        "secrets_set": sorted({*agent.channel_secrets, *(agent.tool_secrets or {})}),
        "webhook_url": hook.url if hook else None,
    }


def _egress(egress: Egress) -> Row:
    """The rules of the egress broker. Of a secret, its value is left out."""
    secrets = [{name: one[name] for name in ("name", "hosts", "header")} for one in readable(egress).secrets]
    return {
        "agent_id": egress.agent_id,
        "is_limited": egress.is_limited,
        "hosts": egress.hosts,
        "secrets": secrets,
    }


def _backup(row: Row) -> Row:
    return {**row, "download": f"{settings.BASE_URL}/account/agents/{row['agent_id']}/backups/{row['name']}"}


def _waiting(message: InboundMessage) -> dict[str, str | datetime | None]:
    return {
        "agent_id": message.agent_id,
        "channel": message.channel,
        "received_at": message.received_at,
        "body": readable(message).body,
    }


def _done(entry: ReplayEntry) -> Row:
    return {name: getattr(entry, name) for name in (*REPLAYED, *TEXTS)}


def still_there(user: User, *, now: datetime) -> str:
    """Name what is not gone yet; "" when all is gone. Backups of agents deleted with their account expire at once."""
    if Agent.objects.owned_by(user.pk).exclude(status=Status.DELETED).exists():
        return "its agents"
    left = Repository.objects.filter(agent__user=user)
    left.filter(expires_at__gt=now).update(expires_at=now)
    return "its backups" if left.exists() else ""


def erase(user: User) -> None:
    """Remove everything personal from the rows of agents that are already gone. Needs a transaction; running twice is
    harmless.

    Claims of hostnames stay. They prevent that a name which still leads here is served for a stranger.
    """
    own = Agent.objects.owned_by(user.pk)
    for agent in own.only("pk", "suffix", "inbox"):
        own.filter(pk=agent.pk).update(slug=f"gone-{agent.suffix}", inbox=_hidden(agent.inbox))
    own.update(
        name="",
        soul="",
        extra_soul=None,
        timezone=None,
        cause_message="",
        cause_evidence=[],
        endpoint_url=None,
        dash_username=None,
        gateway_certificate="",
        llm_key_hash=None,
    )
    Transition.objects.filter(agent__user=user).delete()
    Event.objects.filter(agent__user=user).delete()
    Hook.objects.filter(agent__user=user).delete()
    AgentQuota.objects.filter(agent__user=user).delete()
    usage_hours.erase(list(own.values_list("pk", flat=True)), now=timezone.now())
    ModelUsage.objects.filter(agent__user=user).delete()
    KeyUsage.objects.filter(agent__user=user).delete()
    ReplayEntry.objects.filter(agent__user=user).delete()
    AccountSpending.objects.filter(user=user).delete()
    egress_forgetting.erase(list(own.values_list("pk", flat=True)))
    ChannelState.objects.filter(agent__user=user).delete()
    CertifiedName.objects.filter(user=user).delete()


def forget_mailboxes(*, now: datetime) -> None:
    over = now - timedelta(days=operator_settings.MAX_TRIALS_DAYS)
    Agent.objects.filter(inbox__startswith=DIGEST, created_at__lt=over).update(inbox="")


def _hidden(inbox: str) -> str:
    return inbox if not inbox or inbox.startswith(DIGEST) else hidden(inbox)
