"""The gateway's log: the bridge's lines are masked again, survive a kill, and are limited whatever the bridge sends."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from agents.pod.gateway.logs import LINE_BYTES
from agents.pod.logs.reading import LinesPage
from agents.pod.turns.failures import HopFailure
from agents.runtimes import pod_logs
from agents.runtimes.base import Endpoint
from agents.runtimes.pod_logs import LogQuery, OtherLife
from tests.agents.pod.bridge.process import eventually
from tests.agents.pod.gateway.process import KEY, GatewayProcess
from tests.doubles.bridge import BridgeDouble, line


@pytest.fixture
def gateway(start_gateway: Any) -> GatewayProcess:
    found: GatewayProcess = start_gateway()
    return found


def page(gateway: GatewayProcess, *, after: int | None = 0, **more: Any) -> LinesPage:
    endpoint = Endpoint(public_url=gateway.public, management_url=gateway.management)
    return pod_logs.page(endpoint, gateway.access, LogQuery(after=after, limit=1000, **more))


def texts(gateway: GatewayProcess) -> list[str]:
    return [found.text for _, found in page(gateway).lines]


def wait_for(gateway: GatewayProcess, text: str) -> list[str]:
    """Wait for this line. Returns all lines."""
    eventually(lambda: text in texts(gateway), what=text)
    return texts(gateway)


def test_what_the_bridge_tells_is_kept_with_what_the_gateway_says(
    gateway: GatewayProcess, bridge: BridgeDouble
) -> None:
    bridge.said.append(line("hello", level="warning"))
    wait_for(gateway, "hello")
    found = {one.text: (one.source, one.level) for _, one in page(gateway).lines}
    assert found["hello"] == ("engine", "warning")
    assert found["the gateway runs"] == ("gateway", "info")


def test_the_model_key_is_masked_here_where_it_is_known(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.said += [line(f"key {KEY[:9]}\x1b[0m{KEY[9:]} and {KEY}"), line("done")]
    assert "key [secret] and [secret]" in wait_for(gateway, "done")


def test_a_bridge_that_lies_harms_nobody(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.said += [
        b"{",
        b"[1,2]",
        b"\xff\xfe",
        line("I am the gateway", source="gateway"),
        line("of tomorrow", at=9e12),
        {**line("x"), "x": {"a": 1}},
        {**line("not a number"), "n": "many"},
        line("x" * 50_000),
        line("end"),
    ]
    found = wait_for(gateway, "end")
    assert "I am the gateway" not in found
    assert len(max(found, key=len)) < 5000
    assert max(one.at for _, one in page(gateway).lines) < 4e9
    bridge.said.append(b"y" * (3 * LINE_BYTES))
    bridge.said.append(line("after the flood"))
    wait_for(gateway, "end")
    assert gateway.process.poll() is None


def test_after_a_kill_it_goes_on_where_it_was_and_repeats_nothing(
    start_gateway: Any, bridge: BridgeDouble, tmp_path: Path
) -> None:
    first: GatewayProcess = start_gateway(inside=False)
    bridge.said += [line(f"line {number}") for number in range(50)]
    wait_for(first, "line 49")
    before = page(first)
    first.signal(signal.SIGKILL)
    first.process.wait(10)
    bridge.said += [line("while it was away")]
    second: GatewayProcess = start_gateway(run_dir=first.start.run_dir)
    found = wait_for(second, "while it was away")
    assert len([text for text in found if text.startswith("line ")]) == 50
    assert page(second, life=before.life, after=before.next).gap is False
    assert [
        one.text for _, one in page(second, life=before.life, after=before.next).lines if one.source == "engine"
    ] == ["while it was away"]


def test_a_log_of_another_life_and_odd_questions_are_refused(gateway: GatewayProcess) -> None:
    with pytest.raises(OtherLife):
        page(gateway, life="0000000000000000")
    for path in ("/logs?after=-1", "/logs?after=x", "/logs?limit=9e9", "/logs?source=owner", "/logs?after=" + "9" * 30):
        assert gateway.ask("GET", path).status_code == 400
    assert gateway.ask("GET", "/logs", token="wrong").status_code == 401
    with pytest.raises(HopFailure):
        pod_logs.page(
            Endpoint(public_url="", management_url="https://127.0.0.1:9"), gateway.access, LogQuery(after=0, limit=1)
        )


def test_the_tail_is_told_once(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.said += [line(f"line {number}") for number in range(50)]
    wait_for(gateway, "line 49")
    endpoint = Endpoint(public_url=gateway.public, management_url=gateway.management)
    found = pod_logs.tail(endpoint, gateway.access, size=500, life="none", end=0)
    assert found
    assert len(found.raw) <= 500
    assert b'"line 49"' in found.raw
    assert pod_logs.tail(endpoint, gateway.access, size=500, life=found.life, end=found.end) is None
