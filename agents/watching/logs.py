"""The log of an agent over all its pods, read by cursor, whether the last pod still runs or not."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agents.errors import ForeignLogCursor, UnknownLogCursor
from agents.models import Agent
from agents.pod.logs.lines import LogLine, LogSource
from agents.pod.logs.reading import Left, LinesPage, read
from agents.pod.turns.failures import HopFailure
from agents.running import pods
from agents.runtimes import current_runtime, pod_logs
from agents.runtimes.base import Access, Endpoint
from agents.runtimes.pod_logs import PAGE_SECONDS, LogQuery, OtherLife
from agents.watching import kept_logs
from config import waiting

PAGE = 100
MAX_PAGE = 1_000
MAX_CURSOR = 120  # characters
# Given in place of a cursor: the oldest line that is kept.
OLDEST = "oldest"
_SHAPE = re.compile(r"([0-9a-z-]{1,40})\.([0-9a-z]{8,24})\.(\d{1,15})")


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in the log of one pod."""

    life: str
    offset: int


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A line, and the cursor that continues after it."""

    line: LogLine
    cursor: Cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """`cursor` is where the next page begins; None while there is no log. `more`: more lines can be read now.

    `gap`: lines between the cursor that was asked for and the first line here are no longer kept. `live`: the pod's
    gateway sent this page. Otherwise the lines are left from a pod that is gone or does not answer.
    """

    entries: list[LogEntry] = field(repr=False)
    cursor: Cursor | None
    live: bool
    gap: bool = False
    more: bool = False


@dataclass(frozen=True, slots=True)
class Gateway:
    """The address of a running pod's gateway, and the access to it."""

    endpoint: Endpoint
    access: Access


def page(
    agent: Agent,
    *,
    after: str | Cursor | None = None,
    limit: int = PAGE,
    source: LogSource | None = None,
    seconds: float = PAGE_SECONDS,
) -> LogPage:
    """The lines after a cursor, the oldest first. Without a cursor the newest lines, in the same order.

    `seconds` is how long the pod may take to answer. Raises UnknownLogCursor, ForeignLogCursor, and Unavailable when
    too many calls wait.
    """
    cursor, is_from_oldest = _place(agent, after)
    wanted = LogQuery(after=cursor.offset if cursor else None, limit=limit, source=source)
    with waiting.looks.take(agent.user_id):
        live = _Live(gateway_of(agent), seconds)
        if cursor and (found := live.same(replace(wanted, life=cursor.life))):
            return one(found, live=True)
        newest = live.newest(replace(wanted, after=None))
    stored = _stored(agent, newest)
    if cursor is None and not is_from_oldest:
        return _newest(stored, newest, wanted)
    with waiting.looks.take(agent.user_id):
        return _forward(stored, live if newest else None, cursor, wanted)


def gateway_of(agent: Agent) -> Gateway | None:
    """The gateway of the agent's present pod, if the pod has an address."""
    endpoint = current_runtime().endpoint(agent.namespace)
    return Gateway(endpoint, pods.access_of(agent)) if endpoint else None


def text_of(agent: Agent, cursor: Cursor) -> str:
    """The cursor as text, in the form that readers send back."""
    raw = f"{agent.suffix}.{cursor.life}.{cursor.offset}".encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def cursor_of(agent: Agent, text: str) -> Cursor:
    """Read a cursor from its text. Raises UnknownLogCursor and ForeignLogCursor."""
    try:
        raw = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
        found = _SHAPE.fullmatch(raw.decode("ascii"))
    except (ValueError, binascii.Error) as error:
        raise UnknownLogCursor from error
    if found is None or len(text) > MAX_CURSOR:
        raise UnknownLogCursor
    if found[1] != agent.suffix:
        raise ForeignLogCursor
    return Cursor(found[2], int(found[3]))


def _place(agent: Agent, after: str | Cursor | None) -> tuple[Cursor | None, bool]:
    """The cursor, and whether to begin at the oldest line."""
    if after is None or isinstance(after, Cursor):
        return after, False
    return (None, True) if after == OLDEST else (cursor_of(agent, after), False)


