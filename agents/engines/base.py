"""The contract between the bridge and an engine: data first, then how to render it, and how to speak to it.

Imports nothing of Django: the bridge runs where only the engine is. An engine takes its model from the pod's key proxy
and never sees the real key.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from agents.engines.parts import Part, TurnEnding
from agents.runtimes.base import PodConfig

# Of the gateway's MCP server, on the listener of the key proxy. No owner's server has this name: it is a toolset's.
PEERS_SERVER = "a2a"
PEERS_PATH = "/peers"


class EngineError(Exception):
    """The engine itself is dead, hung or refused: hop `engine`. The text is for people."""


class ModelError(Exception):
    """The engine is well; the model behind it refused, failed or said nothing: hop `model`. The text is for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NpmPackage:
    """What is installed into `<ENGINE_CACHE>/<engine>-<version>` on first use."""

    name: str
    version: str
    recipe: Path  # the directory of the committed package.json and package-lock.json
    entry: Path  # the program, below the installation
    native: bool = False  # the program needs no Node
    flags: tuple[str, ...] = ()  # of npm, beside those for every engine

    @property
    def lock(self) -> Path:
        return self.recipe / "package-lock.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class PypiPackage:
    """The same from PyPI: a virtual environment of its own, from a committed requirements.txt with hashes."""

    name: str
    version: str
    recipe: Path  # the directory of requirements.txt
    module: str  # `python -m <module> --version` says the version

    @property
    def lock(self) -> Path:
        return self.recipe / "requirements.txt"

    @property
    def python(self) -> Path:
        """Below the installation. Run it with -I: neither our packages nor the agent's files are then in its path."""
        return Path("bin") / "python"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShippedProgram:
    """A program that comes with its adapter: it is copied, and nothing is fetched."""

    name: str
    version: str
    recipe: Path  # the directory that is copied whole
    entry: Path  # the program, below the installation

    @property
    def lock(self) -> Path:
        return self.recipe / self.entry


EngineProgram = NpmPackage | PypiPackage | ShippedProgram


