"""The control plane's client for a gateway's management listener. The runtime gives the address; no URL is stored."""

from __future__ import annotations

import operator
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
import requests

from agents.cause import Cause
from agents.pod.turns.failures import EngineError, Hop, HopFailure
from agents.runtimes import certificates
from agents.runtimes.base import Access, Endpoint, PodConfig, PodSecrets, RuntimeFailure
from config import hanging_up

CONNECT_SECONDS = 10.0  # including the TLS handshake, which may be slow on a busy machine
HEALTH_SECONDS = 5.0
CONFIGURE_SECONDS = 25.0
TURN_SECONDS = 115.0  # the gateway gives up after 110 s
MEMORY_SECONDS = 15.0
CHANNELS_SECONDS = 8.0
CHANNELS_BYTES = 64 * 1024
MCP_TEST_SECONDS = 20.0  # the gateway gives up after 15 s
MCP_TEST_BYTES = 256 * 1024
TALK_TEST_SECONDS = 85.0  # a turn of 60 s, and the checks before and after it
TIMINGS_SECONDS = 5.0
TIMINGS_BYTES = 64 * 1024
MAX_SESSIONS = 2**31 - 1
MONTH_SECONDS = 31 * 24 * 3600
MAX_REPLY_BYTES = 8 * 1024 * 1024

LATE = "the pod's gateway did not answer in time"
UNPROVEN = "the program at the gateway's address does not prove that it is the pod's gateway"


@dataclass(frozen=True, slots=True)
class ModelRefusal:
    """The result of the last model call, if it was a failure. `status` is None if there was no answer."""

    status: int | None
    message: str
    at: datetime
    of_limit: bool = False  # a limit of the owner's refused the call; gateways of older releases do not tell it


@dataclass(frozen=True, slots=True)
class GatewayHealth:
    revision: int
    has_key: bool
    engine: dict[str, Any] | None  # the state from the bridge; None while the bridge does not answer
    model: ModelRefusal | None = None
    model_answered: bool = False  # whether it has answered since the last change of key, provider or model
    # Memory of the bridge itself in bytes; None from an older release. It is left out of comparisons.
    bridge_bytes: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TriedHop:
    """One hop of a talk test. `ms` is None if the hop was not tried, `error` is None if it works."""

    hop: str
    ok: bool
    ms: int | None
    error: str | None


@dataclass(frozen=True, slots=True)
class TriedServer:
    """The test of one MCP server from the pod: the names of its tools, or the error."""

    ok: bool
    ms: int
    tools: list[str]
    error: str | None


@dataclass(frozen=True, slots=True)
class Memory:
    """What an engine has learned: names of skills, memories as name and content, and the number of sessions."""

    skills: list[str]
    memories: list[tuple[str, str]] = field(repr=False)
    sessions: int
    is_cut: bool


