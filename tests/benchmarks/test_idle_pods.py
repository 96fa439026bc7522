"""The verdicts of the benchmark IDLE."""

from __future__ import annotations

import pytest

from agents.runtimes.local.programs import PodProgram
from benchmarks.idle_pods import Rest, verdicts


@pytest.mark.parametrize(
    ("gateway", "bridge", "passed"),
    [
        ((20.0, 0.05), (25.0, 0.15), (True, True)),
        ((33.0, 0.05), (31.0, 0.15), (False, True)),
        ((20.0, 0.05), (20.0, 0.25), (True, False)),
    ],
)
def test_gateway_and_bridge_have_one_goal_together(
    gateway: tuple[float, float], bridge: tuple[float, float], passed: tuple[bool, bool]
) -> None:
    memory, cpu = verdicts(15, [Rest(PodProgram.GATEWAY, *gateway), Rest(PodProgram.BRIDGE, *bridge)])
    assert (memory.value, cpu.value) == pytest.approx((gateway[0] + bridge[0], gateway[1] + bridge[1]))
    assert (memory.ok, cpu.ok) == passed
    assert f"bridge {bridge[0]} MB" in memory.baseline