class Processes(StrEnum):
    """How an engine serves several conversations."""

    PER_CONVERSATION = "per conversation"  # one process each, spoken to over stdin and stdout
    ONE_SERVER = "one server"  # one process for all, spoken to over HTTP on the pod's loopback


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one engine of one agent lives. Port and password are for engines that are servers, and last as long as
    the pod: the gateway knows them too, and nobody outside the pod does."""

    install: Path
    node: Path
    data: Path
    memory_bytes: int
    port: int
    side_port: int = 0  # for a server beside the engine
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A program beside the engine: started and ended with it, and started again when it ends by itself."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    cwd: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyProxy:
    """The pod's own way to the model provider, and to the agent's peers."""

    url: str  # `/llm/<provider>` follows
    token: str = field(repr=False)


def mcp_servers(config: PodConfig, llm: KeyProxy) -> list[dict[str, Any]]:
    """The owner's, and the gateway's own where the agent has peers: their tokens never come here."""
    if not config.has_peers:
        return config.mcp_servers
    headers = {"Authorization": f"Bearer {llm.token}"}
    return [*config.mcp_servers, {"name": PEERS_SERVER, "url": llm.url + PEERS_PATH, "headers": headers}]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """All that a start of the engine needs. Two equal launches need no restart between them."""

    files: Mapping[Path, str] = field(repr=False)  # overwritten before each start
    live_files: Mapping[Path, str] = field(default_factory=dict, repr=False)  # read again by the engine at each turn
    directories: tuple[Path, ...]  # made when missing
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    cwd: Path
    model: tuple[str, str] | None  # the engine's own provider id and model id, confirmed after the start
    side: Side | None = None
    private: Mapping[str, str] = field(default_factory=dict, repr=False)  # for the driver: the engine never sees it

    def serves_as(self, other: Launch) -> bool:
        """Whether a process of this launch becomes one of the other by its live files alone."""
        return replace(self, live_files=other.live_files, side=other.side) == other


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """Where an engine keeps what it has learned and what was said; each is below the agent's data directory.

    A skill is a directory with a SKILL.md, a memory is a Markdown file. Each session is a file; where they are rows of
    one SQLite file, `count` is the statement that counts them. What is rendered at each start or can be fetched again
    is left out of backups.
    """

    skills: tuple[str, ...] = ()  # directories
    memories: tuple[str, ...] = ()  # directories
    sessions: str  # a directory
    session_files: str  # pattern of the names
    count: str = ""
    left_out: tuple[str, ...] = ()  # patterns


class Turns(Protocol):
    """Speaks in one conversation, one turn after the other."""

    def turn(self, message: str) -> AsyncGenerator[str | Part | TurnEnding, None]:
        """The reply as it comes. Raises ModelError or EngineError; nothing after the last piece is a success.

        Text is a `str`. An engine that answers with more yields it as parts (`agents/engines/parts.py`), in the order
        in which readers shall see it; one that does not end with an answer yields a TurnEnding.

        Closing the iterator early ends the turn in the engine too; the next turn waits for that end."""

    def reply(self) -> str:
        """The whole reply of the turn that has just ended."""


class Driver(Protocol):
    """Speaks to one live engine process. Every method raises EngineError once the process is gone."""

    async def settle(self) -> None:
        """Wait until the engine answers and has the model of its launch."""

    async def probe(self) -> None:
        """Return when the engine answers; the caller sets the time-out."""

    def conversation(self, session: str) -> Turns:
        """The turns of this conversation; a process of one conversation serves only that one."""

    async def channels(self) -> dict[str, str | None]:
        """Every channel that the engine itself connects to, and why it is not connected; None = it is."""

    async def take_message(self, channel: str, *, name: str, body: str) -> bool:
        """Take a message that a service brought to the platform: True once its turn is over, False while it runs.

        It may be asked again and again with the same name, also after a restart of the engine, and the message is read
        once. Raises EngineError when the engine cannot take it now, or takes none from this channel."""

    async def wind_down(self) -> None:
        """End the running turns, within seconds: a stop follows, and some engines do not end while one runs."""

    def usable(self) -> bool:
        """False once the process must not be spoken to any more: it is gone, or it lost track of its turns."""

    def fail(self, error: EngineError) -> None:
        """Make every running turn raise this at once; the engine itself is left alone."""


# How long an engine may take until it answers with its model. Then it is ended and started anew.
START_SECONDS = 60.0


def start_seconds(engine: Engine) -> float:
    return float(getattr(engine, "start_seconds", START_SECONDS))


class Engine(Protocol):
    """One engine. `render` is pure but for reading what was installed."""

    id: str
    processes: Processes
    providers: frozenset[str]
    toolsets: Mapping[str, tuple[str, ...]]  # the catalog's toolset id, and the engine's own tools
    safe_toolsets: tuple[str, ...]  # what an empty choice means
    mcp_stdio: bool  # whether it starts MCP servers itself; all engines reach them over HTTP
    stores: Stores
    megabytes_per_process: int  # of an engine with a process per conversation: how many fit into the tier
    noise: str  # a line of stderr that begins so is no evidence of anything
    # An engine whose start may take longer than START_SECONDS says `start_seconds` too.

    @property
    def package(self) -> EngineProgram:
        """What is installed."""

    def render(self, config: PodConfig, *, place: Place, llm: KeyProxy) -> Launch:
        """Files, arguments and environment of this configuration."""

    def session_argv(self, session: str | None, launch: Launch) -> tuple[str, ...]:
        """What is added to the arguments for a conversation; None is a process that keeps none, or serves all. The
        launch says where the agent's files are."""

    def attach(self, process: asyncio.subprocess.Process, launch: Launch) -> Driver:
        """Speak to the process that was started with this launch."""
