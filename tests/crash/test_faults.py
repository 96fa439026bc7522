from __future__ import annotations

import os
import subprocess
import sys
from itertools import islice

import pytest

from tests.config.running import ROOT
from tests.crash.faults import KilledKind, plan
from tests.crash.load import script


def test_a_seed_replays_its_plan() -> None:
    assert plan("7", 600) == plan("7", 600)
    assert plan("7", 600) != plan("8", 600)


def test_a_seed_replays_what_an_account_does() -> None:
    assert list(islice(script("7", 3), 50)) == list(islice(script("7", 3), 50))
    assert list(islice(script("7", 3), 50)) != list(islice(script("7", 4), 50))


@pytest.mark.parametrize("seed", ["1", "2", "some words"])
def test_ten_minutes_strike_every_kind_of_process(seed: str) -> None:
    assert {fault.kind for fault in plan(seed, 600)} == set(KilledKind)


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_redis_is_away_alone_for_a_minute_in_each_way(seed: str) -> None:
    faults = plan(seed, 600)
    away = [fault for fault in faults if fault.lasts]
    assert {(fault.kind, fault.lasts) for fault in away} == {
        (KilledKind.REDIS_AWAY, 60.0),
        (KilledKind.REDIS_HANGS, 60.0),
    }
    for long in away:
        others = [fault for fault in faults if long.second <= fault.second <= long.second + 60]
        assert others == [long]


def test_the_campaign_begins_without_django() -> None:
    """It sets Django up for the database of the service that it starts."""
    bare = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    subprocess.run([sys.executable, "-c", "import tests.crash.__main__"], cwd=ROOT, env=bare, check=True)