def health(endpoint: Endpoint, access: Access, *, seconds: float = HEALTH_SECONDS) -> GatewayHealth:
    """The state of the gateway, its engine and the model. Raises HopFailure if the gateway does not answer."""
    with call("GET", endpoint, access, "/health", seconds=seconds) as answer:
        body = body_of(answer, "revision", "has_key")
        model = body.get("model") or {}
        engine = body.get("engine")
        bridge_bytes = engine.pop("bridgeBytes", None) if engine else None
        return GatewayHealth(
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
    return ModelRefusal(
        status=last["status"],
        message=last["message"],
        at=datetime.fromisoformat(last["at"]),
        of_limit=last.get("of_limit") is True,
    )


def configure(endpoint: Endpoint, access: Access, *, config: PodConfig, secrets: PodSecrets) -> None:
    """Give a revision and its secrets to the pod. Raises RuntimeFailure unless gateway and bridge have accepted it."""
    body = {"config": config.told(), "secrets": secrets.told()}
    try:
        with call("PUT", endpoint, access, "/config", seconds=CONFIGURE_SECONDS, body=body) as answer:
            body_of(answer)
    except HopFailure as failure:
        raise RuntimeFailure(f"configuration not taken: {failure}", cause=Cause.CONFIGURE) from failure


def talk_test(endpoint: Endpoint, access: Access, *, api_key: Mapping[str, Any] | None = None) -> list[TriedHop]:
    """Send one message through every hop; returns them in order. Raises HopFailure if the gateway does not answer.
    `api_key` is what the gateway needs to know of the API key that asked for it.
    """
    body = {"api_key": dict(api_key)} if api_key else None
    with call("POST", endpoint, access, "/talk-test", seconds=TALK_TEST_SECONDS, body=body) as answer:
        hops = body_of(answer, "hops")["hops"]
        return [TriedHop(hop=hop["hop"], ok=hop["ok"], ms=hop["ms"], error=hop["error"]) for hop in hops]


def mcp_test(endpoint: Endpoint, access: Access, *, url: str, headers: dict[str, str]) -> TriedServer:
    """Whether the MCP server at this address answers the pod. Raises HopFailure if the gateway does not answer."""
    body = {"url": url, "headers": headers}
    with call("POST", endpoint, access, "/mcp-test", seconds=MCP_TEST_SECONDS, body=body) as answer:
        if answer.status_code == 404:
            raise HopFailure(Hop.GATEWAY, "the pod is of an earlier release, which cannot test MCP servers: rebuild it")
        said = body_of(answer, "ok", "ms", "tools", "error", at_most=MCP_TEST_BYTES)
    try:
        error = None if said["error"] is None else _string(said["error"])
        tools = [_string(name) for name in said["tools"]]
        return TriedServer(ok=said["ok"] is True, ms=operator.index(said["ms"]), tools=tools, error=error)
    except TypeError as failure:
        raise HopFailure(Hop.GATEWAY, "the pod gave an unknown answer about its MCP server") from failure


def restart_engine(endpoint: Endpoint, access: Access) -> None:
    """Have the pod's engine ended and started again. Raises HopFailure, also while the engine does not run."""
    with call("POST", endpoint, access, "/restart-engine", seconds=HEALTH_SECONDS) as answer:
        if answer.status_code == 404:
            raise HopFailure(Hop.GATEWAY, "the pod is of an earlier release, which cannot do this: rebuild it")
        if body_of(answer, "restarting")["restarting"] is not True:
            raise EngineError("the engine does not run, so the pod is starting it already, or waits for a rebuild")


def channels(endpoint: Endpoint, access: Access, *, wanted: Iterable[str]) -> dict[str, str | None]:
    """Why nobody can reach the agent on each channel, None if it is fine. The gateway may leave channels out.
    Raises HopFailure, also while engine or model key is missing, because then nothing can be said about channels.
    """
    with call("GET", endpoint, access, "/channels", seconds=CHANNELS_SECONDS) as answer:
        said = body_of(answer, "channels", at_most=CHANNELS_BYTES)["channels"]
    try:
        return {name: None if said[name] is None else _string(said[name]) for name in wanted if name in said}
    except TypeError as error:
        raise EngineError("the pod gave an unknown answer about its channels") from error


def memory(endpoint: Endpoint, access: Access) -> Memory:
    """What the engine has learned. Raises HopFailure, also for a malformed answer, which a hostile engine may give."""
    with call("GET", endpoint, access, "/memory", seconds=MEMORY_SECONDS) as answer:
        body = body_of(answer, "skills", "memories", "sessions", "is_cut")
    try:
        return memory_of(body)
    except (KeyError, TypeError, ValueError) as error:
        raise EngineError("the engine's bridge gave an unknown answer about its memory") from error


def memory_of(body: dict[str, Any]) -> Memory:
    """Read the bridge's JSON form. Raises KeyError, TypeError, ValueError for anything else."""
    return Memory(
        skills=[_string(name) for name in body["skills"]],
        memories=[(_string(one["name"]), _string(one["content"])) for one in body["memories"]],
        sessions=min(max(operator.index(body["sessions"]), 0), MAX_SESSIONS),
        is_cut=body["is_cut"] is True,
    )


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def timings(endpoint: Endpoint, access: Access, *, span: str) -> list[dict[str, Any]]:
    """How long the parts of a traced turn took, as the gateway says. Raises HopFailure."""
    with call("GET", endpoint, access, f"/timings?span={span}", seconds=TIMINGS_SECONDS) as answer:
        parts: list[dict[str, Any]] = body_of(answer, "parts", at_most=TIMINGS_BYTES)["parts"]
        return parts


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
    """One request without redirects; its body is not read yet. It is cut off when the caller's client has disconnected.
    `seconds` limits each silence, and together with the time for connecting also the whole, because a hostile gateway
    may send a byte now and then. The gateway must prove its identity before anything is sent.
    """
    if not access.certificate:
        raise without_certificate()
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
            raise HopFailure(Hop.GATEWAY, _why(error, is_late=time.monotonic() >= until)) from error


def without_certificate() -> HopFailure:
    return HopFailure(Hop.GATEWAY, "the pod's gateway is being started: it has no certificate yet")


def _why(error: requests.RequestException, *, is_late: bool) -> str:
    if is_late or isinstance(error, requests.Timeout):
        return LATE
    if isinstance(error, requests.exceptions.SSLError):
        return UNPROVEN
    return unreached(type(error).__name__)


def unreached(kind: str) -> str:
    return f"the pod's gateway cannot be reached ({kind})"


def body_of(answer: requests.Response, *needed: str, at_most: int = MAX_REPLY_BYTES) -> dict[str, Any]:
    """The JSON object of a successful answer with these keys. Raises HopFailure for anything else."""
    raw = bytearray()
    for chunk in answer.iter_content(chunk_size=65536):
        raw += chunk
        if len(raw) > at_most:
            raise too_long(at_most)
    return object_of(answer.status_code, raw, *needed)


def too_long(at_most: int) -> HopFailure:
    return HopFailure(Hop.GATEWAY, f"the pod's gateway answered more than {at_most} bytes")


def object_of(status: int, raw: bytes | bytearray, *needed: str) -> dict[str, Any]:
    """The JSON object of an answer that was read. Raises HopFailure unless it is a success with these keys."""
    try:
        body = orjson.loads(raw)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise HopFailure(Hop.GATEWAY, f"the pod's gateway answered {status} without a JSON body")
    if status != 200:
        message = str(body.get("message") or f"the pod's gateway answered {status}")
        raise HopFailure(Hop.GATEWAY.or_behind(body.get("hop")), message, retry_after=_seconds(body.get("retry_after")))
    if missing := [name for name in needed if name not in body]:
        raise HopFailure(Hop.GATEWAY, f"the pod's gateway answered without {' and '.join(missing)}")
    return body


def _seconds(told: object) -> int | None:
    """A gateway may be hostile: the seconds that it tells are at most a month."""
    return min(told, MONTH_SECONDS) if type(told) is int and told > 0 else None
