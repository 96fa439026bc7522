"""Which MCP servers an engine can have: the rule for an engine that starts servers, and for one that does not."""

from __future__ import annotations

from typing import Any

import pytest

from agents.configuring import tools
from config.errors import BadRequest

STDIO = {"name": "files", "command": "npx", "args": ["-y", "server"], "env": {"TOKEN": "x"}}
HTTP = {"name": "crm", "url": "https://crm.example/mcp", "headers": {"Authorization": "Bearer x"}}

pytestmark = pytest.mark.usefixtures("catalog")


def check(*servers: dict[str, Any], engine: str = "hermes") -> None:
    tools.check(["a2a"], list(servers), secrets={}, engine_id=engine, prefix="tools.")


def test_servers_of_both_transports_are_taken() -> None:
    check(STDIO, HTTP)


def test_an_engine_without_a_transport_names_the_field() -> None:
    check(HTTP, engine="pi")
    with pytest.raises(
        BadRequest, match=r"tools.mcpServers\[1\].command: Pi takes MCP servers over HTTP only: give url"
    ):
        check(HTTP, STDIO, engine="pi")


@pytest.mark.parametrize(
    ("server", "named"),
    [
        ({"name": "x"}, r"tools.mcpServers\[1\]: either command or url"),
        ({**STDIO, "name": "x", "url": "https://x.example"}, r"mcpServers\[1\]: either"),
        ({**HTTP, "name": "x", "args": ["a"]}, r"mcpServers\[1\]: args and env"),
        ({**STDIO, "name": "x", "headers": {"A": "b"}}, r"mcpServers\[1\]: headers"),
        ({**HTTP, "name": "files"}, r"mcpServers\[1\].name: 'files' comes twice"),
        ({**HTTP, "name": "web"}, r"mcpServers\[1\].name: 'web' is the id of a built-in"),
        ({**HTTP, "name": "has space"}, r"mcpServers\[1\].name: 'has space' must be"),
        ({**HTTP, "name": ""}, r"mcpServers\[1\].name: '' must be"),
        ({**HTTP, "name": "FILES"}, r"mcpServers\[1\].name: 'FILES' comes twice"),
    ],
)
def test_a_server_that_cannot_be_is_named(server: dict[str, Any], named: str) -> None:
    with pytest.raises(BadRequest, match=named):
        check(STDIO, server)


@pytest.mark.parametrize(
    "url",
    [
        "crm.example/mcp", "/mcp", "ftp://crm.example", "https://", "https:///mcp", "http://crm.example:99999/",
        "http://crm.example:0/", "https://crm.example/a b", "https://crm.example/\n", "https://crm.example\\@x",
        "https://[::1", "javascript:alert(1)", "https://crm.example/\u00e9",
    ],
)  # fmt: skip
def test_an_address_is_absolute_and_plain(url: str) -> None:
    with pytest.raises(BadRequest, match=r"mcpServers\[0\].url: must be an absolute"):
        check({"name": "crm", "url": url})


@pytest.mark.parametrize(
    ("url", "named"),
    [("https://me:secret@crm.example/", "credentials"), ("https://me@crm.example/", "credentials"),
     ("https://crm.example/#top", "fragment")],
)  # fmt: skip
def test_an_address_holds_no_credentials_and_no_fragment(url: str, named: str) -> None:
    with pytest.raises(BadRequest, match=rf"mcpServers\[0\].url: .*{named}"):
        check({"name": "crm", "url": url})


@pytest.mark.parametrize("url", ["http://10.0.0.7:3000/mcp?team=a", "https://[2001:db8::1]/mcp", "http://localhost/"])
def test_any_host_is_taken_since_only_the_pod_goes_there(url: str) -> None:
    check({"name": "crm", "url": url})


@pytest.mark.parametrize(
    ("headers", "named"),
    [
        ({"X Key": "a"}, r"headers: 'X Key' is not a header's name"),
        ({"": "a"}, r"headers: '' is not"),
        ({"X-Key:": "a"}, r"headers: 'X-Key:' is not"),
        ({"X-Key": "a\r\nHost: b"}, r"headers.X-Key: at most 8000 printable"),
        ({"X-Key": "a\x00"}, r"headers.X-Key: at most"),
        ({"X-Key": "\u043a\u043b\u044e\u0447"}, r"headers.X-Key: at most"),
        ({"X-Key": " a"}, r"headers.X-Key: .*no white space"),
        ({"X-Key": "a" * 8001}, r"headers.X-Key: at most 8000"),
        ({"X-Key": "a", "x-key": "b"}, r"headers.x-key: is set by the protocol, or comes twice"),
        ({"Content-Length": "3"}, r"headers.Content-Length: is set by the protocol"),
    ],
)
def test_a_header_that_cannot_be_sent_is_named(headers: dict[str, str], named: str) -> None:
    with pytest.raises(BadRequest, match=rf"tools.mcpServers\[0\].{named}"):
        check({**HTTP, "headers": headers})


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"command": "npx\x00"}, r"command: must be"),
        ({"command": " "}, r"command: must be"),
        ({"args": ["-y", "a\x00b"]}, r"args\[1\]: must not hold a NUL"),
        ({"args": ["a" * 4000] * 5}, r"args: at most 16000 characters in all"),
        ({"env": {"1A": "x"}}, r"env: '1A' must be letters"),
        ({"env": {"A=B": "x"}}, r"env: 'A=B' must be"),
        ({"env": {"A": "x\x00"}}, r"env.A: at most 8000 characters, none of them NUL"),
    ],
)
def test_a_command_that_cannot_be_started_is_named(given: dict[str, Any], named: str) -> None:
    with pytest.raises(BadRequest, match=rf"tools.mcpServers\[0\].{named}"):
        check({**STDIO, **given})
