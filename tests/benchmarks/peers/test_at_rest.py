"""What `make bench-peers` says of programs that rest."""

from __future__ import annotations

import pytest

from benchmarks.at_rest import Resting
from benchmarks.peers.at_rest import figures


def test_the_first_row_is_the_sum_and_the_programs_follow_with_the_largest_first() -> None:
    found = [Resting("beat", 1, 90.0, 0.5), Resting("web", 2, 120.0, 1.0), Resting("redis", 1, 7.0, 0.25)]
    together, *each = figures("ours", found)
    assert together.who == "ours"
    assert (together.at_rest, together.megabytes) == pytest.approx((1.75, 217.0))
    assert [(one.who, one.megabytes) for one in each] == [("– web", 120.0), ("– beat", 90.0), ("– redis", 7.0)]
