"""E-mail, changed inside hermes' own process (hermes_start.py): each mail is answered once, also if hermes did not run
or was ended.
hermes itself skips all mails that are in the mailbox at its start, and marks a mail as read before its turn. With these
changes a mail is marked as read only when its number is in a file, and a mail whose turn was cut off is fetched again.
This module imports nothing from this project.
"""

from __future__ import annotations

import imaplib
import importlib
import logging
import re
import ssl
import sys
import time
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

log = logging.getLogger(__name__)

# hermes keeps several copies of a mail in memory. A larger mail could end it, again at each start.
MAIL_BYTES = 24 * 1024 * 1024
_SIZE = re.compile(rb"RFC822\.SIZE (\d+)", re.IGNORECASE)
# Older unread mail is ignored.
READ_SECONDS = 7 * 24 * 3600.0
REFUSED = "the mail server refuses the address or its password"
FAILURE_CHARACTERS = 200
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_MAIL: ContextVar[str] = ContextVar("mail")

Answer = tuple[str, list[Any]]


def change(home: Path) -> None:
    turns: Any = importlib.import_module("hermes_turns")
    turns.when_made("email", Mails(turns, home).follow)


class Mails:
    def __init__(self, turns: Any, home: Path) -> None:
        self._module = turns
        self._kept = importlib.import_module("hermes_kept").Kept(home, "email")
        self._turns = turns.HermesTurns(self._kept)
        # mails that an earlier process did not finish; None until they are read from the file
        self._left: list[str] | None = None
        self._fetched: dict[bytes, str] = {}
        self._last: dict[str, Any] = {"at": time.monotonic(), "failure": None, "refused": None}

    def follow(self, adapter: Any) -> None:
        self._turns.follow(adapter)
        module = sys.modules[adapter.__module__]
        vars(module)["imaplib"] = SimpleNamespace(IMAP4_SSL=partial(Mailbox, self))
        self._follow_fetches(adapter)
        self._name(adapter)
        self._tell(adapter)

    # Methods that the mailbox calls.

    def skipped(self, validity: str, numbers: list[bytes]) -> list[bytes]:
        """The mails to skip at a start: those that were in the mailbox when this agent saw the mailbox for the first
        time.
        """
        known = self._kept.names()
        if any(name.startswith(f"mark:{validity}:") for name in known):
            return []
        self._kept.remember(f"mark:{validity}:{max(map(int, numbers), default=0)}")
        return numbers

    def due(self, validity: str, numbers: list[bytes]) -> list[bytes]:
        """The mails to fetch: first those whose turn was cut off, then new unread mails."""
        if self._left is None:
            self._left = [name for name, _ in self._kept.left()]
        known = set(self._kept.names())
        marks = [int(name.rpartition(":")[2]) for name in known if name.startswith(f"mark:{validity}:")]
        new = [number for number in numbers if int(number) > max(marks, default=0)]
        again = [name.partition(".")[2].encode() for name in self._left if name.startswith(f"{validity}.")]
        self._left = []
        return [*again, *(one for one in new if _name(validity, one) not in known)]

    def keep(self, validity: str, number: bytes) -> None:
        name = _name(validity, number)
        self._kept.add(name, "")
        self._fetched[number] = name

    def pass_over(self, validity: str, number: bytes) -> None:
        name = _name(validity, number)
        self._kept.add(name, "")
        self._kept.over([name])

    def heard(self) -> None:
        self._last.update(at=time.monotonic(), failure=None, refused=None)

    def failed(self, failure: str, *, refused: bool = False) -> None:
        self._last.update(failure=None if refused else failure, refused=REFUSED if refused else None)

    # Changes of hermes' adapter.

    def _follow_fetches(self, adapter: Any) -> None:
        fetch = getattr(adapter, "_fetch_new_messages")  # noqa: B009 # an internal method of hermes

        def fetched(one: Any) -> Any:
            self._fetched.clear()
            mails = fetch(one)
            passed_over = self._fetched.keys() - {mail["uid"] for mail in mails}
            # hermes skips mails that machines have written
            self._kept.over(self._fetched[number] for number in passed_over)
            return mails

        setattr(adapter, "_fetch_new_messages", fetched)  # noqa: B010

    def _name(self, adapter: Any) -> None:
        dispatch, handle = getattr(adapter, "_dispatch_message"), adapter.handle_message  # noqa: B009

        async def dispatched(one: Any, mail: Any) -> None:
            name = self._fetched.get(mail["uid"], "")
            token = _MAIL.set(name)
            try:
                await dispatch(one, mail)
            finally:
                _MAIL.reset(token)
            if name and not self._turns.is_held(name):
                self._kept.over([name])

        async def named(one: Any, event: Any) -> None:
            if name := _MAIL.get(""):
                self._module.name(event, name)
            await handle(one, event)

        setattr(adapter, "_dispatch_message", dispatched)  # noqa: B010
        adapter.handle_message = named

    def _tell(self, adapter: Any) -> None:
        """Add to hermes' report why the mailbox is not connected, and how long ago it was last read."""
        connect, connect_smtp = adapter.connect, getattr(adapter, "_connect_smtp")  # noqa: B009

        async def connected(one: Any, **named: Any) -> bool:
            self._last.update(at=time.monotonic(), failure=None, refused=None)
            done: bool = await connect(one, **named)
            if not done and (why := self._last["refused"] or self._last["failure"]):
                getattr(one, "_set_fatal_error")("email_not_connected", why, retryable=True)  # noqa: B009
            return done

        adapter.connect = connected
        setattr(adapter, "_connect_smtp", lambda one: self._judged(connect_smtp, one))  # noqa: B010
        self._report()

    def _judged(self, connect: Any, adapter: Any) -> Any:
        """Connect to the server that sends mail. Errors, also a refused password, are noted for the report."""
        try:
            server = connect(adapter)
        except OSError as error:
            self.failed(_words(error))
            raise
        login = server.login

        def logged_in(*given: Any) -> Any:
            try:
                return login(*given)
            except Exception as error:
                self.failed(_words(error), refused=type(error).__name__ == "SMTPAuthenticationError")
                raise

        server.login = logged_in
        return server

    def _report(self) -> None:
        status = vars(importlib.import_module("gateway.status"))
        read = status["read_runtime_status"]

        def report(*given: Any) -> Any:
            found = read(*given)
            mail = ((found or {}).get("platforms") or {}).get("email")
            if mail is not None:
                seconds = time.monotonic() - self._last["at"]
                mail["poll"] = {"seconds": seconds, "failure": self._last["failure"], "refused": self._last["refused"]}
            return found

        status["read_runtime_status"] = report


