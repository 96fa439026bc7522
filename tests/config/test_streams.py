"""Answers that the event loop writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import partial

import pytest

from config.streams import Beginning, LaterAnswer, PromisedAnswer, PromiseHere

ASKED = ContextVar("asked", default="nobody")


def test_who_waits_is_answered_when_the_process_stops() -> None:
    async def stopped() -> bytes:
        answer = LaterAnswer(partial(asyncio.sleep, 600), lambda _: b"as it is now", end=lambda: None)
        begin, _ = answer.hand_over()
        waiting = asyncio.create_task(anext(begin()))
        await asyncio.sleep(0)
        waiting.cancel()
        return await waiting

    assert asyncio.run(stopped()) == b"as it is now"


class CountedPromise:
    """A promise that fails at its beginning, or gives two pieces; it notes what happens."""

    def __init__(self, *, fails: bool = False) -> None:
        self.noted: list[str] = []
        self._fails = fails

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[Beginning]:
        if self._fails:
            raise RuntimeError("the pod is silent")
        try:
            yield Beginning(200, headers={"Content-Type": "text/plain"}, rest=self._pieces())
        finally:
            self.noted.append("closed")

    def end(self) -> None:
        self.noted.append("end")

    def answer(self) -> PromisedAnswer:
        refused = Beginning(503, b"sorry", {"Retry-After": "10"})
        answer = PromisedAnswer(self, refused=lambda _: refused, end=self.end)
        answer.when_known(lambda: self.noted.append(f"{answer.status_code} for {ASKED.get()}"))
        return answer

    async def _pieces(self) -> AsyncGenerator[bytes, None]:
        yield b"one"
        yield b"two"


async def all_of(answer: PromisedAnswer) -> list[bytes]:
    begin, end = answer.hand_over()
    try:
        return [piece async for piece in begin()]
    finally:
        end()


def test_the_beginning_of_a_promised_answer_decides_its_status() -> None:
    promise = CountedPromise()
    answer = promise.answer()
    assert asyncio.run(all_of(answer)) == [b"", b"one", b"two"]
    assert (answer.head(), answer.is_endless) == ((200, [("Content-Type", "text/plain")]), True)
    assert promise.noted == ["200 for nobody", "closed", "end"]


def test_a_promise_that_fails_at_its_beginning_is_a_whole_answer() -> None:
    promise = CountedPromise(fails=True)
    answer = promise.answer()
    assert asyncio.run(all_of(answer)) == [b"sorry"]
    assert (answer.status_code, answer["Retry-After"], answer.is_endless) == (503, "10", False)
    assert promise.noted == ["503 for nobody", "end"]


def test_an_answer_that_nobody_waited_for_counts_as_failed_in_its_request() -> None:
    promise = CountedPromise()
    token = ASKED.set("somebody")
    answer = promise.answer()
    ASKED.reset(token)
    answer.hand_over()[1]()
    assert promise.noted == ["503 for somebody", "end"]


def test_a_promise_can_be_kept_in_a_thread() -> None:
    promise = CountedPromise()
    here = PromiseHere(promise, end=promise.end)
    assert (here.beginning.status, list(here)) == (200, [b"one", b"two"])
    here.close()
    assert promise.noted == ["closed", "end"]


def test_a_promise_in_a_thread_ends_when_its_answer_is_closed() -> None:
    promise = CountedPromise()
    here = PromiseHere(promise, end=promise.end)
    assert next(here) == b"one"
    here.close()
    assert (promise.noted, list(here)) == (["closed", "end"], [])


def test_a_promise_that_fails_in_a_thread_raises_there() -> None:
    promise = CountedPromise(fails=True)
    with pytest.raises(RuntimeError, match="the pod is silent"):
        PromiseHere(promise, end=promise.end)
    assert promise.noted == ["end"]
