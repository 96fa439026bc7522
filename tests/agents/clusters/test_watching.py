"""A list and its watch against a scripted API server, with a clock that the test moves."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agents.clusters import watching
from agents.clusters.api.client import ApiRefused, ClusterFailure, Stream
from agents.clusters.watching import NAMESPACES, PODS, Watch, WatchedKind
from tests.agents.clusters.observing import Json, metadata, namespace, pod

STOP = threading.Event()


class ScriptedWatches:
    """An API server. `lists` are its answers to a list request; the last one repeats. `streams` are what each watch
    sends before it ends.

    In a stream, exceptions are raised and functions are called.
    """

    def __init__(self) -> None:
        self.now = 1000.0
        self.lists: list[Any] = []
        self.streams: list[list[Any]] = []
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.refuses: Exception | None = None  # raised when a stream is opened

    def get(self, path: str, query: Mapping[str, str] | None = None, *, seconds: float = 10.0) -> Json:
        self.asked.append(("list", dict(query or {})))
        answer = self.lists.pop(0) if len(self.lists) > 1 else self.lists[0]
        if isinstance(answer, Exception):
            raise answer
        found: Json = answer
        return found

    def lines(self, path: str, query: Mapping[str, str] | None = None, *, seconds: float) -> Stream:
        self.asked.append(("watch", dict(query or {})))
        if self.refuses:
            raise self.refuses
        yield b""
        for part in self.streams.pop(0) if self.streams else []:
            if isinstance(part, Exception):
                raise part
            if callable(part):
                part()
            else:
                yield part if isinstance(part, bytes) else json.dumps(part).encode()

    def passes(self, seconds: float) -> Callable[[], None]:
        def later() -> None:
            self.now += seconds

        return later

    @property
    def verbs(self) -> list[str]:
        return [verb for verb, _ in self.asked]


class Watched:
    """A watch of that server, and the namespaces in which the watch saw a change."""

    def __init__(self, script: ScriptedWatches, kind: WatchedKind = NAMESPACES, *, chance: float = 0.5) -> None:
        self.script, self.news = script, list[set[str]]()
        self.watch = Watch(
            script,
            kind,
            selector="ours",
            changed=self.news.append,
            clock=lambda: script.now,
            chance=lambda: chance,
        )

    def turn(self) -> float:
        return self.watch.turn(STOP)


@pytest.fixture
def script() -> ScriptedWatches:
    return ScriptedWatches()


def listed(*names: str, version: str = "10", kind: str = "NamespaceList") -> Json:
    return {"kind": kind, "metadata": {"resourceVersion": version}, "items": [namespace(name) for name in names]}


def happened(type: str, name: str = "pod-abc-1", *, version: str, **more: Any) -> Json:
    return {"type": type, "object": namespace(name, resourceVersion=version, **more)}


def bookmark(version: str) -> Json:
    return {"type": "BOOKMARK", "object": {"kind": "Namespace", "metadata": {"resourceVersion": version}}}


def too_old() -> Json:
    return {"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old resource version"}}


def test_it_lists_from_the_cache_and_watches_from_there(script: ScriptedWatches) -> None:
    script.lists, script.streams = [listed("pod-a-1")], [[happened("ADDED", "pod-b-1", version="11")]]
    watched = Watched(script)
    watched.turn()
    assert watched.news == [{"pod-a-1"}, {"pod-b-1"}]
    assert watched.watch.namespaces() == {"pod-a-1", "pod-b-1"}
    assert script.asked == [
        ("list", {"labelSelector": "ours", "resourceVersion": "0"}),
        (
            "watch",
            {
                "watch": "true",
                "labelSelector": "ours",
                "resourceVersion": "10",
                "allowWatchBookmarks": "true",
                "timeoutSeconds": "300",
            },
        ),
    ]


def test_a_watch_that_ended_goes_on_where_it_was(script: ScriptedWatches) -> None:
    script.lists, script.streams = [listed()], [[bookmark("15"), script.passes(300)]]
    watched = Watched(script)
    assert watched.turn() < 0.2
    watched.turn()
    assert script.verbs == ["list", "watch", "watch"]
    assert script.asked[-1][1]["resourceVersion"] == "15"


def test_what_is_deleted_is_forgotten_and_told(script: ScriptedWatches) -> None:
    end = happened("DELETED", "pod-a-1", version="11", deletionTimestamp="2026-01-01T00:00:00Z")
    script.lists, script.streams = [listed("pod-a-1")], [[end]]
    watched = Watched(script)
    watched.turn()
    assert watched.watch.namespaces() == set()
    assert watched.watch.take_gone() == {"pod-a-1"}
    assert watched.watch.take_gone() == set()


def test_what_lost_a_label_of_ours_is_news_but_was_not_seen_to_end(script: ScriptedWatches) -> None:
    script.lists, script.streams = [listed("pod-a-1")], [[happened("DELETED", "pod-a-1", version="11")]]
    watched = Watched(script)
    watched.turn()
    assert watched.news[-1] == {"pod-a-1"}
    assert (watched.watch.namespaces(), watched.watch.take_gone()) == (set(), set())


def test_objects_lie_in_their_namespaces(script: ScriptedWatches) -> None:
    pods = {"kind": "PodList", "metadata": {"resourceVersion": "10"}, "items": [pod(name="one"), pod(name="two")]}
    script.lists = [pods]
    script.streams = [[{"type": "DELETED", "object": {**pod(), "metadata": metadata("one", resourceVersion="11")}}]]
    watched = Watched(script, PODS)
    watched.turn()
    assert [one["metadata"]["name"] for one in watched.watch.of("pod-abc-1")] == ["two"]
    assert watched.watch.of("pod-xyz-1") == []


def test_an_event_that_changes_nothing_we_read_is_no_news(script: ScriptedWatches) -> None:
    script.lists, script.streams = [listed("pod-a-1")], [[happened("MODIFIED", "pod-a-1", version="11")]]
    watched = Watched(script)
    watched.turn()
    assert watched.news == [{"pod-a-1"}]


@pytest.mark.parametrize(
    "end",
    [too_old(), ApiRefused("one", 410, "Expired", "too old"), b'{"type": "ADDED", "obj', b"[]", {"type": "ADDED"}],
)
def test_what_is_too_old_or_torn_is_listed_again_after_a_pause(script: ScriptedWatches, end: Any) -> None:
    script.lists, script.streams = [listed(), listed("pod-a-1", version="20")], [[end]]
    watched = Watched(script)
    if isinstance(end, dict) and "object" not in end:
        end["object"] = {"metadata": {}}
    assert watched.turn() >= 0.5
    watched.turn()
    assert script.verbs == ["list", "watch", "list", "watch"]
    assert watched.watch.namespaces() == {"pod-a-1"}


def test_a_list_that_is_older_than_what_was_seen_does_not_bring_back_what_was_deleted(script: ScriptedWatches) -> None:
    gone = happened("DELETED", "pod-a-1", version="30")
    script.lists = [listed("pod-a-1"), listed("pod-a-1", version="20"), listed(version="31")]
    script.streams = [[gone, too_old()]]
    watched = Watched(script)
    watched.turn()
    watched.turn()
    assert watched.watch.namespaces() == set()
    assert script.asked[3] == ("list", {"labelSelector": "ours"})  # not the cache, but the store itself


def test_a_store_that_was_restored_from_a_backup_is_believed(script: ScriptedWatches) -> None:
    script.lists = [listed("pod-a-1", version="90"), listed("pod-b-1", version="5")]
    script.streams = [[too_old()]]
    watched = Watched(script)
    watched.turn()
    watched.turn()
    assert watched.watch.namespaces() == {"pod-b-1"}
    watched.turn()
    assert script.asked[-1][1]["resourceVersion"] == "5"


def test_versions_that_are_no_numbers_are_in_doubt(script: ScriptedWatches) -> None:
    script.lists = [listed(), listed(version="abc")]
    script.streams = [[too_old()]]
    watched = Watched(script)
    watched.turn()
    watched.turn()
    assert script.verbs == ["list", "watch", "list", "list", "watch"]


def test_an_answer_of_another_kind_replaces_nothing(script: ScriptedWatches) -> None:
    """For example an error answer of a proxy or gateway in front of the API server."""
    script.lists = [listed("pod-a-1"), {"kind": "Status", "code": 504}]
    script.streams = [[too_old()]]
    watched = Watched(script)
    watched.turn()
    watched.turn()
    assert watched.watch.namespaces() == {"pod-a-1"}
    assert not watched.watch.is_alive()


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_who_is_refused_asks_less_than_ten_times_in_ten_seconds(script: ScriptedWatches, chance: float) -> None:
    script.lists = [ApiRefused("one", 403, "Forbidden", "not you")]
    watched = Watched(script, chance=chance)
    ends = script.now + 10
    while script.now < ends:
        script.now += watched.turn()
    assert len(script.asked) < 10
    assert 15 <= [watched.turn() for _ in range(20)][-1] <= 30


@pytest.mark.parametrize("stream", [[], [too_old()], [ApiRefused("one", 410, "Expired", "too old")]])
def test_a_server_that_ends_every_watch_at_once_is_left_alone_more_and_more(
    script: ScriptedWatches, stream: list[Any]
) -> None:
    script.lists, script.streams = [listed()], [stream for _ in range(100)]
    watched = Watched(script)
    ends = script.now + 60
    while script.now < ends:
        script.now += watched.turn()
    assert len(script.asked) < 20


def test_a_stream_that_breaks_off_soon_goes_on_a_moment_later(script: ScriptedWatches) -> None:
    broken = ClusterFailure("one", "the stream broke off")
    script.lists, script.streams = [listed()], [[bookmark("15"), script.passes(2), broken] for _ in range(9)]
    watched = Watched(script)
    assert all(0.5 <= watched.turn() <= 1.0 for _ in range(9))
    assert script.verbs.count("list") == 1


SILENT = ClusterFailure("one", "the stream broke off (ReadTimeoutError)")


def test_a_stream_that_fell_silent_is_opened_again_where_it_was(script: ScriptedWatches) -> None:
    alive: list[bool] = []
    watched = Watched(script)

    def look() -> None:
        alive.append(watched.watch.is_alive())

    script.lists = [listed()]
    script.streams = [
        [bookmark("15"), script.passes(89), look, script.passes(1), look, SILENT],
        [look, script.passes(90), SILENT],
        [look, happened("ADDED", version="16"), script.passes(60)],
    ]
    for _ in range(3):
        assert watched.turn() < 0.5
    assert alive == [True, False, True, True]
    assert script.verbs == ["list", "watch", "watch", "watch"]
    assert [query["resourceVersion"] for _, query in script.asked[1:]] == ["10", "15", "15"]
    assert watched.watch.namespaces() == {"pod-abc-1"}


def test_a_server_that_does_not_even_open_a_stream_is_asked_for_its_list_when_it_is_back(
    script: ScriptedWatches,
) -> None:
    script.lists, script.streams = [listed(), listed(version="20")], [[bookmark("15")]]
    watched = Watched(script)
    watched.turn()
    script.now += watching.SILENCE_SECONDS
    script.refuses = SILENT
    assert watched.turn() >= 0.5
    script.refuses = None
    watched.turn()
    assert script.verbs == ["list", "watch", "watch", "list", "watch"]


def test_now_and_then_everything_is_listed_anew(script: ScriptedWatches) -> None:
    script.lists = [listed()]
    script.streams = [[script.passes(300)] for _ in range(7)]
    watched = Watched(script)
    for _ in range(7):
        watched.turn()
    assert script.verbs.count("list") == 2


def test_what_a_new_list_does_not_have_is_news_but_was_not_seen_to_end(script: ScriptedWatches) -> None:
    script.lists, script.streams = [listed("pod-a-1"), listed(version="20")], [[too_old()]]
    watched = Watched(script)
    watched.turn()
    watched.turn()
    assert watched.news == [{"pod-a-1"}, {"pod-a-1"}]
    assert watched.watch.take_gone() == set()


def test_something_unforeseen_does_not_end_the_watch(script: ScriptedWatches) -> None:
    script.lists = [{**listed(), "items": [{"nonsense": True}]}, listed("pod-a-1")]
    watched = Watched(script)
    assert watched.turn() >= 0.5
    watched.turn()
    assert watched.watch.namespaces() == {"pod-a-1"}


def test_it_ends_between_two_lines_when_it_is_told_to(script: ScriptedWatches) -> None:
    stop = threading.Event()
    script.lists, script.streams = [listed()], [[stop.set, happened("ADDED", version="11")]]
    watched = Watched(script)
    watched.watch.run(stop)
    assert script.verbs == ["list", "watch"]
    assert watched.watch.namespaces() == set()
    assert watching.SILENCE_SECONDS > 60  # bookmarks come each minute
