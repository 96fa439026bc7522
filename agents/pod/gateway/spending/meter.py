"""The meter of the key proxy: it lets a call through or refuses it, counts what the call took, and gives the control
plane the counts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.pod.gateway.answers import Refusal
from agents.pod.gateway.pod import Pod
from agents.pod.gateway.replay.recorder import ReplayRecorder
from agents.pod.gateway.spending import limits as rules
from agents.pod.gateway.spending.book import Book, KeyRowKey, Row, RowKey, row_of
from agents.pod.gateway.spending.calls import MeteredCall, Price
from agents.pod.gateway.spending.clock import SharedClock
from agents.pod.gateway.spending.key_limits import KeyState, KnownKeys, ToldKeys
from agents.pod.gateway.spending.limits import Pace, SpendingLimits, Spent
from agents.pod.gateway.spending.open_turns import OpenTurns
from agents.pod.gateway.spending.tokens import Tokens

KEEP_SECONDS = 1.0
LATE_SECONDS = 60.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the control plane has told with its last exchange."""

    at: float  # by the control plane's clock, in Unix seconds
    revision: int
    limits: SpendingLimits
    day: str  # to which `spent` belongs
    spent: Spent  # without what the book still has
    prices: dict[str, Price]  # by provider and model, as `openai:gpt-6`
    keys: ToldKeys
    is_replayed: bool  # whether the owner wants the replay; an earlier release, which says nothing, cannot store it

    @classmethod
    def load(cls, raw: Mapping[str, Any]) -> Told:
        """Raises KeyError, TypeError or ValueError for anything else."""
        return cls(
            at=float(raw["now"]),
            revision=int(raw["revision"]),
            limits=SpendingLimits.load(raw["limits"]),
            day=str(raw["day"]),
            spent=Spent(day=int(raw["spent"].get("day", 0)), month=int(raw["spent"].get("month", 0))),
            prices={name: Price(**price) for name, price in raw["prices"].items()},
            keys=ToldKeys.load(raw),
            is_replayed=raw.get("replay") is True,
        )

    def cost(self, key: RowKey | KeyRowKey, tokens: Tokens) -> int:
        """In units; 0 for a model without a price."""
        price = self.prices.get(key.full_model)
        return price.cost(tokens) if price else 0


