"""Each real engine under kill -9 at random moments: of the engine, of our programs, of all at once.

STORM_SEED chooses the moments, STORM_KILLS their number.
"""

from __future__ import annotations

import json
import logging
import os
import random
import re
import threading
import time
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from agents.engines.base import Processes
from agents.pod.bridge import damage, databases
from agents.pod.turns.failures import HopFailure
from agents.runtimes import management
from agents.runtimes.base import Phase, RuntimeFailure
from tests.agents.engines.conftest import EnginePod
from tests.agents.engines.expectations import expected
from tests.agents.pod.bridge.process import eventually
from tests.doubles.model_protocols import Seen
from tests.doubles.model_server import Mood

pytestmark = [pytest.mark.engines, pytest.mark.anywhere]
log = logging.getLogger(__name__)

SEED = int(os.environ.get("STORM_SEED", "1"))
KILLS = int(os.environ.get("STORM_KILLS", "24"))
SESSIONS = ("red", "blue")
VICTIMS = ("engine", "bridge", "gateway", "all")
# After several deaths in a row, an engine rests for up to a minute before it is started again.
READY_SECONDS = 180.0
WAITED_FOR = 0.7  # after this share of the kills, the test waits for the next answers
TURN_SECONDS = management.TURN_SECONDS + 15
QUESTION = re.compile(r"question-\w+-\d+")


def answer_to(question: str) -> str:
    """A long answer: the model needs about a second to say it."""
    return f"the answer to {question} is one that takes its time"


def answered(seen: Seen) -> str:
    asked = [found for _, text in seen.said for found in QUESTION.findall(text)]
    return answer_to(asked[-1]) if asked else "pong"


class Talk:
    """A person who asks one question after the other, and remembers which questions were answered."""

    def __init__(self, pod: EnginePod, session: str) -> None:
        self.session = session
        self.answered: list[str] = []
        self.failed = 0
        self.wrong: list[str] = []
        self._pod = pod
        self._over = threading.Event()
        self._asking = futures.ThreadPoolExecutor(max_workers=1).submit(self._ask)

    def has_more_than(self, known: int) -> bool:
        """Whether more than `known` answers have come. Raises the error of a talk that failed, instead of waiting."""
        if self._asking.done():
            self._asking.result()
        return len(self.answered) > known

    def stop(self) -> None:
        self._over.set()

    def end(self) -> None:
        futures.wait([self._asking], TURN_SECONDS)
        assert self._asking.done(), "a turn never ended"
        self._asking.result()

    def _ask(self) -> None:
        number = 0
        while not self._over.is_set():
            number += 1
            question = f"question-{self.session}-{number}"
            try:
                reply = self._pod.say(question, self.session)
            except HopFailure:
                self.failed += 1
                self._over.wait(0.5)
                continue
            self.answered.append(question)
            if reply != answer_to(question):
                self.wrong.append(f"{question}: {reply}")


@contextmanager
def talking(pod: EnginePod) -> Iterator[list[Talk]]:
    talks = [Talk(pod, session) for session in SESSIONS]
    try:
        yield talks
    finally:
        for talk in talks:
            talk.stop()
        for talk in talks:
            talk.end()


def test_what_was_answered_outlives_a_storm_of_kills(pod: EnginePod) -> None:
    chance = random.Random(SEED)
    pod.model.mood, pod.model.pause, pod.model.reply = Mood.SLOW, 0.1, answered
    pod.start()
    for session in SESSIONS:
        assert pod.say("hello", session) == "pong"
    victims = [VICTIMS[number % len(VICTIMS)] for number in range(KILLS)]
    chance.shuffle(victims)
    with talking(pod) as talks:
        for victim in victims:
            pod.kill(victim)
            _bring_back(pod, talks, chance)
        before = [len(talk.answered) for talk in talks]
        eventually(lambda: _went_on(pod, talks, before), within=READY_SECONDS, what="the last answers")
    log.info("%s: %s", pod.engine.id, [(talk.session, len(talk.answered), talk.failed) for talk in talks])
    pod.model.mood = Mood.FINE
    for talk in talks:
        assert talk.wrong == []
        assert len(talk.answered) > KILLS / 3
        _is_remembered(pod, talk)
    if pod.is_here and pod.engine.processes is Processes.ONE_SERVER:
        assert len(pod.engines()) == expected(pod).processes
    pod.runtime.stop(pod.namespace)
    pod.wait_for(Phase.STOPPED, within=30)
    if pod.is_here:
        assert _left_over(pod) == []
        assert _broken(pod.data) == []


def _bring_back(pod: EnginePod, talks: list[Talk], chance: random.Random) -> None:
    """Start the pod again, as the reconciler does sooner or later. The next kill hits turns, or the start."""
    time.sleep(chance.uniform(0, 1))
    before = [len(talk.answered) for talk in talks]
    _deploy(pod)
    if chance.random() < WAITED_FOR:
        eventually(lambda: _went_on(pod, talks, before), within=READY_SECONDS, what="the next answers")
    time.sleep(chance.uniform(0.2, 3))


def _deploy(pod: EnginePod) -> None:
    with suppress(RuntimeFailure):
        pod.runtime.deploy(pod.spec)


def _went_on(pod: EnginePod, talks: list[Talk], before: list[int]) -> bool:
    """Whether each conversation has a new answer. Also starts programs again that are missing."""
    _deploy(pod)
    time.sleep(0.5)
    return all(talk.has_more_than(known) for talk, known in zip(talks, before, strict=True))


def _is_remembered(pod: EnginePod, talk: Talk) -> None:
    """Checks that each answered question is remembered with its answer, once, and in the order of the questions."""
    assert pod.say("hello again", talk.session)
    said = expected(pod).said(pod.model.turns()[-1])
    place = 0
    for question in talk.answered:
        asked = [number for number, text in enumerate(said) if question in QUESTION.findall(text)]
        told = [number for number, text in enumerate(said) if answer_to(question) in text]
        assert told, f"{question} was answered, and is forgotten: {said[-6:]}"
        assert len(told) == 1, f"{question} was answered once, and is remembered {len(told)} times"
        assert min(asked) < told[0] >= place, f"{question} is remembered in another order"
        place = told[0]


def _left_over(pod: EnginePod) -> list[str]:
    """Processes that have the pod's directory in their arguments or environment."""
    mark = str(pod.home).encode()
    found = []
    for process in psutil.process_iter():
        with suppress(OSError, psutil.NoSuchProcess):
            told = [Path(f"/proc/{process.pid}/{name}").read_bytes() for name in ("cmdline", "environ")]
            if process.pid != os.getpid() and any(mark in each for each in told):
                found.append(f"{process.pid} {told[0].decode(errors='replace')[:200]}")
    return found


def _broken(data: Path) -> list[Path]:
    """Databases, JSON files and files of JSON lines that cannot be read."""
    found = databases.look(data, own=".agentpods", most_bytes=10**10).databases
    bad = [path for path in found if not damage.is_sound(data / path, until=time.monotonic() + 30)]
    for ending, is_whole in ((".json", _is_json), (".jsonl", _are_lines)):
        bad += [path.relative_to(data) for path in data.rglob(f"*{ending}") if path.is_file() and not is_whole(path)]
    return bad


def _is_json(path: Path) -> bool:
    return _reads(path.read_text(encoding="utf-8", errors="replace"))


def _are_lines(path: Path) -> bool:
    return all(map(_reads, filter(str.strip, path.read_text(encoding="utf-8", errors="replace").splitlines())))


def _reads(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
