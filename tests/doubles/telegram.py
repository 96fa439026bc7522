"""The Telegram Bot API on loopback: long polling with offsets, one poller at a time, and the messages that people see.

Point a bot at `url`. `write` sends a message of a person to the bot; `sent` has the bot's messages. After a change of
`token`, the bot's old token is revoked. `poll_refusal` and `polls_hang` are faults of Telegram that only affect polls.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

Json = dict[str, Any]
TOKEN = "4711081500:AAbot-token-of-the-owners-telegram-bot"
BOT = {"id": 4711081500, "is_bot": True, "first_name": "Zorblax", "username": "zorblax_bot", "can_join_groups": True}
MOST_CHARACTERS = 4096
LONGEST_POLL_SECONDS = 50
LONGEST_HANG_SECONDS = 600
_ESCAPED = re.compile(r"\\([_*\[\]()~`>#+\-=|{}.!\\])")


@dataclass(frozen=True, slots=True)
class SentMessage:
    chat_id: int
    text: str  # as the person reads it


class BotRefused(Exception):
    def __init__(self, status: int, description: str) -> None:
        super().__init__(description)
        self.status = status
        self.description = description


class TelegramDouble:
    def __init__(self, *, token: str = TOKEN) -> None:
        self.token = token
        self.calls: list[tuple[str, Json]] = []
        self.poll_refusal: tuple[int, str] | None = None  # status and description
        self._polls_hang = False
        self.sends_hang = False  # if set, messages are accepted but neither shown nor answered
        self.hanging_sends = 0
        self._messages: dict[tuple[int, int], SentMessage] = {}  # by chat and message: an edit replaces the text
        self._updates: list[Json] = []
        self._voice = b""
        self._changed = threading.Condition()
        self._poller = 0
        self._numbers = iter(range(1000, 10**9))
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.double = self
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def sent(self) -> list[SentMessage]:
        with self._changed:
            return list(self._messages.values())

    @property
    def methods(self) -> set[str]:
        with self._changed:
            return {method for method, _ in self.calls}

    @property
    def waiting(self) -> int:
        """The number of messages that no poll has confirmed."""
        with self._changed:
            return len(self._updates)

    @property
    def polls_hang(self) -> bool:
        """Whether polls hang. When this is set to False, hanging polls are answered."""
        return self._polls_hang

    @polls_hang.setter
    def polls_hang(self, hang: bool) -> None:
        with self._changed:
            self._polls_hang = hang
            self._changed.notify_all()

    def write(self, text: str, *, person: int = 77) -> None:
        """A person writes to the bot in a private chat."""
        who = {"id": person, "is_bot": False, "first_name": "Ann", "language_code": "en"}
        message = {**self._message(person, text), "from": who}
        with self._changed:
            self._updates.append({"update_id": next(self._numbers), "message": message})
            self._changed.notify_all()

    def speak(self, sound: bytes, *, person: int = 77) -> None:
        """A person sends a voice message."""
        who = {"id": person, "is_bot": False, "first_name": "Ann", "language_code": "en"}
        voice = {"file_id": "voice-1", "file_unique_id": "v1", "duration": 2, "mime_type": "audio/ogg"}
        message = {**self._message(person, ""), "from": who, "voice": {**voice, "file_size": len(sound)}}
        del message["text"]
        with self._changed:
            self._voice = sound
            self._updates.append({"update_id": next(self._numbers), "message": message})
            self._changed.notify_all()

    def file(self, path: str) -> bytes | None:
        """The file at this path, as a bot downloads it."""
        return self._voice if path == f"/file/bot{self.token}/voice/1.oga" else None

    def stop(self) -> None:
        self.polls_hang = False
        self._http.shutdown()
        self._http.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def answer(self, path: str, fields: Json) -> Any:
        """The result of a call. Raises BotRefused."""
        shown, _, method = path.removeprefix("/bot").partition("/")
        if shown != self.token:
            raise BotRefused(401, "Unauthorized")
        with self._changed:
            self.calls.append((method, fields))
        answers: dict[str, Callable[[Json], Any]] = {
            "getMe": lambda _: BOT,
            "getUpdates": self._get_updates,
            "getWebhookInfo": lambda _: {"url": "", "has_custom_certificate": False, "pending_update_count": 0},
            "getFile": lambda _: {"file_id": "voice-1", "file_unique_id": "v1", "file_path": "voice/1.oga"},
            "sendMessage": self._send,
            "editMessageText": self._edit,
            "deleteMessage": self._delete,
            "deleteWebhook": self._delete_webhook,
        }
        acknowledged = {"setMyCommands", "deleteMyCommands", "sendChatAction", "setMessageReaction"}
        if method not in answers and method not in acknowledged:
            raise BotRefused(404, "Not Found")
        return answers[method](fields) if method in answers else True

    def _get_updates(self, fields: Json) -> list[Json]:
        """Wait for updates. An offset confirms all updates before it; a newer poll ends an older one."""
        until = time.monotonic() + min(int(fields.get("timeout") or 0), LONGEST_POLL_SECONDS)
        offset = int(fields.get("offset") or 0)
        with self._changed:
            self._poller += 1
            mine = self._poller
            self._changed.notify_all()
            self._updates = [update for update in self._updates if update["update_id"] >= offset]
            while not self._updates and mine == self._poller and (rest := until - time.monotonic()) > 0:
                if self.poll_refusal or self._polls_hang:
                    break
                self._changed.wait(rest)
            self._changed.wait_for(lambda: not self._polls_hang, LONGEST_HANG_SECONDS)
            if self.poll_refusal:
                raise BotRefused(*self.poll_refusal)
            if mine != self._poller:
                raise BotRefused(409, "Conflict: terminated by other getUpdates request")
            return self._updates[: int(fields.get("limit") or 100)]

    def _delete_webhook(self, fields: Json) -> bool:
        """Polling bots call this when they start. The call may delete the updates that nobody has fetched yet."""
        if str(fields.get("drop_pending_updates") or "").lower() in {"true", "1"}:
            with self._changed:
                self._updates.clear()
        return True

    def _send(self, fields: Json) -> Json:
        chat, text = int(fields["chat_id"]), _checked(fields)
        if self.sends_hang:
            self.hanging_sends += 1
            while self.sends_hang:
                time.sleep(0.05)
            raise BotRefused(504, "Gateway Timeout")
        message = {**self._message(chat, text), "from": BOT}
        with self._changed:
            self._messages[chat, message["message_id"]] = SentMessage(chat, text)
        return message

    def _edit(self, fields: Json) -> Json:
        chat, number, text = int(fields["chat_id"]), int(fields["message_id"]), _checked(fields)
        with self._changed:
            if (chat, number) not in self._messages:
                raise BotRefused(400, "Bad Request: message to edit not found")
            if self._messages[chat, number].text == text:
                raise BotRefused(400, "Bad Request: message is not modified")
            self._messages[chat, number] = SentMessage(chat, text)
        return {**self._message(chat, text), "message_id": number, "from": BOT, "edit_date": int(time.time())}

    def _delete(self, fields: Json) -> bool:
        with self._changed:
            if self._messages.pop((int(fields["chat_id"]), int(fields["message_id"])), None) is None:
                raise BotRefused(400, "Bad Request: message to delete not found")
        return True

    def _message(self, chat: int, text: str) -> Json:
        with self._changed:
            number = next(self._numbers)
        about = {"id": chat, "type": "private", "first_name": "Ann"}
        return {"message_id": number, "date": int(time.time()), "chat": about, "text": text}


def _checked(fields: Json) -> str:
    text = str(fields.get("text") or "")
    if not text.strip():
        raise BotRefused(400, "Bad Request: message text is empty")
    if len(text) > MOST_CHARACTERS:
        raise BotRefused(400, "Bad Request: message is too long")
    return _ESCAPED.sub(r"\1", text) if fields.get("parse_mode") == "MarkdownV2" else text


class _Http(ThreadingHTTPServer):
    """A stopped server answers nobody, also not on a connection that is still open."""

    daemon_threads = True

    def __init__(self, *given: Any) -> None:
        self._open: set[Any] = set()
        super().__init__(*given)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        super().server_close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):  # the connection has just ended
                connection.shutdown(socket.SHUT_RDWR)

    request_queue_size = 64
    double: TelegramDouble


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        is_json = "json" in self.headers.get("Content-Type", "")
        given = json.loads(raw or "{}") if is_json else _last(raw)
        self._reply({**_last(urlsplit(self.path).query), **given})

    def do_GET(self) -> None:
        file = self.server.double.file(unquote(urlsplit(self.path).path))
        if file is not None:
            self._send(200, "application/octet-stream", file)
            return
        self._reply(_last(urlsplit(self.path).query))

    def _reply(self, fields: Json) -> None:
        try:
            status, body = 200, {"ok": True, "result": self.server.double.answer(urlsplit(self.path).path, fields)}
        except BotRefused as refusal:
            status = refusal.status
            body = {"ok": False, "error_code": status, "description": refusal.description}
        self._send(status, "application/json", json.dumps(body).encode())

    def _send(self, status: int, content_type: str, body: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True  # a poller that was killed

    def log_message(self, *_: object) -> None:
        """Log nothing: tests read the calls."""


def _last(encoded: str) -> Json:
    return {name: values[-1] for name, values in parse_qs(encoded, keep_blank_values=True).items()}
