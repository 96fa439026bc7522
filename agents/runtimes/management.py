"""The control plane's side of a gateway's management listener. Dials what the runtime names, never a stored URL."""

from __future__ import annotations

import dataclasses
import operator
import re
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
import requests

from agents.engines.parts import Allowance, Part
from agents.runtimes import certificates
from agents.runtimes.base import Access, Endpoint, PodConfig, PodSecrets, RuntimeFailure
from config import hanging_up

CONNECT_SECONDS = 10.0  # with the handshake, which a gateway on a busy machine may answer late
HEALTH_SECONDS = 5.0
CONFIGURE_SECONDS = 25.0
TURN_SECONDS = 115.0  # the gateway gives up at 110
MEMORY_SECONDS = 15.0
BACKUP_SECONDS = 15.0
CHANNELS_SECONDS = 8.0
CHANNELS_BYTES = 64 * 1024
MCP_TEST_SECONDS = 20.0  # the gateway gives up at 15
MCP_TEST_BYTES = 256 * 1024
TALK_TEST_SECONDS = 85.0  # a turn of 60 s, and what is asked before and after it
MAX_SESSIONS = 2**31 - 1
MAX_REPLY_BYTES = 8 * 1024 * 1024
_SNAPSHOT = re.compile(r"[0-9a-f]{64}")


class HopFailure(Exception):
    """A turn failed on its way. `hop` is gateway, engine or model; the message is for people."""

    def __init__(self, hop: str, message: str) -> None:
        super().__init__(message)
        self.hop = hop
        self.message = message


@dataclass(frozen=True, slots=True)
class ModelRefusal:
    """The provider's last word, if it was a failure. `status` is None when there was no answer."""

    status: int | None
    message: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Health:
    revision: int
    has_key: bool
    engine: dict[str, Any] | None  # the bridge's state; None while the bridge does not answer
    model: ModelRefusal | None = None
    model_answered: bool = False  # since the key, the provider or the model last changed
    # Memory of the bridge itself; None from an earlier release. It is no news that it differs.
    bridge_bytes: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TriedHop:
    """One hop of a talk test; `ms` is None when it was not tried, `error` when it is well."""

    hop: str
    ok: bool
    ms: int | None
    error: str | None


@dataclass(frozen=True, slots=True)
class TriedServer:
    """One MCP server, asked from the pod: the names of its tools, or why it does not answer."""

    ok: bool
    ms: int
    tools: list[str]
    error: str | None


@dataclass(frozen=True, slots=True)
class Memory:
    """What an engine has learned: skills by name, memories as name and content, and how many sessions it keeps."""

    skills: list[str]
    memories: list[tuple[str, str]] = field(repr=False)
    sessions: int
    is_cut: bool


@dataclass(frozen=True, slots=True)
class ChatReply:
    reply: str
    session_id: str
    parts: list[Part] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ChatEvent:
    """`start` {}, then `delta` {text} and `part` {part}, then `done` {reply, session_id} or `error` {hop, message}."""

    name: str
    data: dict[str, Any] = field(repr=False)


def health(endpoint: Endpoint, access: Access, *, seconds: float = HEALTH_SECONDS) -> Health:
    """What the gateway says of itself, its engine and the model. Raises HopFailure when it does not answer."""
    with call("GET", endpoint, access, "/health", seconds=seconds) as answer:
        body = body_of(answer, "revision", "has_key")
        model = body.get("model") or {}
        engine = body.get("engine")
        bridge_bytes = engine.pop("bridgeBytes", None) if engine else None
        return Health(
            revision=body["revision"],
            has_key=body["has_key"],
            engine=engine,
            bridge_bytes=bridge_bytes if isinstance(bridge_bytes, int) else None,
            model=_refusal(model),
            model_answered=model.get("answered") is True,
        )


def _refusal(model: dict[str, Any]) -> ModelRefusal | None:
    last = model.get("last_failure")
    if not model.get("failing") or not last:
        return None
    return ModelRefusal(status=last["status"], message=last["message"], at=datetime.fromisoformat(last["at"]))


def configure(endpoint: Endpoint, access: Access, *, config: PodConfig, secrets: PodSecrets) -> None:
    """Give the pod a revision and its secrets. Raises RuntimeFailure unless gateway and bridge took it."""
    body = {"config": config.told(), "secrets": secrets.told()}
    try:
        with call("PUT", endpoint, access, "/config", seconds=CONFIGURE_SECONDS, body=body) as answer:
            body_of(answer)
    except HopFailure as failure:
        raise RuntimeFailure(f"configuration not taken: {failure}", cause="CONFIGURE") from failure


def talk_test(endpoint: Endpoint, access: Access) -> list[TriedHop]:
    """One word through every hop, in order, the gateway first. Raises HopFailure when the gateway is silent itself."""
    with call("POST", endpoint, access, "/talk-test", seconds=TALK_TEST_SECONDS) as answer:
        hops = body_of(answer, "hops")["hops"]
        return [TriedHop(hop=hop["hop"], ok=hop["ok"], ms=hop["ms"], error=hop["error"]) for hop in hops]