class Mailbox(imaplib.IMAP4_SSL):
    """hermes' connection to the mailbox. It checks the server's certificate, which the library does not
    do by default.
    """

    def __init__(self, mails: Mails, host: str, port: int, timeout: float) -> None:
        self._mails = mails
        try:
            super().__init__(host, port, timeout=timeout, ssl_context=ssl.create_default_context())
        except (OSError, imaplib.IMAP4.error) as error:
            self._mails.failed(_words(error))
            raise

    def login(self, user: str, password: str) -> Any:
        try:
            return super().login(user, password)
        except imaplib.IMAP4.abort as error:
            self._mails.failed(_words(error))
            raise
        except imaplib.IMAP4.error:
            self._mails.failed("", refused=True)
            raise

    def uid(self, command: str, *given: Any) -> Answer:
        if command == "search" and given[-1] == "ALL":
            return self._found(self._mails.skipped, super().uid(command, *given))
        if command == "search" and given[-1] == "UNSEEN":
            found = self._found(
                self._mails.due, super().uid(command, *given, "SINCE", _day(time.time() - READ_SECONDS))
            )
            self._mails.heard()
            return found
        if command == "fetch":
            return self._fetch(given[0])
        return super().uid(command, *given)

    def _fetch(self, number: Any) -> Answer:
        """Fetch a mail. The mail is marked as read only after its number is stored."""
        if (size := self._size(number)) > MAIL_BYTES:
            log.warning("a mail of %d bytes is not read: at most %d", size, MAIL_BYTES)
            self._mails.pass_over(self._validity(), number)
            return "NO", [b"too large"]
        answer = super().uid("fetch", number, "(BODY.PEEK[])")
        if answer[0] == "OK":
            self._mails.keep(self._validity(), number)
            super().uid("store", number, "+FLAGS.SILENT", r"(\Seen)")
        return answer

    def _size(self, number: Any) -> int:
        """Bytes of a mail; 0 if the server does not say."""
        _, told = super().uid("fetch", number, "(RFC822.SIZE)")
        found = _SIZE.search(b" ".join(one for one in told or [] if isinstance(one, bytes)))
        return int(found[1]) if found else 0

    def _found(self, choose: Any, answer: Answer) -> Answer:
        if answer[0] != "OK":
            return answer
        numbers = choose(self._validity(), (answer[1][0] or b"").split())
        return "OK", [b" ".join(numbers)]

    def _validity(self) -> str:
        if not hasattr(self, "pod_validity"):
            self.pod_validity = ((self.response("UIDVALIDITY")[1] or [b"0"])[0] or b"0").decode()
        return str(self.pod_validity)


def _name(validity: str, number: bytes) -> str:
    return f"{validity}.{number.decode()}"


def _day(seconds: float) -> str:
    day = time.gmtime(seconds)
    return f"{day.tm_mday:02}-{_MONTHS[day.tm_mon - 1]}-{day.tm_year}"


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:FAILURE_CHARACTERS]
