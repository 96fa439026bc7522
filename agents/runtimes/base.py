"""The contract between the control plane and the place where pods run. This module must not import Django."""

from __future__ import annotations

import dataclasses
import hashlib
import ssl
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from agents.pod.logs.reading import Left


class Phase(StrEnum):
    INSTALLING = "installing"  # the engine is being installed on this machine
    RESTORING = "restoring"  # a backup is being restored; the engine starts after it
    STARTING = "starting"  # the processes run, but the engine is not ready yet
    READY = "ready"  # the engine answered its probe within the last seconds
    UNHEALTHY = "unhealthy"  # the engine was ready, but its probe fails now
    FAILED = "failed"  # the bridge gave up for now (crash loop, installation error); there is a cause
    STOPPED = "stopped"  # no live process; the data is kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    memory_bytes: int
    disk_bytes: int
    cpu: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class PodConfig:
    """All facts that the engine must know. They are sent to the engine's container, so a PodConfig never contains a
    model key.
    """

    revision: int
    soul: str
    extra_soul: str | None
    lang: str
    timezone: str | None
    name: str
    provider: str | None
    model: str | None  # the model's name after the first colon of its id
    toolsets: list[str]
    mcp_servers: list[dict[str, Any]] = field(repr=False)  # the values of env and headers may be credentials
    channels: list[str]
    channel_secrets: dict[str, str] = field(repr=False)
    a2a_enabled: bool
    # whether the gateway offers other agents to the engine; only the gateway knows who they are
    has_peers: bool = False
    dashboard: bool = False  # whether the owner has credentials for the engine's own web interface
    has_key: bool = True  # whether there is a model key; only the gateway has the key itself
    # whether the provider is an operator's own server (LLM_BASE_URLS) and not the vendor
    own_model_server: bool = False
    telegram_api_url: str | None = None  # the address that bots use instead of Telegram's
    discord_api_url: str | None = None  # the address that bots use instead of Discord's
    whatsapp_api_url: str | None = None  # the address to which WhatsApp messages are sent instead of Meta's
    public_url: str | None = None  # the agent's address for the outside, with its own hostname or the customer's
    # the certificate (PEM) of the authority that the gateway's egress broker uses; "" if the engine does not use it
    egress_authority: str = ""
    egress_limited: bool = False  # whether the engine may reach hosts of a list alone

    def told(self) -> dict[str, Any]:
        """The JSON form without default values, so that a pod of an older release gets no fields that it
        does not know.
        """
        told = dataclasses.asdict(self)
        return {one.name: told[one.name] for one in dataclasses.fields(self) if told[one.name] != one.default}


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSecrets:
    """Secrets that only the gateway may have, in memory only."""

    management_token: str = field(repr=False)
    ticket_key: str = field(repr=False)
    llm_key: str | None = field(repr=False)
    llm_base_url: str | None
    dash_username: str | None
    dash_password: str | None = field(repr=False)
    a2a_token: str | None = field(repr=False)
    # name, url and perhaps token of each peer
    a2a_peers: list[dict[str, Any]] = field(default_factory=list, repr=False)
    # networks in which peers may be, in addition to the public internet
    peer_networks: list[str] = field(default_factory=list)
    # keys for the services that tools use, by service
    tool_keys: dict[str, str] = field(default_factory=dict, repr=False)
    tool_urls: dict[str, str] = field(default_factory=dict)  # addresses of these services, if not the vendor's
    # the owner's limits of what model calls may take (agents/pod/gateway/spending/limits.py)
    spending_limits: dict[str, Any] = field(default_factory=dict)
    # the owner's rules for the egress broker (agents/pod/gateway/egress/rules.py)
    egress: dict[str, Any] = field(default_factory=dict, repr=False)

    def told(self) -> dict[str, Any]:
        """The JSON form. A gateway of an older release does not know the fields for tools' services, limits and egress,
        so empty ones are left out.
        """
        told, newer = dataclasses.asdict(self), ("tool_", "spending_", "egress")
        return {name: value for name, value in told.items() if value or not name.startswith(newer)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The identity of a gateway: its private key and the certificate for that key, both as PEM."""

    key: str = field(repr=False)
    certificate: str

    @property
    def fingerprint(self) -> str:
        """The short name of the certificate in labels and reports: the first 32 hexadecimal digits of its SHA-256."""
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(self.certificate)).hexdigest()[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What the control plane needs to talk to a gateway: the token for the requests, and the gateway's certificate."""

    token: str = field(repr=False)
    certificate: str  # "" = no gateway has got a certificate yet


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSpec:
    namespace: str
    agent_id: str
    engine: str
    slug: str
    tier: str  # the plan; a cluster may isolate pods more strictly for some plans
    limits: Limits
    config: PodConfig
    secrets: PodSecrets
    identity: Identity
    public_url: str | None
    console_url: str
    domain: str | None = None  # the customer's own hostname, once it may be used and its DNS leads here
    data_expected: bool = False  # the agent has run before, so an empty disk is a loss
    # whether the engine may reach hosts of a list alone; None if its owner has never set anything about it
    egress_limited: bool | None = None
    restore: str = ""  # id of the restore that must be in place before the engine starts; "" = none

    @property
    def access(self) -> Access:
        return Access(token=self.secrets.management_token, certificate=self.identity.certificate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    namespace: str
    phase: Phase
    gateway_alive: bool
    revision: int | None  # the revision that bridge and gateway have applied, with a healthy engine
    restarts: int
    cause: str | None  # a Cause, or a word of the runtime's own
    message: str | None
    evidence: list[str]
    since: datetime | None
    strayed: bool = False  # some part of the pod differs from what was deployed, and can be repaired


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    memory_bytes: int | None
    disk_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    public_url: str
    management_url: str
    authority: str = ""  # certificate of the authority for the public address (PEM), if it is no public authority


class RuntimeFailure(Exception):
    """The runtime could not do what was asked. `cause` is a Cause, or a word of the runtime's own. `permanent`: another
    try without changes cannot succeed.
    """

    def __init__(self, message: str, *, cause: str, permanent: bool = False) -> None:
        super().__init__(message)
        self.cause = cause
        self.permanent = permanent


class Runtime(Protocol):
    def deploy(self, spec: PodSpec) -> None:
        """Start the missing parts of the pod and give it its secrets. Returns within seconds and never waits for the
        engine. If the pod exists this succeeds, and nothing changes that already runs as wanted.
        """

    def configure(self, spec: PodSpec) -> None:
        """Give a new revision to a running pod. Returns when the pod has accepted it; observe() shows when it is
        applied.
        """

    def repair(self, spec: PodSpec) -> list[str]:
        """Restore all parts of a running pod that somebody has changed or removed. Returns a few words for each of
        them.
        The same words are returned again, also those that another call has found, until `told` is called with them.
        """

    def told(self, namespace: str, put_back: list[str]) -> None:
        """The caller has written these words of a repair to the timeline."""

    def secure(self, namespace: str) -> None:
        """From now on the agent's data must stay, whatever happens to the pod. Only `delete` with `data` removes it."""

    def expect_data(self, spec: PodSpec) -> None:
        """Make every later start of the pod know that its agent has data, including starts without a call of `deploy`.
        Running processes are not changed.
        """

    def stop(self, namespace: str) -> None:
        """Ask the pod to stop. The data is kept. observe() shows STOPPED when it has stopped. A missing pod is fine."""

    def delete(self, namespace: str, *, agent_id: str, data: bool) -> None:
        """Remove the pod, and with `data` also the agent's data. May be repeated; a missing pod is fine."""

    def unroute(self, namespace: str, domain: str) -> None:
        """Remove the route from this hostname of a customer to the pod. A missing route, or a route to another pod, is
        fine.
        """

    def observe(self, suffix: str | None = None) -> dict[str, Observation]:
        """The state of every pod by namespace, in bulk and without a call per pod. With `suffix`, only the pods of one
        agent (`pod-<suffix>-…`). A missing namespace is gone.
        """

    def usage(self) -> dict[str, Usage]:
        """Memory and disk of every pod in bytes, by namespace, without gateway and bridge. None means unknown."""

    def endpoint(self, namespace: str) -> Endpoint | None:
        """The pod's addresses, or None if it has none yet."""

    def left_log(self, namespace: str) -> Left | None:
        """The pod's log, read without asking the pod; None if that is not possible."""

    def fleeting_logs(self, limit: int) -> list[str]:
        """Namespaces of running pods whose log disappears together with the pod; those first that were returned longest
        ago. A pod that was returned within the last minute is left out.
        """