class _Live:
    """The running pod, as long as its gateway answers."""

    def __init__(self, gateway: Gateway | None, seconds: float) -> None:
        self._gateway = gateway
        self._seconds = seconds

    def same(self, asked: LogQuery) -> LinesPage | None:
        """The page, if the pod's log is still the one that the cursor belongs to (the same `life`)."""
        try:
            return self._ask(asked)
        except OtherLife:
            return None

    def newest(self, asked: LogQuery) -> LinesPage | None:
        return self._ask(replace(asked, life=None))

    def _ask(self, asked: LogQuery) -> LinesPage | None:
        """Ask the gateway. When it does not answer, this returns None and does not ask again."""
        if self._gateway is None:
            return None
        try:
            return pod_logs.page(self._gateway.endpoint, self._gateway.access, asked, seconds=self._seconds)
        except OtherLife:
            raise
        except HopFailure:
            self._gateway = None
            return None


def _stored(agent: Agent, live: LinesPage | None) -> list[Left]:
    """The logs left by earlier pods, and by the present pod if it does not answer. The oldest first."""
    found = {left.life: left for left in kept_logs.of(agent)}
    if live:
        found.pop(live.life, None)
    elif left := current_runtime().left_log(agent.namespace):
        found[left.life] = left
    return [found[life] for life in sorted(found)]


def _newest(stored: Sequence[Left], live: LinesPage | None, asked: LogQuery) -> LogPage:
    """The last lines of all logs, and the cursor after them."""
    entries = _entries(live) if live else []
    cursor = Cursor(live.life, live.next) if live else None
    for left in reversed(stored):
        found = _read(left, replace(asked, after=None, limit=asked.limit - len(entries)))
        entries = [*_entries(found), *entries]
        cursor = cursor or Cursor(found.life, found.next)
    return LogPage(entries=entries, cursor=cursor, live=live is not None)


def _forward(stored: Sequence[Left], live: _Live | None, cursor: Cursor | None, asked: LogQuery) -> LogPage:
    """The lines from the cursor on, through all logs. Without a cursor, or when its pod's log is gone, from the oldest
    line."""
    begin = next((number for number, left in enumerate(stored) if cursor and left.life == cursor.life), None)
    is_lost = cursor is not None and begin is None
    offset = cursor.offset if cursor and begin is not None else None
    at = LogPage(entries=[], cursor=None, live=False, gap=is_lost)
    for left in stored[begin or 0 :]:
        start = left.chunks[0].base if left.chunks else 0
        at = _on(at, _read(left, replace(asked, after=start if offset is None else offset, limit=_room(at, asked))))
        offset = None
        if at.more:
            return at
    if live and (found := live.newest(replace(asked, after=0, limit=max(_room(at, asked), 1)))):
        if not _room(at, asked):
            return replace(at, more=bool(found.lines), live=True)
        is_first = at.cursor is None
        at = replace(_on(at, replace(found, gap=found.gap and not is_first)), live=True)
    return at


def _on(before: LogPage, found: LinesPage) -> LogPage:
    after = one(found, live=before.live)
    return replace(after, entries=[*before.entries, *after.entries], gap=before.gap or found.gap)


def _room(at: LogPage, asked: LogQuery) -> int:
    return asked.limit - len(at.entries)


def one(found: LinesPage, *, live: bool) -> LogPage:
    """A page of one pod's log."""
    return LogPage(
        entries=_entries(found),
        cursor=Cursor(found.life, found.next),
        live=live,
        gap=found.gap,
        more=found.next < found.end,
    )


def _entries(found: LinesPage) -> list[LogEntry]:
    return [LogEntry(line, Cursor(found.life, end)) for end, line in found.lines]


def _read(left: Left, asked: LogQuery) -> LinesPage:
    return read(left.life, left.chunks, after=asked.after, limit=asked.limit, source=asked.source)