def mcp_test(endpoint: Endpoint, access: Access, *, url: str, headers: dict[str, str]) -> TriedServer:
    """Whether the MCP server at this address answers the pod. Raises HopFailure when the gateway is silent itself."""
    body = {"url": url, "headers": headers}
    with call("POST", endpoint, access, "/mcp-test", seconds=MCP_TEST_SECONDS, body=body) as answer:
        if answer.status_code == 404:
            raise HopFailure("gateway", "the pod is of an earlier release, which cannot test MCP servers: rebuild it")
        said = body_of(answer, "ok", "ms", "tools", "error", at_most=MCP_TEST_BYTES)
    try:
        error = None if said["error"] is None else _string(said["error"])
        tools = [_string(name) for name in said["tools"]]
        return TriedServer(ok=said["ok"] is True, ms=operator.index(said["ms"]), tools=tools, error=error)
    except TypeError as failure:
        raise HopFailure("gateway", "the pod told of its MCP server in words that nobody knows") from failure


def channels(endpoint: Endpoint, access: Access, *, wanted: Iterable[str]) -> dict[str, str | None]:
    """Why nobody is heard on these channels, None where it is well; those that the gateway leaves out are left out.

    Raises HopFailure, also while engine and model key are not there: then it says nothing about channels.
    """
    with call("GET", endpoint, access, "/channels", seconds=CHANNELS_SECONDS) as answer:
        said = body_of(answer, "channels", at_most=CHANNELS_BYTES)["channels"]
    try:
        return {name: None if said[name] is None else _string(said[name]) for name in wanted if name in said}
    except TypeError as error:
        raise HopFailure("engine", "the pod told of its channels in words that nobody knows") from error


def memory(endpoint: Endpoint, access: Access) -> Memory:
    """What the engine has learned. Raises HopFailure also for what is no such answer: hostile engines may give it."""
    with call("GET", endpoint, access, "/memory", seconds=MEMORY_SECONDS) as answer:
        body = body_of(answer, "skills", "memories", "sessions", "is_cut")
    try:
        return memory_of(body)
    except (KeyError, TypeError, ValueError) as error:
        raise HopFailure("engine", "the engine's bridge told of its memory in words that nobody knows") from error


