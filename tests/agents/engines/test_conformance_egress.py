"""Each engine with the egress broker: its model still answers, and its commands reach hosts through the gateway."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.pod.gateway.egress import authority
from tests.agents.engines.conftest import TICKET_KEY, EnginePod, those
from tests.agents.engines.expectations import expected
from tests.doubles.certificates import Certificates
from tests.doubles.far_host import FarHost
from tests.doubles.model_protocols import ToolCall

pytestmark = [pytest.mark.engines, pytest.mark.here]

SECRET = "ghp_0123456789abcdefghijklmnop"
# They take the variables that start with NODE_ away from their commands.
CLEARING = {"hermes", "openclaw"}
# Names below `localhost` are this machine's, for which curl asks no proxy unless it is told so.
THROUGH = "export NO_PROXY=127.0.0.1 no_proxy=127.0.0.1; "


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FarHost]:
    certificates = Certificates(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.authority))
    with FarHost(certificates.server("api.localhost")) as host:
        yield host


def start(pod: EnginePod, far: FarHost, **config: object) -> None:
    host = f"api.localhost:{far.port}"
    secret = {"hosts": [host], "header": "Authorization", "prefix": "Bearer ", "value": SECRET}
    given = {"limited": True, "hosts": [], "secrets": [secret], "networks": ["127.0.0.0/8"]}
    secrets = dataclasses.replace(pod.spec.secrets, egress=given)
    pod.spec = dataclasses.replace(pod.spec, secrets=secrets)
    pod.start(egress_authority=authority.certificate_of(TICKET_KEY), egress_limited=True, **config)


def test_its_model_answers_while_it_uses_the_broker(pod: EnginePod, far: FarHost) -> None:
    start(pod, far)
    assert pod.say("hello") == "pong"
    assert pod.state()["walled"] is True
    assert all(SECRET not in str(process.environ()) for process in pod.engine_processes())


@pytest.mark.parametrize("engine", those(lambda known: known.exec), indirect=True)
def test_its_commands_reach_hosts_through_the_gateway_alone(pod: EnginePod, far: FarHost) -> None:
    toolset, tool, argument = expected(pod).deed
    start(pod, far, toolsets=[toolset])
    good, bad = f"https://api.localhost:{far.port}/", f"https://evil.localhost:{far.port}/"
    command = f"{THROUGH} curl -sS {good}by-curl; curl -sS {bad} 2>&1; curl -k --noproxy '*' {good}past-the-broker; "
    command += f"""python3 -c 'import urllib.request as u; print(u.urlopen("{good}by-python").status)'; """
    command += f"""node -e 'fetch("{good}by-node").then(r => console.log("node", r.status))'"""
    pod.model.tool_calls = [ToolCall(tool, {argument: command})]
    assert pod.say("run it") == "pong"
    heard = str(pod.model.turns()[-1].body)
    with_node = () if pod.engine.id in CLEARING else ("node",)
    assert {one.path: one.values("Authorization") for one in far.requests} == {
        f"/by-{program}": [f"Bearer {SECRET}"] for program in ("curl", "python", *with_node)
    }
    assert "403" in heard
    assert "[secret]" in heard
    assert SECRET not in heard
