"""Which toolsets and MCP servers an engine can have: the rule, for an engine that takes them."""

from __future__ import annotations

from typing import Any

import pytest

from agents import tools
from config.errors import BadRequest

STDIO = {"name": "files", "command": "npx", "args": ["-y", "server"], "env": {"TOKEN": "x"}}
HTTP = {"name": "crm", "url": "https://crm.example/mcp", "headers": {"Authorization": "Bearer x"}}

pytestmark = pytest.mark.usefixtures("catalog")


def check(*servers: dict[str, Any], enabled: list[str] | None = None) -> None:
    tools.check(enabled or [], list(servers), engine_id="hermes", prefix="tools.")


def test_servers_of_both_transports_are_taken() -> None:
    check(STDIO, HTTP, enabled=["web", "a2a"])


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
    ],
)
def test_a_server_that_cannot_be_is_named(server: dict[str, Any], named: str) -> None:
    with pytest.raises(BadRequest, match=named):
        check(STDIO, server)


def test_there_are_at_most_twenty_servers() -> None:
    check(*[{**HTTP, "name": f"s{number}"} for number in range(20)])
    with pytest.raises(BadRequest, match="at most 20"):
        check(*[{**HTTP, "name": f"s{number}"} for number in range(21)])


def test_the_toolset_a2a_is_given_once() -> None:
    with pytest.raises(BadRequest, match="'a2a' is given twice"):
        check(enabled=["a2a", "a2a"])