def memory_of(body: dict[str, Any]) -> Memory:
    """As a bridge tells it. Raises KeyError, TypeError, ValueError for anything else."""
    return Memory(
        skills=[_string(name) for name in body["skills"]],
        memories=[(_string(one["name"]), _string(one["content"])) for one in body["memories"]],
        sessions=min(max(operator.index(body["sessions"]), 0), MAX_SESSIONS),
        is_cut=body["is_cut"] is True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupOrder:
    """What a pod needs for one backup: where the endpoint is, what opens it, and what opens the repository."""

    id: str
    url: str
    credential: str = field(repr=False)
    password: str = field(repr=False)
    most_bytes: int
    snapshot: str = ""  # what is restored
    repository: str = ""  # from which, where it is not the agent's own


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupState:
    """`phase` is running, done or failed; only what is done has a snapshot."""

    phase: str
    snapshot: str
    size: int
    message: str  # why it failed, or what is not as it should be
    broken: int = 0  # databases of the agent that are not whole in it


def back_up(endpoint: Endpoint, access: Access, order: BackupOrder) -> BackupState:
    """Have a backup begun, or hear what became of it; the same order is the same backup. Raises HopFailure."""
    with call("PUT", endpoint, access, "/backup", seconds=BACKUP_SECONDS, body=dataclasses.asdict(order)) as answer:
        said = body_of(answer, "phase")
    try:
        if said["phase"] != "done":
            return BackupState(phase=str(said["phase"]), snapshot="", size=0, message=str(said.get("message", "")))
        size = min(max(operator.index(said["size"]), 0), order.most_bytes)
        broken = min(max(operator.index(said.get("broken", 0)), 0), MAX_SESSIONS)
        note = str(said.get("note", ""))
        return BackupState(phase="done", snapshot=_snapshot(said), size=size, message=note, broken=broken)
    except (KeyError, TypeError, ValueError) as error:
        raise HopFailure("engine", "the engine's bridge told of its backup in words that nobody knows") from error


def restore(endpoint: Endpoint, access: Access, order: BackupOrder) -> BackupState:
    """Have a restore begun in a pod that was started for it, or hear what became of it. Raises HopFailure."""
    with call("PUT", endpoint, access, "/restore", seconds=BACKUP_SECONDS, body=dataclasses.asdict(order)) as answer:
        said = body_of(answer, "phase")
    return BackupState(phase=str(said["phase"]), snapshot="", size=0, message=str(said.get("message", "")))


def _snapshot(said: dict[str, Any]) -> str:
    if not _SNAPSHOT.fullmatch(said["snapshot"]):
        raise ValueError
    return str(said["snapshot"])


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def chat(endpoint: Endpoint, access: Access, *, message: str, session_id: str | None) -> ChatReply:
    """One turn, waited for. Raises HopFailure; an empty reply is a pod without a model key."""
    body = _question(message, session_id)
    with call("POST", endpoint, access, "/chat", seconds=TURN_SECONDS, body=body) as answer:
        said = body_of(answer, "reply", "session_id")
        allowance, given = Allowance(), said.get("parts")
        read = [allowance.read(raw) for raw in given] if isinstance(given, list) else []
        return ChatReply(said["reply"], said["session_id"], [part for part in read if part])


def chat_events(
    endpoint: Endpoint, access: Access, *, message: str, session_id: str | None
) -> Generator[ChatEvent, None, None]:
    """The same turn as it comes, `start` when the pod has begun it. Closing the iterator ends the turn.

    Raises HopFailure before the first event only.
    """
    body = _question(message, session_id)
    headers = {"Accept": "text/event-stream"}
    with call("POST", endpoint, access, "/chat", seconds=TURN_SECONDS, body=body, headers=headers) as answer:
        if answer.status_code != 200:
            body_of(answer)
        yield ChatEvent("start", {})
        yield from _events(answer)


def _question(message: str, session_id: str | None) -> dict[str, Any]:
    return {"message": message, **({"session_id": session_id} if session_id else {})}


@contextmanager
def call(
    method: str,
    endpoint: Endpoint,
    access: Access,
    path: str,
    *,
    seconds: float,
    body: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
) -> Iterator[requests.Response]:
    """One request: no redirects, nothing read yet. It ends when the caller has left.

    `seconds` are for each silence, and with those for connecting for the whole: a gateway that was taken over may send
    a byte now and then. The gateway proves who it is before it is told anything.
    """
    if not access.certificate:
        raise HopFailure("gateway", "the pod's gateway is being started: it has no certificate yet")
    connecting = min(CONNECT_SECONDS, seconds)
    until = time.monotonic() + connecting + seconds
    with (
        certificates.session(access.certificate) as session,
        hanging_up.ends_with_caller(session, seconds=connecting + seconds),
    ):
        try:
            with session.request(
                method,
                endpoint.management_url + path,
                json=body,
                headers={"Authorization": f"Bearer {access.token}", **(headers or {})},
                timeout=(connecting, seconds),
                allow_redirects=False,
                stream=True,
            ) as answer:
                yield answer
        except requests.RequestException as error:
            raise HopFailure("gateway", _why(error, is_late=time.monotonic() >= until)) from error


def _why(error: requests.RequestException, *, is_late: bool) -> str:
    if is_late or isinstance(error, requests.Timeout):
        return "the pod's gateway did not answer in time"
    if isinstance(error, requests.exceptions.SSLError):
        return "what answers in the place of the pod's gateway does not prove to be it"
    return f"the pod's gateway is not reached ({type(error).__name__})"


def body_of(answer: requests.Response, *needed: str, at_most: int = MAX_REPLY_BYTES) -> dict[str, Any]:
    """The JSON object of a success, with these keys. Raises HopFailure for anything else."""
    raw = bytearray()
    for chunk in answer.iter_content(chunk_size=65536):
        raw += chunk
        if len(raw) > at_most:
            raise HopFailure("gateway", f"the pod's gateway answered more than {at_most} bytes")
    try:
        body = orjson.loads(raw)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise HopFailure("gateway", f"the pod's gateway answered {answer.status_code} without a JSON body")
    if answer.status_code != 200:
        message = str(body.get("message") or f"the pod's gateway answered {answer.status_code}")
        raise HopFailure(str(body.get("hop") or "gateway"), message)
    if missing := [name for name in needed if name not in body]:
        raise HopFailure("gateway", f"the pod's gateway answered without {' and '.join(missing)}")
    return body


def _events(answer: requests.Response) -> Iterator[ChatEvent]:
    """Server-sent events, ended by `done` or `error`; a stream that breaks off before is an error of the gateway."""
    name, allowance = "message", Allowance()
    for line in _lines(answer):
        field_name, _, value = line.partition(":")
        if field_name == "event":
            name = value.strip()
        elif field_name == "data" and name == "part":
            if part := allowance.read(_data(value)):
                yield ChatEvent(name, {"part": part})
        elif field_name == "data":
            yield ChatEvent(name, _data(value))
            if name in {"done", "error"}:
                return
    yield ChatEvent("error", {"hop": "gateway", "message": "the pod's gateway broke off"})


def _data(value: str) -> dict[str, Any]:
    try:
        body = orjson.loads(value)
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {}


def _lines(answer: requests.Response) -> Iterator[str]:
    """Ends early after MAX_REPLY_BYTES: nothing bounds what waits in web for a client that reads slowly."""
    rest, came = b"", 0
    try:
        for chunk in answer.iter_content(chunk_size=None):
            came += len(chunk)
            if came > MAX_REPLY_BYTES:
                return
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (line.decode().rstrip("\r") for line in lines)
    except requests.RequestException:
        return
