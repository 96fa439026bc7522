"""The facts that the conformance suite uses about engines, as far as the adapters alone can show them."""

from __future__ import annotations

import pytest

from agents.engines import ENGINES
from tests.agents.engines.expectations import EXPECTED, WITHOUT_TOOLS

pytestmark = pytest.mark.unmeasured


@pytest.mark.parametrize("engine_id", sorted(ENGINES))
def test_no_engine_has_a_tool_for_the_toolset_without_tools(engine_id: str) -> None:
    assert not ENGINES[engine_id].toolsets.get(WITHOUT_TOOLS)


@pytest.mark.parametrize("engine_id", sorted(name for name in ENGINES if EXPECTED[name].can_act))
def test_what_an_engine_really_does_is_a_tool_of_its_toolset(engine_id: str) -> None:
    toolset, tool, _ = EXPECTED[engine_id].deed
    assert tool in ENGINES[engine_id].toolsets[toolset]
