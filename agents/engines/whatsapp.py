"""WhatsApp for an engine that has no connection to Meta's Cloud API: the bridge runs the turns and sends the answers.
The platform receives Meta's webhook calls and repeats each message until its turn is over. So a message is marked as
read only after its answer was sent, and a message whose turn was cut off is processed again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import aiohttp

from agents.engines.base import EngineError, ModelError, Turns
from agents.runtimes.base import PodConfig

log = logging.getLogger(__name__)

NO_INBOUND = (
    "it can send, but receives nothing: PUT /agents/{id}/channels with whatsappVerifyToken and whatsappAppSecret"
)
REFUSED = "the service refuses the access token"
NO_COMMANDS = "Commands are not taken here."
_META = "https://graph.facebook.com"
_VERSION = "v20.0"
_COMMAND = re.compile(r"\s*/[a-z_]+(\s|:|$)", re.IGNORECASE)
# A message is given up after this many turns, in case it ends the engine or its turn each time.
TURNS_OF_A_MESSAGE = 4
TURNS_AT_ONCE = 4
# The number of remembered message names. The platform repeats a message for a day at most.
NAMES_KEPT = 5_000
CHARACTERS = 4_096  # the most characters of one message; a longer answer is sent as several messages
SEND_TRIES = 3
SEND_PAUSE_SECONDS = 1.0
_BAD_TOKEN = 190
_TIMEOUT = aiohttp.ClientTimeout(total=20)
_LOOK_TIMEOUT = aiohttp.ClientTimeout(total=3)


def secrets(config: PodConfig) -> dict[str, str]:
    """The parts of a configuration that the inbox needs. Empty without the channel or without a model key."""
    if "whatsapp" not in config.channels or not config.has_key:
        return {}
    given = {name: value for name, value in config.channel_secrets.items() if name.startswith("whatsapp")}
    return {**given, "url": (config.whatsapp_api_url or _META).rstrip("/")}


class WhatsappInbox:
    """Passes the platform's messages to the engine's conversations, one conversation for each person who
    writes.
    """

    def __init__(self, conversation: Callable[[str], Turns], given: Mapping[str, str], *, notes: Path) -> None:
        self._conversation = conversation
        self._given = given
        self._notes = Notes(notes)
        self._reading: dict[str, asyncio.Task[None]] = {}
        # locks, so that a person has one turn at a time
        self._lanes: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._places = asyncio.Semaphore(TURNS_AT_ONCE)

    async def state(self) -> str | None:
        """None if Meta accepts the token, knows the number and can send messages here; else the reason why not."""
        if not self._given:
            return "not connected: channels wait for the model key"
        try:
            async with (
                aiohttp.ClientSession(timeout=_LOOK_TIMEOUT, trust_env=False) as session,
                session.get(self._address(), params={"fields": "id"}, headers=self._headers()) as answer,
            ):
                trouble = await _refusal(answer)
        except (aiohttp.ClientError, TimeoutError) as error:
            trouble = f"the service does not answer ({type(error).__name__})"
        return trouble or (None if "whatsappAppSecret" in self._given else NO_INBOUND)

    def take(self, name: str, body: str) -> bool:
        """Start the turn of a message unless it was started. Returns True if the turn is over. Raises EngineError if
        the agent is not on WhatsApp.
        """
        if not self._given:
            raise EngineError("the agent takes no messages of whatsapp")
        if self._notes.is_over(name):
            return True
        if name not in self._reading:
            self._notes.begin(name)
            self._reading[name] = asyncio.create_task(self._read(name, body))
        return False

    async def _read(self, name: str, body: str) -> None:
        try:
            for sender, text in _texts(body):
                async with self._lanes.setdefault(sender, asyncio.Lock()), self._places:
                    await self._send(sender, await self._answer(sender, text))
            self._notes.over(name)
        except (EngineError, ModelError, aiohttp.ClientError, TimeoutError) as error:
            log.info("a message of whatsapp is not answered yet: %s", error)
        except ValueError as error:  # the message is not readable, so it is never tried again
            log.warning("a message of whatsapp is dropped: %s", error)
            self._notes.over(name)
        finally:
            del self._reading[name]

    async def _answer(self, sender: str, text: str) -> str:
        if _COMMAND.match(text):
            return NO_COMMANDS
        turns = self._conversation(f"whatsapp-{re.sub(r'[^0-9A-Za-z]', '', sender)[:40]}")
        async with aclosing(turns.turn(text)) as pieces:
            async for _ in pieces:
                pass
        return turns.reply()

    async def _send(self, sender: str, text: str) -> None:
        async with aiohttp.ClientSession(timeout=_TIMEOUT, trust_env=False) as session:
            for first in range(0, len(text), CHARACTERS):
                await self._send_one(session, sender, text[first : first + CHARACTERS])

    async def _send_one(self, session: aiohttp.ClientSession, sender: str, text: str) -> None:
        message = {"messaging_product": "whatsapp", "to": sender, "type": "text", "text": {"body": text}}
        trouble: str | None = None
        for attempt in range(1, SEND_TRIES + 1):
            try:
                async with session.post(f"{self._address()}/messages", json=message, headers=self._headers()) as answer:
                    trouble = await _refusal(answer)
            except (aiohttp.ClientError, TimeoutError) as error:
                trouble = f"the service does not answer ({type(error).__name__})"
            if trouble is None:
                return
            await asyncio.sleep(SEND_PAUSE_SECONDS * attempt)
        raise EngineError(f"an answer was not sent: {trouble}")

    def _address(self) -> str:
        return f"{self._given['url']}/{_VERSION}/{self._given.get('whatsappPhoneNumberId')}"

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._given.get('whatsappAccessToken')}"}


async def _refusal(answer: aiohttp.ClientResponse) -> str | None:
    """None if Meta accepted the request, else the reason. For some bad tokens Meta answers 401, for others 400 with an
    error number.
    """
    if answer.status < 300:
        return None
    said = await answer.text()
    is_token = answer.status == 401 or re.search(rf'"code": ?{_BAD_TOKEN}\b', said)
    return REFUSED if is_token else f"the service answers {answer.status}"


def _texts(body: str) -> Iterator[tuple[str, str]]:
    """The senders and texts in a webhook call of Meta. Raises ValueError if it is no such call."""
    try:
        for entry in json.loads(body)["entry"]:
            for change in entry["changes"]:
                for message in change["value"].get("messages") or []:
                    if text := _text(message):
                        yield str(message["from"]), text
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"no call of Meta's ({type(error).__name__})") from error


def _text(message: Mapping[str, Any]) -> str:
    """The text, the caption of a picture, or the label of the pressed button; "" for sound, or for a picture without a
    caption.
    """
    kind = message.get("type")
    said = message.get(str(kind)) or {}
    if kind == "interactive":
        chosen = said.get("button_reply") or said.get("list_reply") or {}
        return str(chosen.get("title") or "")
    return str(said.get("body") or said.get("caption") or said.get("text") or "")


class Notes:
    """A file of marked names, with one line for each turn that started (`?`) and one for each finished message."""

    def __init__(self, file: Path) -> None:
        self._file = file
        lines = file.read_text(encoding="utf-8").splitlines()[-NAMES_KEPT:] if file.exists() else []
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        self._over = {line for line in lines if not line.startswith("?")}
        self._begun: dict[str, int] = {}
        for line in lines:
            if line.startswith("?"):
                self._begun[line[1:]] = self._begun.get(line[1:], 0) + 1

    def is_over(self, name: str) -> bool:
        return _key(name) in self._over

    def begin(self, name: str) -> None:
        key = _key(name)
        self._begun[key] = self._begun.get(key, 0) + 1
        self._write(f"?{key}")
        if self._begun[key] >= TURNS_OF_A_MESSAGE:  # this turn is the last try
            self.over(name)

    def over(self, name: str) -> None:
        key = _key(name)
        if key not in self._over:
            self._over.add(key)
            self._write(key)

    def _write(self, line: str) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def _key(name: str) -> str:
    """A short key for a name. The service chooses names, so they may be any text."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]
