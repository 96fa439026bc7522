"""Channels, changed inside hermes' own process (hermes_start.py): a person's message is kept until its turn is over.
hermes tells a service that a message was received before the turn of the message starts, and an end of hermes would
lose the message. Here the message is first written to a file (hermes_kept.py), and the next process takes it again.
This module imports nothing from this project.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterable
from contextlib import closing
from typing import Any

DELIVERY_SECONDS = 30  # seconds; a poll without messages takes ten


class HermesTurns:
    """Follows the messages of a hermes adapter through hermes' batches, queues and turns.
    A message that was handed in and neither waits nor runs is over. While hermes is ending no message counts as over,
    because hermes cuts turns off.
    """

    def __init__(self, kept: Any) -> None:
        self.kept = kept
        self._adapter: Any = None
        self._runner: Any = None
        self._handed: set[str] = set()
        self._placing: list[Any] = []  # events that hermes is about to put into a queue or a turn
        # for each session, the event that started the turn and the current event
        self._running: dict[str, tuple[Any, Any]] = {}
        self._next: dict[str, Any] = {}

    def follow(self, adapter: Any) -> None:
        """Change this adapter class of hermes."""
        self._follow_places(adapter)
        self._follow_turns(adapter)

    def _follow_places(self, adapter: Any) -> None:
        handle, set_handler = adapter.handle_message, adapter.set_message_handler

        def handler_set(one: Any, handler: Any) -> None:
            self._adapter = one  # after a lost connection, hermes makes a new adapter
            if self._runner is None:
                self._runner = handler.__self__
                self._follow_runner(type(self._runner))
                leave_restoring(self._runner, one.platform)
            set_handler(one, self._silent_at_the_end(handler))

        async def handled(one: Any, event: Any) -> None:
            self._handed |= names(event)
            self._placing.append(event)
            try:
                await handle(one, event)
            finally:
                self._placing.remove(event)
            self._settle()

        adapter.set_message_handler, adapter.handle_message = handler_set, handled

    def _follow_turns(self, adapter: Any) -> None:
        process = getattr(adapter, "_process_message_background")  # noqa: B009 # an internal method of hermes

        def processed(one: Any, event: Any, session: str) -> Any:
            self._running[session] = (event, event)

            async def run() -> None:
                try:
                    await process(one, event, session)
                finally:
                    if self._running.get(session, (None, None))[0] is event:
                        del self._running[session]
                    self._settle()

            return run()

        setattr(adapter, "_process_message_background", processed)  # noqa: B010

    def is_held(self, name: str) -> bool:
        """Whether the message is on its way to a turn."""
        return name in self._handed or name in _all_names(self._batched())

    def _silent_at_the_end(self, handler: Any) -> Any:
        """Do not send the answer of a turn that was cut off, because the message is taken again."""

        async def handled(event: Any) -> Any:
            answer = await handler(event)
            return None if self._is_ending() and names(event) else answer

        return handled

    def _follow_runner(self, runner: Any) -> None:
        methods = vars(runner)
        promote, run = methods["_promote_queued_event"], methods["_run_agent"]

        def promoted(one: Any, session: str, adapter: Any, pending: Any) -> Any:
            event = promote(one, session, adapter, pending)
            if event is not None and session in self._running:
                self._next[session] = event
            return event

        async def ran(one: Any, *given: Any, **named: Any) -> Any:
            """Note the next event of a session: the next waiting message starts inside hermes' task for
            the first one.
            """
            session = named.get("session_key")
            if named.get("_interrupt_depth") and session in self._next:
                self._running[session] = (self._running[session][0], self._next.pop(session))
                self._settle()
            return await run(one, *given, **named)

        setattr(runner, "_promote_queued_event", promoted)  # noqa: B010
        setattr(runner, "_run_agent", ran)  # noqa: B010
        self._follow_merges()
        self._follow_deliveries()
        self._deliver_once_it_can(runner)

    def _follow_merges(self) -> None:
        for module in ("gateway.platforms.base", "gateway.run"):
            inside = vars(importlib.import_module(module))
            inside["merge_pending_message_event"] = _merged(inside["merge_pending_message_event"])

    def _follow_deliveries(self) -> None:
        """When hermes has written down an answer for delivery, its message is over: from then on hermes itself delivers
        the answer, also after a restart.
        """
        ledger = vars(importlib.import_module("gateway.delivery_ledger"))
        record = ledger["record_obligation"]

        def recorded(**named: Any) -> None:
            record(**named)
            if named["session_key"] in self._running:
                self._over(names(self._running[named["session_key"]][1]))

        ledger["record_obligation"] = recorded

    def _deliver_once_it_can(self, runner: Any) -> None:
        """Wait until the adapters can send. At its start, hermes tries only once to send the answers that are still
        owed, and cannot do so before a poll of Telegram has succeeded.
        """
        deliver = vars(runner)["_redeliver_pending_obligations"]

        async def delivered(one: Any) -> int:
            for _ in range(DELIVERY_SECONDS if _is_owed() else 0):
                if not any(getattr(adapter, "_send_path_degraded", False) for adapter in one.adapters.values()):
                    break
                await asyncio.sleep(1)
            count: int = await deliver(one)
            return count

        setattr(runner, "_redeliver_pending_obligations", delivered)  # noqa: B010

    def _is_ending(self) -> bool:
        return bool(getattr(self._runner, "_draining", False))

    def _settle(self) -> None:
        if self._is_ending():
            return
        here = _all_names([*self._batched(), *self._waiting(), *self._placing, *self._next.values()])
        here |= _all_names(event for _, event in self._running.values())
        self._over(self._handed - here)

    def _over(self, finished: set[str]) -> None:
        if finished:
            self.kept.over(finished)
            self._handed -= finished

    def _batched(self) -> list[Any]:
        batches = ("_pending_text_batches", "_pending_photo_batches", "_media_group_events")
        return [event for batch in batches for event in vars(self._adapter or self).get(batch, {}).values()]

    def _waiting(self) -> list[Any]:
        if self._adapter is None:
            return []
        adapter, runner = vars(self._adapter), vars(self._runner)
        queued = [event for events in runner["_queued_events"].values() for event in events]
        debounced = [state.event for state in adapter.get("_text_debounce", {}).values()]
        return [*adapter["_pending_messages"].values(), *queued, *debounced, *runner["_startup_restore_queue"]]


def _is_owed() -> bool:
    """Whether there is an answer of an earlier process that may not have arrived."""
    connect = getattr(importlib.import_module("gateway.delivery_ledger"), "_connect")  # noqa: B009
    asked = "SELECT EXISTS (SELECT 1 FROM delivery_obligations WHERE state IN ('pending', 'attempting', 'failed'))"
    with closing(connect()) as ledger:
        return bool(ledger.execute(asked).fetchone()[0])


def when_made(platform: str, change: Any) -> None:
    """Change the class of this platform's adapter before hermes makes the first adapter."""
    base: Any = importlib.import_module("gateway.platforms.base").BasePlatformAdapter
    begin, changed = base.__init__, set[str]()

    def begun(one: Any, config: Any, its_platform: Any, *given: Any, **named: Any) -> None:
        if its_platform.value == platform and platform not in changed:
            changed.add(platform)
            change(type(one))
        begin(one, config, its_platform, *given, **named)

    base.__init__ = begun


