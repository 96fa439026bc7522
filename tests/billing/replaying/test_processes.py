"""Many real processes report every payment again and again, in any order: each payment counts once."""

from __future__ import annotations

import random

import pytest

from tests.billing.replaying.conftest import Act
from tests.billing.replaying.scenes import (
    Make,
    ProviderWorld,
    crypto_late,
    crypto_paid,
    gumroad_bought,
    gumroad_renewed,
    lemon_bought,
    lemon_renewed,
    sound,
    stars_paid,
    stars_twice,
)

FEW: list[Make] = [gumroad_bought, lemon_bought, crypto_paid, stars_twice]
NEW: list[Make] = [gumroad_bought, lemon_bought, crypto_paid, crypto_late, stars_paid, stars_twice]
RENEWALS: list[Make] = [gumroad_renewed, lemon_renewed]
HELD_BACK = 429  # an account may try only ten activations an hour


def replays(world: ProviderWorld, act: Act, makes: list[Make], *, processes: int, times: int) -> None:
    scenes = [make(world) for make in makes]
    told = [one for scene in scenes for one in (*scene.told, *(one for way in scene.again for one in way))]
    ends = act(told, now=scenes[0].now, processes=processes, times=times, seed=random.randrange(10**9))
    answers = {answer for end in ends for answer in end.answers}
    assert answers <= {0, 200, 409, HELD_BACK}, answers
    for scene in scenes:
        (end,) = act(scene.again[0], now=scene.later)
        assert set(end.answers) <= {0, 200, HELD_BACK}
        scene.check()
    sound(scenes[0].later)


@pytest.mark.slow
def test_three_processes_that_replay_every_callback_five_times_count_each_payment_once(
    chain_world: ProviderWorld, act: Act
) -> None:
    replays(chain_world, act, FEW, processes=3, times=5)


@pytest.mark.slow
@pytest.mark.parametrize("makes", [NEW, RENEWALS], ids=["new", "renewals"])
def test_eight_processes_that_replay_every_callback_twenty_times_count_each_payment_once(
    chain_world: ProviderWorld, act: Act, makes: list[Make]
) -> None:
    replays(chain_world, act, makes, processes=8, times=20)
