"""Where agents are placed: where there is room, only once, and never more agents than there is room for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from agents.clusters import placement
from agents.clusters.placement import NoCapacity
from agents.models import Cluster, Placement
from tests.agents.clusters.observing import make_cluster

THREADS = 4
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
# Seconds since a cluster was last observed; None: it was never observed.
SEEN = st.sampled_from([None, 0, 119, 121, 86400])


@pytest.mark.django_db
def test_an_agent_goes_where_the_largest_share_is_free_and_stays_there() -> None:
    make_cluster("b", capacity=2)
    make_cluster("a", capacity=4)
    assert [placement.place(f"agt_{n}").name for n in range(6)] == ["a", "b", "a", "a", "b", "a"]
    assert [placement.place(f"agt_{n}").name for n in range(6)] == ["a", "b", "a", "a", "b", "a"]
    found = placement.cluster_of("agt_1")
    assert found is not None
    assert found.name == "b"


@pytest.mark.django_db
def test_a_cordoned_cluster_takes_no_agent_and_keeps_its_own() -> None:
    cluster = make_cluster("a")
    placement.place("agt_1")
    Cluster.objects.update(cordoned=True)
    with pytest.raises(NoCapacity, match=r"0 full, 1 cordoned, 0 silent$"):
        placement.place("agt_2")
    assert placement.place("agt_1") == cluster


@pytest.mark.django_db
def test_who_finds_no_room_is_told_why() -> None:
    with pytest.raises(NoCapacity, match=r"there is none; an operator adds one"):
        placement.place("agt_1")
    make_cluster("full", capacity=0)
    make_cluster("closed", cordoned=True)
    make_cluster("silent", observed_at=timezone.now() - timedelta(minutes=3))
    with pytest.raises(NoCapacity, match=r"1 full, 1 cordoned, 1 silent$") as refusal:
        placement.place("agt_1")
    assert (refusal.value.cause, refusal.value.permanent) == ("NO_CAPACITY", False)


@pytest.mark.django_db
def test_a_silent_cluster_takes_no_agent_and_keeps_its_own() -> None:
    cluster = make_cluster("silent", observed_at=timezone.now() - timedelta(seconds=60))
    placement.place("agt_1")
    Cluster.objects.update(observed_at=timezone.now() - timedelta(seconds=121))
    make_cluster("b", capacity=1)
    assert placement.place("agt_2").name == "b"
    with pytest.raises(NoCapacity, match=r"1 full, 0 cordoned, 1 silent$"):
        placement.place("agt_3")
    assert placement.place("agt_1") == cluster


@pytest.mark.django_db
def test_a_cluster_that_was_never_observed_takes_agents() -> None:
    make_cluster("new", observed_at=None)
    assert placement.place("agt_1").name == "new"


@pytest.mark.django_db
def test_a_cluster_that_was_never_observed_takes_no_agent_while_one_that_answers_has_room() -> None:
    """Its address may be wrong, and then an agent that is placed there would wait for ever."""
    make_cluster("a-new-one", observed_at=None)
    make_cluster("known", capacity=1)
    assert [placement.place(f"agt_{n}").name for n in range(2)] == ["known", "a-new-one"]


@pytest.mark.django_db
def test_what_is_forgotten_leaves_room() -> None:
    make_cluster("a", capacity=1)
    placement.place("agt_1")
    placement.forget("agt_1")
    placement.forget("agt_1")
    assert placement.cluster_of("agt_1") is None
    assert placement.place("agt_2").name == "a"


@pytest.mark.django_db(transaction=True)
def test_workers_at_the_same_moment_neither_overfill_a_cluster_nor_place_twice() -> None:
    make_cluster("a", capacity=5)
    make_cluster("b", capacity=4)
    wanted = [f"agt_{n}" for n in range(12)] * 2

    def place(agent_id: str) -> str | None:
        try:
            return placement.place(agent_id).name
        except NoCapacity:
            return None
        finally:
            connection.close()

    with ThreadPoolExecutor(THREADS) as threads:
        found = list(threads.map(place, wanted))
    placed = dict(Placement.objects.values_list("agent_id", "cluster__name"))
    assert sorted(placed.values()) == ["a"] * 5 + ["b"] * 4
    told = {(agent_id, name) for agent_id, name in zip(wanted, found, strict=True) if name}
    assert told == set(placed.items())


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 8), st.booleans(), SEEN), max_size=5))
def test_no_full_cordoned_or_silent_cluster_is_chosen_while_another_has_room(
    rows: list[tuple[int, int, bool, int | None]],
) -> None:
    clusters = [
        Cluster(
            pk=pk,
            name=f"c{pk}",
            capacity=capacity,
            cordoned=cordoned,
            observed_at=None if seen is None else NOW - timedelta(seconds=seen),
        )
        for pk, (capacity, _, cordoned, seen) in enumerate(rows)
    ]
    placed = {pk: count for pk, (_, count, _, _) in enumerate(rows)}
    silent = {pk for pk, (_, _, _, seen) in enumerate(rows) if seen is not None and seen > 120}
    free = {
        one.pk: (one.capacity - placed[one.pk]) / one.capacity
        for one in clusters
        if not one.cordoned and one.pk not in silent and placed[one.pk] < one.capacity
    }
    chosen = placement.choose(clusters, placed, now=NOW)
    assert (chosen is None) == (not free)
    known = {pk: share for pk, share in free.items() if rows[pk][3] is not None}
    assert chosen is None or (known or free).get(chosen.pk) == max((known or free).values())
