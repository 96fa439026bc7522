"""Dead receivers do not delay working ones. benchmarks/webhooks.py measures how fast the working ones are served."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from tests.doubles.receiver import Receiver, held, status
from tests.patience import Patience
from tests.webhooks.conftest import HookClock, MakeAgent, emit
from webhooks import delivery_loop
from webhooks.models import Delivery, State

SECONDS = 30


def test_all_others_are_served_while_hanging_receivers_still_hang(
    make_agent: MakeAgent,
    receiver: Receiver,
    deliver: Callable[[], int],
    clock: HookClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four agents with a backlog and silent receivers take four of six slots; the others get the rest."""
    monkeypatch.setattr(delivery_loop, "SLOTS", 6)
    monkeypatch.setattr(delivery_loop, "TOTAL_SECONDS", SECONDS)
    release = threading.Event()
    with Receiver([held(release, then=status(204))]).listening() as hanging:
        dead = [make_agent(hanging.url) for _ in range(4)]
        living = [make_agent(receiver.url) for _ in range(8)]
        for agent in [*dead * 3, *living * 3]:
            emit(agent, now=clock.now)
        drain = threading.Thread(target=deliver)
        drain.start()
        wait_until(lambda: Delivery.objects.filter(state=State.DELIVERED).count() == 24)
        # The last request may still be on its way.
        wait_until(lambda: (hanging.in_hand, len(hanging.received)) == (4, 4))
        assert set(Delivery.objects.pending().values_list("agent_id", flat=True)) == {agent.pk for agent in dead}
        assert len(receiver.received) == 24
        release.set()
        drain.join()
    assert not Delivery.objects.pending().exists()
    assert hanging.peak == 4


def wait_until(happened: Callable[[], bool]) -> None:
    patience = Patience(SECONDS)
    while not happened():
        assert not patience.ended(), "it did not happen in time"
        time.sleep(0.02)
