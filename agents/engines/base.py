"""The contract between the bridge and an engine: data about the engine, how to render its configuration, and how to
talk to it.
This module must not import Django, because the bridge runs in containers that contain only the engine. An engine calls
its model through the pod's key proxy and never sees the real key.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from agents.pod.turns import failures
from agents.pod.turns.parts import Part, TurnEnding
from agents.runtimes.base import PodConfig

# What drivers raise. The texts are shown to people.
EngineError = failures.EngineError
ModelError = failures.ModelError

# The gateway's MCP server for peers, on the listener of the key proxy. No server of an owner can have this name,
# because a toolset has it.
PEERS_SERVER = "a2a"
PEERS_PATH = "/peers"


@dataclass(frozen=True, slots=True, kw_only=True)
class NpmPackage:
    """An npm package that is installed into `<ENGINE_CACHE>/<engine>-<version>` on first use."""

    name: str
    version: str
    recipe: Path  # the directory of the committed package.json and package-lock.json
    entry: Path  # path of the program inside the installation
    native: bool = False  # whether the program runs without Node.js
    flags: tuple[str, ...] = ()  # npm flags, in addition to those for every engine

    @property
    def lock(self) -> Path:
        return self.recipe / "package-lock.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class PypiPackage:
    """A PyPI package, installed into its own virtual environment from a committed requirements.txt with hashes."""

    name: str
    version: str
    recipe: Path  # the directory of requirements.txt
    module: str  # `python -m <module> --version` prints the version

    @property
    def lock(self) -> Path:
        return self.recipe / "requirements.txt"

    @property
    def python(self) -> Path:
        """The Python inside the installation. Run it with -I, so that neither our packages nor the agent's files are in
        its import path.
        """
        return Path("bin") / "python"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShippedProgram:
    """A program that is part of its adapter: it is copied, and nothing is downloaded."""

    name: str
    version: str
    recipe: Path  # the directory that is copied as a whole
    entry: Path  # path of the program inside the installation

    @property
    def lock(self) -> Path:
        return self.recipe / self.entry


EngineProgram = NpmPackage | PypiPackage | ShippedProgram


class Processes(StrEnum):
    """How an engine serves several conversations at the same time."""

    PER_CONVERSATION = "per conversation"  # one process each; the driver talks to it over stdin and stdout
    ONE_SERVER = "one server"  # one process for all; the driver talks to it over HTTP on the pod's loopback address


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePlace:
    """Paths, memory, port and password of one engine of one agent. Port and password are for engines that are servers.
    They stay the same as long as the pod exists. The gateway knows them too; outside of the pod they are not known.
    """

    install: Path
    node: Path
    data: Path
    memory_bytes: int
    port: int
    side_port: int = 0  # for a server beside the engine
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """A program beside the engine. It is started and ended together with the engine, and started again if it
    ends by itself.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    cwd: Path
    ports: tuple[int, ...] | None = None  # as for the engine


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyAccess:
    """The pod's own address for calls to the model provider and to the agent's peers."""

    url: str  # `/llm/<provider>` is appended
    token: str = field(repr=False)

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 80