def leave_restoring(runner: Any, platform: Any) -> None:
    """Keep hermes from its own turn after a restart, which tells the person that a session was restored. It is not
    needed, because the message itself is taken again.
    """
    store, restore = runner.session_store, getattr(runner, "_schedule_resume_pending_sessions")  # noqa: B009

    def others(*given: Any, **named: Any) -> int:
        with vars(store)["_lock"]:
            getattr(store, "_ensure_loaded_locked")()  # noqa: B009
            for entry in vars(store)["_entries"].values():
                if entry.origin is not None and entry.origin.platform == platform:
                    entry.resume_pending = False
        count: int = restore(*given, **named)
        return count

    vars(runner)["_schedule_resume_pending_sessions"] = others


def name(event: Any, *given: str) -> None:
    vars(event).setdefault("pod_names", set()).update(given)


def names(event: Any) -> set[str]:
    """The names of the messages in this event. Empty for texts that hermes writes to itself."""
    found: set[str] = vars(event).get("pod_names", set())
    return found


def join(into: Any, event: Any) -> None:
    """Call this when hermes has added an event's text to another event. If both are the same event, nothing happens."""
    if into is not None and into is not event:
        name(into, *names(event))


def _all_names(events: Iterable[Any]) -> set[str]:
    return {one for event in events for one in names(event)}


def _merged(merge: Any) -> Any:
    def merged(pending: Any, session: str, event: Any, **named: Any) -> None:
        merge(pending, session, event, **named)
        join(pending.get(session), event)

    return merged
