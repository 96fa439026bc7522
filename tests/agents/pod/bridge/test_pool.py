from __future__ import annotations

import pytest

from agents.engines.pi import PI
from agents.pod.bridge.pool import capacity

MIB = 2**20


@pytest.mark.parametrize(("tier", "processes"), [(512, 2), (1024, 4), (2048, 8), (4096, 12)])
def test_larger_tiers_keep_more_conversations_in_memory(tier: int, processes: int) -> None:
    assert capacity(PI, tier * MIB) == processes
