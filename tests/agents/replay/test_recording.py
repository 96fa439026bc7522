"""The owner's switch and deletion hold whatever happens at the same time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from agents.models import Agent
from agents.replay import recording
from agents.replay.models import ReplayEntry
from tests.agents.replay.conftest import entry, hand_over, stored

ACTOR = "user:usr_0"


def at_once(*actions: Callable[[], object]) -> None:
    """Do all of these in threads of their own. Each must succeed."""

    def done(action: Callable[[], object]) -> None:
        try:
            action()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actions)) as threads:
        list(threads.map(done, actions))


@pytest.mark.django_db(transaction=True)
def test_deletions_and_batches_at_the_same_time_leave_nothing_old(
    running: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "DELETED_AT_ONCE", 50)
    stored(running, 400, session="a", every=timedelta(seconds=3))
    stored(running, 400, session="b", every=timedelta(seconds=3))
    old = timezone.now() - timedelta(seconds=1)

    def arriving(book: str) -> Callable[[], object]:
        return lambda: [hand_over(running, entry(at=old, session="a"), number=n, book=book) for n in range(1, 6)]

    at_once(
        arriving("x"),
        lambda: recording.delete(running, session="a", actor=ACTOR),
        lambda: recording.delete(running, actor=ACTOR),
        lambda: recording.delete(running, session="b", actor=ACTOR),
        arriving("y"),
    )
    assert not ReplayEntry.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_same_batch_at_the_same_time_is_stored_once(running: Agent) -> None:
    at_once(*[lambda: hand_over(running, entry(), entry()) for _ in range(4)])
    assert ReplayEntry.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_after_the_switch_nothing_is_stored_whoever_was_first(running: Agent) -> None:
    at_once(
        *[lambda number=number: hand_over(running, entry(), number=number) for number in range(1, 4)],
        lambda: recording.switch(running, is_on=False, actor=ACTOR),
    )
    before = ReplayEntry.objects.count()
    hand_over(running, entry(), number=9)
    assert ReplayEntry.objects.count() == before


def test_the_newest_deletions_of_conversations_are_remembered(running: Agent) -> None:
    recording.delete(running, actor=ACTOR)
    for number in range(60):
        recording.delete(running, session=f"s{number}", actor=ACTOR)
    running.refresh_from_db()
    remembered = running.spending.replay_cleared
    assert "" in remembered
    assert "s59" in remembered
    assert "s0" not in remembered
    assert len(remembered) == 52
