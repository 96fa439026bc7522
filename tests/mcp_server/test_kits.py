"""The official conformance suite and the inspector find no fault of ours. `make test-mcp` runs these.

The suite's other scenarios call tools, prompts and resources of its own fixture server (such as `test_simple_text`), or
use what `/mcp` does not offer: streams, sessions, subscriptions, completion, logging, questions back to the client.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pytest_django.live_server_helper import LiveServer

from tests.agents.conftest import PERSONA
from tests.mcp_server import kits

pytestmark = pytest.mark.mcp

OF_BOTH = ("tools-list", "resources-list", "prompts-list", "dns-rebinding-protection")
OF_MODERN = ("caching", "http-header-validation", "sep-2164-resource-not-found", "server-stateless")
SCENARIOS = [
    *(("2025-11-25", one) for one in ("server-initialize", "ping", *OF_BOTH)),
    *(("2026-07-28", one) for one in (*OF_BOTH[:3], *OF_MODERN)),
]
# Checks that may fail, and why that is no fault of ours. The suite fails for one that passes.
FIXTURE = "calls a tool of the suite's own fixture server"
EXPECTED: dict[str, dict[str, str]] = {
    "server-stateless": {
        "sep-2575-server-rejects-undeclared-capability": FIXTURE,
        "sep-2575-missing-capability-http-400": FIXTURE,
        "sep-2575-http-server-no-independent-requests-on-stream": FIXTURE,
        "sep-2575-server-no-log-without-loglevel": FIXTURE,
    }
}


@pytest.mark.parametrize(("revision", "scenario"), SCENARIOS)
def test_the_conformance_suite_finds_no_fault_of_ours(
    live_server: LiveServer, key: str, settings: Any, tmp_path: Path, revision: str, scenario: str
) -> None:
    expected = tmp_path / "expected.yaml"
    expected.write_text(yaml.safe_dump({"server": [f"{scenario}:{check}" for check in EXPECTED.get(scenario, {})]}))
    with kits.with_key(live_server.url, key) as url:
        settings.BASE_URL = url
        server = [
            "server",
            "--url",
            f"{url}/mcp",
            "--scenario",
            scenario,
            "--spec-version",
            revision,
            "--timeout",
            "240000",
        ]
        code, said = kits.run("conformance", [*server, "--expected-failures", str(expected)], in_directory=tmp_path)
    assert code == 0, said
    assert re.search(r"Passed: [1-9]\d*/", said), said


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_the_inspector_lists_and_calls_tools(live_server: LiveServer, key: str, tmp_path: Path, era: str) -> None:
    server = ["--cli", f"{live_server.url}/mcp", "--transport", "http", "--protocol-era", era]
    credential = ["--header", f"Authorization: Bearer {key}"]

    def inspected(*asked: str) -> Any:
        code, said = kits.run("mcp-inspector", [*server, *credential, *asked], in_directory=tmp_path)
        assert code == 0, said
        return json.loads(said[said.index("{") : said.rindex("}") + 1])

    assert len(inspected("--method", "tools/list")["tools"]) >= 20
    read = ("--method", "tools/call", "--tool-name", "get_persona", "--tool-arg", f"personaId={PERSONA}")
    assert inspected(*read)["structuredContent"]["persona"]["id"] == PERSONA
    assert inspected("--method", "resources/read", "--uri", "agentpods://docs/start")["contents"]
    assert len(inspected("--method", "prompts/list")["prompts"]) == 3


def test_the_inspector_is_told_that_it_needs_a_credential(live_server: LiveServer, key: str, tmp_path: Path) -> None:
    asked = ["--cli", f"{live_server.url}/mcp", "--transport", "http", "--method", "tools/list"]
    code, said = kits.run("mcp-inspector", asked, in_directory=tmp_path)
    assert code != 0
    assert "auth_required" in said
