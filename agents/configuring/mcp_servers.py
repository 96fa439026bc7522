"""The MCP servers that an agent may have: their names, transports, addresses, headers and environment."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from agents.engines import ENGINES
from agents.pod.hop_by_hop import CONNECTION
from catalog import tools as catalog_tools
from catalog.models import Engine
from config.errors import BadRequest

# The request body's fields count these before any of them is looked at (agents/serializers/agents.py).
MAX_SERVERS = 20
MAX_HEADERS = 32
MAX_ENV = 64

MAX_ARGUMENT_CHARACTERS = 16_000  # of all arguments of one server together
MAX_VALUE_CHARACTERS = 8_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_URL = re.compile(r"[!-\[\]-~]+")  # visible ASCII without the backslash
# The protocol itself sets these headers.
_OWN_HEADERS = CONNECTION | {
    "accept", "content-length", "content-type", "host", "last-event-id", "mcp-protocol-version", "mcp-session-id",
}  # fmt: skip

Server = dict[str, Any]


def check(servers: list[Server], *, engine: Engine, where: str) -> None:
    """Raise BadRequest naming the first field that is wrong. `where` is the path of the list."""
    if servers and not engine.mcp:
        raise BadRequest(f"{where}: {engine.label} takes no MCP servers")
    _check_names([str(server["name"]) for server in servers], where)
    for index, server in enumerate(servers):
        _check_transport(server, f"{where}[{index}]", engine)


def _check_names(names: list[str], where: str) -> None:
    reserved = catalog_tools.names()
    for index, name in enumerate(names):
        if not _NAME.fullmatch(name):
            raise BadRequest(f"{where}[{index}].name: {name!r} must be 1 to 40 letters, digits, '-' or '_'")
        if name in reserved:
            raise BadRequest(f"{where}[{index}].name: {name!r} is the id of a built-in toolset")
        if _alike(name) in map(_alike, names[:index]):
            raise BadRequest(f"{where}[{index}].name: {name!r} comes twice (engines do not tell '-' from '_' in names)")


def _alike(name: str) -> str:
    """The name as engines compare it: they make tool names of it, in which `-` may become `_`."""
    return name.lower().replace("-", "_")


def _check_transport(server: Server, where: str, engine: Engine) -> None:
    has_command, has_url = bool(server.get("command")), bool(server.get("url"))
    if has_command == has_url:
        raise BadRequest(f"{where}: either command or url")
    if has_url:
        if server.get("args") or server.get("env"):
            raise BadRequest(f"{where}: args and env belong to command, not to url")
        _check_url(server["url"], f"{where}.url")
        _check_headers(server.get("headers") or {}, f"{where}.headers")
        return
    if server.get("headers"):
        raise BadRequest(f"{where}: headers belong to url, not to command")
    if not _starts_servers(engine):
        raise BadRequest(f"{where}.command: {engine.label} takes MCP servers over HTTP only: give url")
    _check_command(server, where)
    _check_env(server.get("env") or {}, f"{where}.env")


def _starts_servers(engine: Engine) -> bool:
    adapter = ENGINES.get(engine.id)
    return adapter is None or adapter.mcp_stdio


def _check_url(url: str, where: str) -> None:
    """Check the form of the address: every program must read the same address in it. Only the agent's own pod visits
    it, never this service."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not _URL.fullmatch(url):
        raise BadRequest(f"{where}: must be an absolute https:// or http:// address")
    if "@" in urlsplit(url).netloc:
        raise BadRequest(f"{where}: credentials belong in headers")
    if "#" in url:
        raise BadRequest(f"{where}: must be an address without a fragment")


def _check_headers(headers: dict[str, str], where: str) -> None:
    names = [name.lower() for name in headers]
    for index, (name, value) in enumerate(headers.items()):
        if not _HEADER_NAME.fullmatch(name):
            raise BadRequest(f"{where}: {name[:128]!r} is not a header's name")
        if name.lower() in _OWN_HEADERS or names.index(name.lower()) != index:
            raise BadRequest(f"{where}.{name}: is set by the protocol, or comes twice")
        if not (value.isascii() and value.isprintable()) or value != value.strip() or len(value) > MAX_VALUE_CHARACTERS:
            raise BadRequest(
                f"{where}.{name}: at most {MAX_VALUE_CHARACTERS} printable ASCII characters, no white space around them"
            )


def _check_command(server: Server, where: str) -> None:
    if not server["command"].isprintable() or not server["command"].strip():
        raise BadRequest(f"{where}.command: must be a program's name or path without control characters")
    arguments = server.get("args") or []
    for index, argument in enumerate(arguments):
        if "\x00" in argument:
            raise BadRequest(f"{where}.args[{index}]: must not hold a NUL character")
    if sum(len(argument) for argument in arguments) > MAX_ARGUMENT_CHARACTERS:
        raise BadRequest(f"{where}.args: at most {MAX_ARGUMENT_CHARACTERS} characters in all")


def _check_env(env: dict[str, str], where: str) -> None:
    for name, value in env.items():
        if not _ENV_NAME.fullmatch(name):
            raise BadRequest(f"{where}: {name[:128]!r} must be letters, digits and '_', not beginning with a digit")
        if "\x00" in value or len(value) > MAX_VALUE_CHARACTERS:
            raise BadRequest(f"{where}.{name}: at most {MAX_VALUE_CHARACTERS} characters, none of them NUL")
