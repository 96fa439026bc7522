"""The contract between the control plane and the place where pods run. Imports nothing of Django."""

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

# The cause of a pod that finds an empty disk where its agent had data. Neither waiting nor another pod brings it back.
DATA_LOST = "DATA_LOST"
# The same of a pod whose data is there and broken.
DATA_DAMAGED = "DATA_DAMAGED"
UNUSABLE_DATA = frozenset({DATA_LOST, DATA_DAMAGED})

# The cause of a pod that could not put its backup in place. Its data is as it was before.
RESTORE = "RESTORE"


class Phase(StrEnum):
    INSTALLING = "installing"  # the engine is being installed on this machine
    RESTORING = "restoring"  # a backup is being put in place; the engine comes after it
    STARTING = "starting"  # processes are up, the engine is not ready yet
    READY = "ready"  # the engine answered its probe within the last seconds
    UNHEALTHY = "unhealthy"  # it was ready; its probe fails now
    FAILED = "failed"  # given up for now (crash loop, install error); has a cause
    STOPPED = "stopped"  # no live process; the data is kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    memory_bytes: int
    disk_bytes: int
    cpu: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class PodConfig:
    """All that the engine must know. Goes to the engine's own container, so it never holds a key."""

    revision: int
    soul: str
    extra_soul: str | None
    lang: str
    timezone: str | None
    name: str
    provider: str | None
    model: str | None  # the model's name after the first colon of its id
    toolsets: list[str]
    mcp_servers: list[dict[str, Any]] = field(repr=False)  # env and headers may carry credentials
    channels: list[str]
    channel_secrets: dict[str, str] = field(repr=False)
    a2a_enabled: bool
    has_peers: bool = False  # whether the gateway offers the engine other agents to ask; who they are it alone knows
    dashboard: bool = False  # whether the owner has credentials for the engine's own web interface
    has_key: bool = True  # whether a model can be asked; the key itself is the gateway's
    own_model_server: bool = False  # the provider is a server of the operator's (LLM_BASE_URLS), not the vendor
    telegram_api_url: str | None = None  # where bots speak instead of with Telegram itself
    whatsapp_api_url: str | None = None  # where messages of WhatsApp are sent instead of to Meta itself
    public_url: str | None = None  # where the agent is called from outside, by its own name or by its customer's

    def told(self) -> dict[str, Any]:
        """As it travels: without what is as usual, so that a pod of an earlier release need not know of it."""
        told = dataclasses.asdict(self)
        return {one.name: told[one.name] for one in dataclasses.fields(self) if told[one.name] != one.default}


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSecrets:
    """What only the gateway may hold, in memory."""

    management_token: str = field(repr=False)
    ticket_key: str = field(repr=False)
    llm_key: str | None = field(repr=False)
    llm_base_url: str | None
    dash_username: str | None
    dash_password: str | None = field(repr=False)
    a2a_token: str | None = field(repr=False)
    a2a_peers: list[dict[str, Any]] = field(default_factory=list, repr=False)  # name, url and perhaps token of each
    peer_networks: list[str] = field(default_factory=list)  # where peers may be, beside the public internet
    tool_keys: dict[str, str] = field(default_factory=dict, repr=False)  # of the services that tools use, by service
    tool_urls: dict[str, str] = field(default_factory=dict)  # where these services are, if not at the vendor's

    def told(self) -> dict[str, Any]:
        """As it travels: a gateway of an earlier release knows nothing of tools' services."""
        told = dataclasses.asdict(self)
        return {name: value for name, value in told.items() if value or not name.startswith("tool_")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """By what a gateway shows who it is: its private key and the certificate of that, both as PEM."""

    key: str = field(repr=False)
    certificate: str

    @property
    def fingerprint(self) -> str:
        """The certificate's name in labels and reports: 32 hexadecimal digits of its SHA-256."""
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(self.certificate)).hexdigest()[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What the control plane needs to speak with a gateway: the token that opens it, the certificate that proves it."""

    token: str = field(repr=False)
    certificate: str  # "" = no gateway was given one yet


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSpec:
    namespace: str
    agent_id: str
    engine: str
    slug: str
    tier: str  # the plan, by which a cluster may isolate pods more or less
    limits: Limits
    config: PodConfig
    secrets: PodSecrets
    identity: Identity
    public_url: str | None
    console_url: str
    domain: str | None = None  # the customer's own hostname, once it may serve and its DNS leads here
    data_expected: bool = False  # the agent has run before: an empty disk is a loss
    restore: str = ""  # the restore that is to be in place before the engine starts; "" = none

    @property
    def access(self) -> Access:
        return Access(token=self.secrets.management_token, certificate=self.identity.certificate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    namespace: str
    phase: Phase
    gateway_alive: bool
    revision: int | None  # applied by bridge and gateway, with the engine healthy on it
    restarts: int
    cause: str | None  # INSTALL, CRASH_LOOP, PORT, DISK_FULL, OOM, ENGINE_HUNG, DATA_LOST, …
    message: str | None
    evidence: list[str]
    since: datetime | None
    strayed: bool = False  # something of it is not as it was told to be, and can be put back


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    memory_bytes: int | None
    disk_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    public_url: str
    management_url: str
    authority: str = ""  # who certifies the public address (PEM), where that is no public authority


class RuntimeFailure(Exception):
    """The runtime could not do it. Permanent: doing it again unchanged cannot help."""

    def __init__(self, message: str, *, cause: str, permanent: bool = False) -> None:
        super().__init__(message)
        self.cause = cause
        self.permanent = permanent


class Runtime(Protocol):
    def deploy(self, spec: PodSpec) -> None:
        """Start what is missing of the pod and hand it its secrets; returns in seconds and never waits for the engine.

        Deploying what exists succeeds and changes nothing that runs as wanted."""

    def configure(self, spec: PodSpec) -> None:
        """Give a running pod a new revision in place. Returns when it took it; observe() shows when it is applied."""

    def repair(self, spec: PodSpec) -> list[str]:
        """Put back what somebody has changed or taken away of a pod that runs; what that was, a few words each.

        It is said again until it was `told`, also what another call has found and put back by the way."""

    def told(self, namespace: str, put_back: list[str]) -> None:
        """These words of a repair are on the timeline."""

    def secure(self, namespace: str) -> None:
        """From now on the agent's data stays whatever becomes of the pod; only `delete` with `data` removes it."""

    def expect_data(self, spec: PodSpec) -> None:
        """Have every later start of the pod know that its agent has data, also one that nobody asks `deploy` for.

        What runs is left alone."""

    def stop(self, namespace: str) -> None:
        """Ask the pod to stop. The data is kept; observe() shows STOPPED when done; what is gone succeeds."""

    def delete(self, namespace: str, *, agent_id: str, data: bool) -> None:
        """Remove the pod, and with `data` the agent's data too. Repeatable; what is gone succeeds."""

    def unroute(self, namespace: str, domain: str) -> None:
        """Take away what leads this hostname of a customer's to the pod; what is gone, or leads another, is left."""

    def observe(self, suffix: str | None = None) -> dict[str, Observation]:
        """Every pod by namespace, in bulk, without a call per pod; or those of one agent, `pod-<suffix>-…`.

        A namespace that is absent is gone."""

    def usage(self) -> dict[str, Usage]:
        """Memory and disk of every pod by namespace, without gateway and bridge. None is unknown."""

    def endpoint(self, namespace: str) -> Endpoint | None:
        """Where the pod is reached, or None when it has no address (yet)."""

    def left_log(self, namespace: str) -> Left | None:
        """What the pod has logged, read without asking it; None where that is not to be had."""

    def fleeting_logs(self, limit: int) -> list[str]:
        """Namespaces of running pods whose log goes when they do, those first that were named here longest ago.

        One that was named within the last minute is not named again."""
