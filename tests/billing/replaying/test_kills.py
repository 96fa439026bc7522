"""`kill -9` between any two statements of a payment, or at a COMMIT: nothing is lost and nothing counts twice.

The seed of the run (`-p randomly`) selects the sample; `make test-slow` tries every point of every payment.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import pytest

from tests.billing.replaying.conftest import Act
from tests.billing.replaying.endings import ENDINGS
from tests.billing.replaying.scenes import OFF_CHAIN, ON_CHAIN, Make, ProviderWorld, Scene, held_locks, sound
from tests.billing.replaying.stage import ProcessEnd

pytestmark = pytest.mark.unmeasured

SOME, LIKELY = 3, 50  # the number of payments to try, and a number of points that most payments have
ANSWERED = {0, 200, 302}  # a task, our API, the console


def is_killed_everywhere(make: Make, world: ProviderWorld, act: Act, points: Sequence[int]) -> None:
    for point in points:
        end = is_killed(make, world, act, point)
        assert end.died, (make.__name__, point, end)


def is_killed(make: Make, world: ProviderWorld, act: Act, point: int) -> ProcessEnd:
    world.rest()
    scene = make(world)
    (end,) = act(scene.told, now=scene.now, die_at=point)
    for _ in range(500):
        if not held_locks():
            break
        time.sleep(0.01)
    try:
        mended(scene, act, way=point)
    except AssertionError as error:
        raise AssertionError(f"{make.__name__}, killed at {point}, {end.killed}") from error
    return end


def whole(make: Make, world: ProviderWorld, act: Act) -> int:
    """Run the scene once without a crash, check the result, and return its number of points."""
    world.rest()
    scene = make(world)
    (end,) = act(scene.told, now=scene.now)
    assert set(end.answers) <= ANSWERED
    mended(scene, act, way=0)
    return end.points


def mended(scene: Scene, act: Act, *, way: int) -> None:
    (end,) = act(scene.again[way % len(scene.again)], now=scene.later)
    assert set(end.answers) <= ANSWERED, end
    scene.check()
    sound(scene.later)


@pytest.mark.sampled
def test_a_process_that_is_killed_somewhere_loses_and_doubles_nothing(chain_world: ProviderWorld, act: Act) -> None:
    for make in random.sample([*ON_CHAIN, *OFF_CHAIN, *ENDINGS], SOME):
        is_killed(make, chain_world, act, random.randint(1, LIKELY))


@pytest.mark.slow
@pytest.mark.parametrize("make", [*OFF_CHAIN, *ENDINGS])
def test_a_process_that_is_killed_anywhere_loses_and_doubles_nothing(
    make: Make, world: ProviderWorld, act: Act
) -> None:
    is_killed_everywhere(make, world, act, range(1, whole(make, world, act) + 1))


@pytest.mark.slow
@pytest.mark.parametrize("make", ON_CHAIN)
def test_a_scan_that_is_killed_anywhere_loses_and_doubles_nothing(
    make: Make, chain_world: ProviderWorld, act: Act
) -> None:
    is_killed_everywhere(make, chain_world, act, range(1, whole(make, chain_world, act) + 1))