def mcp_servers(config: PodConfig, llm: ProxyAccess) -> list[dict[str, Any]]:
    """The owner's MCP servers, and the gateway's own server if the agent has peers. The peers' tokens stay in the
    gateway.
    """
    if not config.has_peers:
        return config.mcp_servers
    headers = {"Authorization": f"Bearer {llm.token}"}
    return [*config.mcp_servers, {"name": PEERS_SERVER, "url": llm.url + PEERS_PATH, "headers": headers}]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Everything that a start of the engine needs. Between two equal launches no restart is needed."""

    files: Mapping[Path, str] = field(repr=False)  # overwritten before each start
    # the engine reads these again at each turn
    live_files: Mapping[Path, str] = field(default_factory=dict, repr=False)
    directories: tuple[Path, ...]  # created if missing
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    cwd: Path
    model: tuple[str, str] | None  # the engine's own provider id and model id, checked after the start
    side: Sidecar | None = None
    # the only TCP ports that its processes may connect to, at any address; None: all
    ports: tuple[int, ...] | None = None
    # for the driver only; the engine never gets these
    private: Mapping[str, str] = field(default_factory=dict, repr=False)

    def serves_as(self, other: Launch) -> bool:
        """Whether a running process of this launch can serve the other one if only its live files change."""
        return replace(self, live_files=other.live_files, side=other.side) == other


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """Where an engine keeps what it has learned and its conversations. All paths are relative to the agent's data
    directory.
    A skill is a directory with a SKILL.md, and a memory is a Markdown file. Each session is a file. If sessions are
    rows of one SQLite file, `count` is the SQL statement that counts them. Backups leave out files that are rendered at
    each start or can be downloaded again.
    """

    skills: tuple[str, ...] = ()  # directories
    memories: tuple[str, ...] = ()  # directories
    sessions: str  # a directory
    session_files: str  # pattern of the file names
    count: str = ""
    left_out: tuple[str, ...] = ()  # patterns of paths


class Turns(Protocol):
    """The turns of one conversation, one after the other."""

    def turn(self, message: str) -> AsyncGenerator[str | Part | TurnEnding, None]:
        """Run a turn and yield the reply as it arrives. Raises ModelError or EngineError; if the iterator just ends,
        the turn was successful.
        Text is a `str`. An engine that answers with more yields parts (`agents/pod/turns/parts.py`), in the order in
        which readers shall see them. If the turn does not end with a plain answer, it yields a TurnEnding.
        Closing the iterator early also ends the turn in the engine; the next turn waits for that end.
        """

    def reply(self) -> str:
        """The whole reply of the last turn."""


class Driver(Protocol):
    """Talks to one live engine process. Every method raises EngineError if the process is gone."""

    async def settle(self) -> None:
        """Wait until the engine answers and uses the model of its launch."""

    async def probe(self) -> None:
        """Return when the engine answers. The caller sets the time limit."""

    def conversation(self, session: str) -> Turns:
        """The turns of this conversation. A process for one conversation serves only that conversation."""

    async def channels(self) -> dict[str, str | None]:
        """All channels to which the engine itself connects: None if connected, else the reason why not."""

    async def take_message(self, channel: str, *, name: str, body: str) -> bool:
        """Pass a message to the engine that a service sent to the platform. Returns True when the turn of the message
        is over, False while it runs.
        The caller may repeat a message with the same name, also after a restart of the engine; the engine reads it only
        once. Raises EngineError if the engine cannot take the message now, or takes no messages of this channel.
        """

    async def wind_down(self) -> None:
        """End the running turns within seconds. A stop follows, and some engines do not stop while a turn runs."""

    def usable(self) -> bool:
        """False if the process must not be used any more: it is gone, or the driver lost track of its turns."""

    def fail(self, error: EngineError) -> None:
        """Make every running turn raise this error at once. Nothing is sent to the engine itself."""


# The most seconds until an engine answers with its model. After that it is ended and started again.
START_SECONDS = 60.0


def start_seconds(engine: Engine) -> float:
    return float(getattr(engine, "start_seconds", START_SECONDS))


class Engine(Protocol):
    """One engine. `render` has no side effects; it reads only what was installed."""

    id: str
    processes: Processes
    providers: frozenset[str]
    toolsets: Mapping[str, tuple[str, ...]]  # the toolset id of the catalog, with the engine's own tools
    safe_toolsets: tuple[str, ...]  # the toolsets that an empty choice means
    mcp_stdio: bool  # whether the engine starts MCP servers itself; all engines reach MCP servers over HTTP
    stores: Stores
    # for an engine with a process per conversation: decides how many processes fit into the tier
    megabytes_per_process: int
    noise: str  # a line on stderr that starts with this text is no evidence of a failure
    # An engine whose start may take longer than START_SECONDS also has the attribute `start_seconds`.

    @property
    def package(self) -> EngineProgram:
        """The program that is installed."""

    def render(self, config: PodConfig, *, place: EnginePlace, llm: ProxyAccess) -> Launch:
        """Build the files, arguments and environment for this configuration."""

    def session_argv(self, session: str | None, launch: Launch) -> tuple[str, ...]:
        """Extra arguments for the process of a conversation. `session` is None for a process without a conversation or
        for all conversations. The launch contains the paths of the agent's files.
        """

    def attach(self, process: asyncio.subprocess.Process, launch: Launch) -> Driver:
        """The driver for a process that was started with this launch."""
