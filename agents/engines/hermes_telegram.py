"""Telegram, changed inside hermes' own process (hermes_start.py): when hermes ends, no message is lost or answered
twice.
hermes itself throws away at its start all messages that came while it did not run, and confirms a message before its
turn. This module imports nothing from this project.
"""

from __future__ import annotations

import importlib
import json
import sqlite3
from pathlib import Path
from typing import Any

_BATCHES = {
    "_enqueue_text_event": "_pending_text_batches",
    "_enqueue_photo_event": "_pending_photo_batches",
    "_queue_media_group_event": "_media_group_events",
}


def change(home: Path) -> None:
    turns: Any = importlib.import_module("hermes_turns")
    turns.when_made("telegram", Updates(turns, home).follow)


class Updates:
    """Writes each update from Telegram into the file before Telegram is told that it was fetched."""

    def __init__(self, turns: Any, home: Path) -> None:
        self._module = turns
        self._kept = importlib.import_module("hermes_kept").Kept(home, "telegram")
        self._turns = turns.HermesTurns(self._kept)
        self._begun: set[str] = set()
        self._has_taken_up = False

    def follow(self, adapter: Any) -> None:
        telegram, extension = importlib.import_module("telegram"), importlib.import_module("telegram.ext")
        self._keep(telegram)
        self._process(extension.Application)
        self._turns.follow(adapter)
        self._name(adapter)
        self._take_up(adapter, telegram.Update)

    def _keep(self, telegram: Any) -> None:
        poll = telegram.Bot.get_updates
        network_error = importlib.import_module("telegram.error").NetworkError

        async def kept(bot: Any, *given: Any, **named: Any) -> Any:
            updates = await poll(bot, *given, **named)
            try:
                for update in updates:
                    self._kept.add(str(update.update_id), update.to_json())
            except sqlite3.Error as error:  # for example a full disk: Telegram keeps the updates
                raise network_error(f"a message could not be kept: {error}") from error
            return updates

        telegram.Bot.get_updates = kept

    def _process(self, application: Any) -> None:
        process = application.process_update

        async def once(one: Any, update: Any) -> None:
            name = str(getattr(update, "update_id", ""))
            if not name or name in self._begun or self._kept.is_over(name):
                return
            self._begun.add(name)
            await process(one, update)
            if not self._turns.is_held(name):  # the update is not a message for the agent
                self._kept.over([name])

        application.process_update = once

    def _name(self, adapter: Any) -> None:
        build = getattr(adapter, "_build_message_event")  # noqa: B009

        def built(one: Any, message: Any, kind: Any, update_id: Any = None) -> Any:
            event = build(one, message, kind, update_id=update_id)
            if update_id is not None:
                self._module.name(event, str(update_id))
            return event

        setattr(adapter, "_build_message_event", built)  # noqa: B010
        for method, batch in _BATCHES.items():
            setattr(adapter, method, self._joined(getattr(adapter, method), batch))

    def _joined(self, enqueue: Any, batch: str) -> Any:
        """Several updates become one event, which gets the names of all of them."""

        def joined(one: Any, *given: Any) -> Any:
            *key, event = given
            first = vars(one)[batch].get(key[0] if key else getattr(one, "_text_batch_key")(event))  # noqa: B009
            self._module.join(first, event)
            return enqueue(one, *given)

        return joined

    def _take_up(self, adapter: Any, update_class: Any) -> None:
        start = getattr(adapter, "_start_polling_once")  # noqa: B009

        async def started(one: Any, app: Any, **named: Any) -> None:
            """Keep the updates that came while nobody polled. Updates that an earlier process did not finish come
            first.
            """
            if not self._has_taken_up:
                self._has_taken_up = True
                for _, body in self._kept.left():
                    app.update_queue.put_nowait(update_class.de_json(json.loads(body), app.bot))
            await start(one, app, **{**named, "drop_pending_updates": False})

        setattr(adapter, "_start_polling_once", started)  # noqa: B010
