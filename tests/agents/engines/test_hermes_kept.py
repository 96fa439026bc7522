"""The file in which hermes' channels keep messages: whole until their turn is over, afterwards only their names."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
import time_machine

from agents.engines import hermes_kept
from agents.engines.hermes_kept import Kept


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path, "telegram")


def after_an_end(tmp_path: Path, channel: str = "telegram") -> Kept:
    """The same file, opened by another process."""
    return Kept(tmp_path, channel)


def test_what_was_not_over_is_left_to_the_next_process_oldest_first(kept: Kept, tmp_path: Path) -> None:
    for name in ("1", "2", "3"):
        kept.add(name, f"body of {name}")
    kept.over(["2"])
    assert after_an_end(tmp_path).left() == [("1", "body of 1"), ("3", "body of 3")]


def test_a_message_that_comes_again_is_known_and_once_it_is_over_stays_over(kept: Kept, tmp_path: Path) -> None:
    kept.add("1", "hello")
    assert not kept.is_over("1")
    kept.over(["1"])
    again = after_an_end(tmp_path)
    again.add("1", "hello")
    assert again.is_over("1")
    assert again.left() == []


def test_a_message_is_taken_four_times_and_then_given_up(kept: Kept, tmp_path: Path) -> None:
    kept.add("1", "poison")
    taken = [bool(after_an_end(tmp_path).left()) for _ in range(5)]
    assert taken == [True, True, True, False, False]
    assert kept.is_over("1")


def test_a_message_that_is_older_than_a_day_is_not_taken_again(kept: Kept, tmp_path: Path) -> None:
    with time_machine.travel("2026-11-26T12:00:00Z", tick=False) as clock:
        kept.add("1", "hello")
        clock.shift(timedelta(hours=25))
        assert after_an_end(tmp_path).left() == []


def test_a_file_that_is_no_database_is_put_aside(tmp_path: Path) -> None:
    (tmp_path / "messages.db").write_text("the agent's own poem, longer than a line of it " * 40)
    kept = after_an_end(tmp_path)
    kept.add("1", "hello")
    assert kept.left() == [("1", "hello")]
    assert "poem" in (tmp_path / "messages.broken").read_text()


def test_a_disk_that_cannot_be_written_is_no_broken_file(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError):
        after_an_end(tmp_path / "nowhere")


def test_channels_know_nothing_of_each_other(kept: Kept, tmp_path: Path) -> None:
    kept.add("1", "hello")
    other = after_an_end(tmp_path, "discord")
    assert other.left() == []
    assert not other.is_over("1")
    assert other.names() == []


def test_names_of_messages_that_are_over_are_forgotten_at_last_and_others_never(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hermes_kept, "NAMES_KEPT", 3)
    kept.remember("private:1")
    kept.add("unfinished", "hello")
    for number in range(10):
        kept.add(str(number), "")
        kept.over([str(number)])
    left = after_an_end(tmp_path)
    assert left.left() == [("unfinished", "hello")]
    assert left.names() == ["private:1", "unfinished", "7", "8", "9"]


def test_a_run_of_a_schedule_comes_again_by_the_same_name(kept: Kept, tmp_path: Path) -> None:
    kept.begin("job", "0")
    kept.over(["job"])
    kept.begin("job", "1")
    assert kept.unfinished() == {"job"}
    assert after_an_end(tmp_path).left(times=3) == [("job", "1")]
    kept.begin("job", "1")  # begun again: this is the second time
    assert after_an_end(tmp_path).left(times=3) == [("job", "1")]
    assert after_an_end(tmp_path).left(times=3) == []
    kept.begin("job", "2")  # the next run of the job is counted from the start
    assert after_an_end(tmp_path).left(times=3) == [("job", "2")]


def conversations(tmp_path: Path, said: list[tuple[str, str]]) -> None:
    """The part of hermes' own data that matters here: who said something in which conversation, in this order."""
    with closing(sqlite3.connect(tmp_path / "state.db")) as state, state:
        state.execute("CREATE TABLE sessions (id TEXT, source TEXT)")
        state.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, observed INTEGER)")
        state.executemany(
            "INSERT INTO sessions VALUES (?, ?)", [("ann", "telegram"), ("bob", "telegram"), ("w", "api")]
        )
        state.executemany("INSERT INTO messages (session_id, role, observed) VALUES (?, ?, 0)", said)


def heard(tmp_path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(tmp_path / "state.db")) as state:
        return list(state.execute("SELECT session_id, role FROM messages ORDER BY id"))


def test_what_a_person_said_in_a_turn_that_came_to_nothing_is_not_said_twice(kept: Kept, tmp_path: Path) -> None:
    said = [("ann", "user"), ("ann", "assistant"), ("ann", "user"), ("ann", "session_meta"), ("w", "user")]
    said += [("bob", "user"), ("bob", "assistant"), ("bob", "tool")]
    conversations(tmp_path, said)
    kept.add("1", "hello")
    after_an_end(tmp_path).left()
    assert heard(tmp_path) == [one for place, one in enumerate(said) if place != 2]


def test_a_message_that_is_given_up_does_not_stay_in_the_conversation(kept: Kept, tmp_path: Path) -> None:
    kept.add("1", "poison")
    for _ in range(3):
        kept.left()
    conversations(tmp_path, [("ann", "user")])
    assert after_an_end(tmp_path).left() == []
    assert heard(tmp_path) == []
