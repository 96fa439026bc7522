"""Each engine's tools, by their purpose: the model calls them, and they really do their work."""

from __future__ import annotations

import pytest

from tests.agents.engines.conftest import EnginePod, those
from tests.agents.engines.expectations import expected
from tests.doubles.model_protocols import ToolCall
from tests.doubles.web_page import WebPage

pytestmark = [pytest.mark.engines, pytest.mark.anywhere]

# The other engines have no tool for this.
with_exec = pytest.mark.parametrize("engine", those(lambda known: known.exec), indirect=True)
with_search = pytest.mark.parametrize("engine", those(lambda known: known.search), indirect=True)
with_fetch = pytest.mark.parametrize("engine", those(lambda known: known.fetch), indirect=True)


@with_exec
def test_its_tools_really_run_in_the_agents_own_directory_and_time_zone(pod: EnginePod) -> None:
    toolset, tool, argument = expected(pod).deed
    pod.start(toolsets=[toolset], timezone="Asia/Tokyo")
    pod.model.tool_calls = [ToolCall(tool, {argument: "date +zone-%Z; pwd; echo made > made-by-a-tool"})]
    assert pod.say("run it") == "pong"
    heard = str(pod.model.turns()[-1].body)
    assert "zone-JST" in heard
    assert str(pod.data) in heard
    assert pod.find("made-by-a-tool")


@with_fetch
def test_a_page_of_the_web_is_got_and_its_text_alone_is_heard(pod: EnginePod) -> None:
    toolset, tool, argument = expected(pod).deed
    pod.start(toolsets=[toolset])
    with WebPage("the treasure is under the oak") as page:
        pod.model.tool_calls = [ToolCall(tool, {argument: page.url})]
        assert pod.say("where is it?") == "pong"
        assert page.asked == ["/page"]
    heard = str(pod.model.turns()[-1].body)
    assert "under the oak" in heard
    assert "not()" not in heard


@with_search
def test_a_search_finds_text_in_the_agents_files(pod: EnginePod) -> None:
    pod.start(toolsets=["file"])
    search = expected(pod).search
    assert search
    tool, argument = search
    pod.write("workspace/notes.txt", "the treasure is under the oak\n")
    pod.model.tool_calls = [ToolCall(tool, {argument: "treasure"} | expected(pod).search_for_text)]
    pod.say("where is it?")
    assert "under the oak" in str(pod.model.turns()[-1].body)