@dataclass(slots=True)
class Meter:
    pod: Pod
    clock: SharedClock = field(default_factory=SharedClock)
    turns: OpenTurns = field(default_factory=OpenTurns)
    keys: KnownKeys = field(default_factory=KnownKeys)
    _pace: Pace = field(default_factory=Pace)
    _told: Told | None = None
    replay: ReplayRecorder = field(init=False)
    _book: Book = field(init=False)
    _calls: dict[int, MeteredCall] = field(default_factory=dict)
    _next: int = 0

    def __post_init__(self) -> None:
        self._book = Book(Path(self.pod.start.run_dir) / "spending.json")
        self.replay = ReplayRecorder(self.pod, self.clock, self.turns, self._book.replay)
        if self._book.told:
            try:
                self._told = Told.load(self._book.told)
                self.replay.switch(self._told.is_replayed)
                self.keys.take_all(self._told.keys, at=self._told.at)
            except (KeyError, TypeError, ValueError, AttributeError):
                log.warning("what the control plane told the last time cannot be read")

    @property
    def limits(self) -> SpendingLimits:
        """The newest limits: from the pod's configuration, or from the last exchange, which also comes while no
        configuration can be taken.
        """
        config, secrets = self.pod.config, self.pod.secrets
        if self._told and self._told.revision >= config.revision:
            return self._told.limits
        return SpendingLimits.load(secrets.spending_limits)

    def key(self, provider: str, model: str) -> RowKey:
        kind, session = self.turns.asking
        return RowKey(self.clock.day(), provider, model, kind, session)

    @contextmanager
    def call(self, call: MeteredCall) -> Iterator[MeteredCall]:
        """Count this call."""
        if call.protocol is None:
            yield call
            return
        number, self._next = self._next, self._next + 1
        self._calls[number] = call
        self._book.under_way[number] = (call.key, row_of(call.expected, estimated=True), call.api_keys)
        self._book.news.set()
        try:
            yield call
        finally:
            del self._calls[number], self._book.under_way[number]
            self._count(call)

    def check(self, call: MeteredCall) -> None:
        """Raises Refusal at a limit."""
        limits = self.limits
        rules.check_stop(limits)
        if call.protocol is None:
            return
        if limits.of_money:
            told = self._priced(call.key)
            spent, expected = self._spent(told, call.key.day), self._expected(told, self._calls.values())
            rules.check_money(limits, spent, expected, now=self.clock.now())
        for key in self.keys.of(call.api_keys):
            self._check_key(key, call)
        waiting = sum(one.expected.input + one.expected.output for one in self._calls.values())
        rules.check_turn(limits, taken=self.turns.tokens, turns=self.turns.count, reserved=waiting)
        self._pace.check(limits)

    def _check_key(self, key: KeyState, call: MeteredCall) -> None:
        """Raises Refusal at a limit of this API key."""
        told = self._priced(call.key)
        under_way = [one for one in self._calls.values() if key.id in one.api_keys]
        rows = ((row_key, row) for row_key, row in self._book.key_rows(key.book, key.ack) if row_key.api_key == key.id)
        spent = key.spent_on(call.key.day, _sum(told, rows, call.key.day))
        try:
            rules.check_money(key.limits, spent, self._expected(told, under_way), now=self.clock.now())
        except Refusal:
            call.is_at_keys_limit = True
            raise

    def _expected(self, told: Told, calls: Iterable[MeteredCall]) -> int:
        """What these calls will probably cost."""
        return sum(told.cost(one.key, one.expected) for one in calls)

    def _count(self, call: MeteredCall) -> None:
        if call.is_free:
            self._book.add(call.key, {"calls": 1, "failed": 1}, call.api_keys)
            return
        tokens, estimated = call.taken()
        self._book.add(call.key, row_of(tokens, estimated=estimated), call.api_keys)
        call.is_counted = True
        self.turns.add(tokens.input + tokens.output)

    def _priced(self, key: RowKey) -> Told:
        """What the control plane has told, with a price for this model. Raises Refusal: without both, no limit of money
        could hold.
        """
        if self._told is None:
            words = "what this agent has spent is being looked up; try again"
            raise Refusal(rules.UNKNOWN_YET, words, Retry_After="2")
        if key.full_model not in self._told.prices:
            words = f"{key.model} has no price in the catalog, so no limit in USD can be kept with it"
            raise Refusal(rules.REACHED, words)
        return self._told

    def _spent(self, told: Told, day: str) -> Spent:
        """What was spent on this day and in its month, with what the control plane does not have yet."""
        waiting, known = _sum(told, self._book.rows(), day), told.spent
        is_day, is_month = told.day == day, told.day[:7] == day[:7]
        return Spent(
            day=waiting.day + (known.day if is_day else 0),
            month=waiting.month + (known.month if is_month else 0),
        )

    def exchange(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Take the news of the control plane, and give it the batch that is due. Raises Refusal for a wrong body."""
        try:
            book, ack, told = str(body["book"]), int(body["ack"]), Told.load(body)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Refusal(400, "body: must be an exchange of figures") from error
        if not self._is_late(told):
            self.replay.switch(told.is_replayed)
        batch = self._book.hand_over(book, ack)
        if not self._is_late(told):
            self.clock.set(told.at)
            self._told = told
            self.keys.take_all(told.keys, at=told.at)
            self._book.told = dict(body)
            self._book.news.set()
        return batch

    def _is_late(self, told: Told) -> bool:
        """Whether a worker brings older news than another one has brought. If the difference is large, the control
        plane's clock was set back.
        """
        return self._told is not None and 0 < self._told.at - told.at < LATE_SECONDS

    async def keep(self) -> None:
        """Write the book, at most once in KEEP_SECONDS, while there is news."""
        while True:
            await self._book.news.wait()
            await asyncio.sleep(KEEP_SECONDS)
            self._book.keep()

    def close(self) -> None:
        """The gateway ends. What is not over by now goes into the book as an estimate at the next start."""
        self._book.keep()


def _sum(told: Told, rows: Iterable[tuple[RowKey | KeyRowKey, Row]], day: str) -> Spent:
    """What these rows cost on this day, and in its month."""
    costs = [(key.day, told.cost(key, _tokens(row))) for key, row in rows]
    return Spent(
        day=sum(cost for at, cost in costs if at == day), month=sum(cost for at, cost in costs if at[:7] == day[:7])
    )


def _tokens(row: Row) -> Tokens:
    return Tokens(**{name: row[name] for name in Tokens.__slots__})
