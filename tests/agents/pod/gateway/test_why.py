"""Why nobody answers on the agent's page: the gateway says it in a header, and an open page says it in words."""

from __future__ import annotations

import asyncio
import time

import pytest

from agents.pod.gateway.pages import assets
from agents.pod.gateway.words import WORDS
from agents.pod.states import AgentState
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import GatewayProcess
from tests.agents.pod.gateway.talking import talking
from tests.agents.pod.gateway.visitor import cookie_of, get
from tests.doubles.bridge import BridgeDouble

pytestmark = pytest.mark.unmeasured

PHASES = {
    "installing": "starting",
    "starting": "starting",
    "unhealthy": "restarting",
    "stopped": "restarting",
    "failed": "failing",
}


@pytest.mark.parametrize(("phase", "state"), PHASES.items())
def test_an_engine_that_is_not_ready_says_what_it_does(
    gateway: GatewayProcess, bridge: BridgeDouble, phase: str, state: str
) -> None:
    cookie = cookie_of(gateway)
    bridge.phase = phase
    gateway.look()
    answer = get(gateway, "/state", Cookie=cookie)
    assert (answer.status_code, answer.headers["Agent-State"]) == (503, state)


def test_without_its_bridge_the_engine_is_being_restarted(start_gateway: StartGateway, bridge: BridgeDouble) -> None:
    gateway = start_gateway()
    bridge.stop()
    time.sleep(0.6)
    assert get(gateway, "/state").headers["Agent-State"] == "restarting"


def test_every_state_has_words_and_only_one_of_them_promises_a_restart() -> None:
    for words in WORDS.values():
        told = {state: words[f"chat_why_{state}"] for state in [*AgentState, "unreachable"]}
        assert len(set(told.values())) == len(told)
    assert [name for name, text in WORDS["en"].items() if "restarts by itself" in text] == ["chat_why_restarting"]
    assert "Agent-State" in assets()["chat.js"].body.decode()


@pytest.mark.browser
@pytest.mark.parametrize("phase", ["failed", "unhealthy", "gone"])
def test_an_open_page_says_what_is_so(start_gateway: StartGateway, bridge: BridgeDouble, phase: str) -> None:
    gateway = start_gateway()
    said = asyncio.run(_told(gateway, bridge, phase))
    why = {"failed": "failing", "unhealthy": "restarting", "gone": "unreachable"}[phase]
    assert WORDS["en"][f"chat_why_{why}"] in said


async def _told(gateway: GatewayProcess, bridge: BridgeDouble, phase: str) -> str:
    async with talking(gateway, width=800) as page:
        if phase == "gone":
            gateway.stop()
        else:
            bridge.phase = phase
            await asyncio.sleep(0.6)
        await page.evaluate("look()")
        return await page.locator("#notice").inner_text()
