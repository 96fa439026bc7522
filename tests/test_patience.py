from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import patience


@pytest.mark.parametrize(("each_core", "counted"), [(0.1, 10.0), (1, 10.0), (5, 2.0)])
def test_a_second_counts_as_its_share_of_a_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, each_core: float, counted: float
) -> None:
    load = tmp_path / "loadavg"
    load.write_text(f"{each_core * (os.cpu_count() or 1)} 0.00 0.00 1/100 4711\n")
    monkeypatch.setattr(patience, "_LOAD", load)
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    exact, longer = patience.Patience(counted), patience.Patience(counted + 0.1)
    now += 10
    assert exact.ended()
    assert not longer.ended()
