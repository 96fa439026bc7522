"""A mailbox on loopback: IMAP over TLS and SMTP with STARTTLS, both with the address and its password.

`write` delivers a mail of a person; `sent` has the mails that the mailbox's owner sent. After a change of `password`,
the owner's old password is refused.
"""

from __future__ import annotations

import base64
import re
import socketserver
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import EmailMessage, Message
from email.parser import BytesParser
from email.policy import default
from email.utils import formatdate
from typing import Self

ADDRESS, PASSWORD = "zorblax@example.com", "app-password-4711-0815"
VALIDITY = 4711
SEEN = r"\Seen"


@dataclass(slots=True)
class KeptMail:
    uid: int
    raw: bytes
    flags: set[str] = field(default_factory=set)


class MailboxDouble:
    def __init__(self, tls: ssl.SSLContext, *, password: str = PASSWORD) -> None:
        self.password = password
        self.tls = tls
        self.mails: list[KeptMail] = []
        self.sent: list[EmailMessage] = []
        self.polls = 0
        self.hangs = threading.Event()  # if set, no command is answered
        self._lock = threading.Lock()
        self._servers = [_Server(self, _Imap), _Server(self, _Smtp)]

    @property
    def imap_host(self) -> str:
        return f"localhost:{self._servers[0].server_address[1]}"

    @property
    def smtp_host(self) -> str:
        return f"localhost:{self._servers[1].server_address[1]}"

    @property
    def unread(self) -> int:
        with self._lock:
            return sum(SEEN not in mail.flags for mail in self.mails)

    def write(self, text: str, *, sender: str = "ann@example.org", subject: str = "hello") -> None:
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = f"Ann <{sender}>", ADDRESS, subject
        mail["Date"], mail["Message-ID"] = formatdate(), f"<{len(self.mails)}.{id(mail)}@example.org>"
        mail.set_content(text)
        with self._lock:
            self.mails.append(KeptMail(len(self.mails) + 1, mail.as_bytes(policy=default)))

    def is_owner(self, user: str, password: str) -> bool:
        return (user, password) == (ADDRESS, self.password)

    def found(self, wanted: str) -> list[int]:
        with self._lock:
            return [mail.uid for mail in self.mails if "UNSEEN" not in wanted or SEEN not in mail.flags]

    def mail(self, uid: int) -> KeptMail | None:
        return next((mail for mail in self.mails if mail.uid == uid), None)

    def stop(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

    def __init__(self, double: MailboxDouble, conversation: type[socketserver.BaseRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), conversation)
        self.double = double
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore the errors of clients that were killed."""


class _Conversation(socketserver.StreamRequestHandler):
    server: _Server

    def wrap(self) -> None:
        for stream in (self.wfile, self.rfile):
            stream.close()
        self.connection = self.server.double.tls.wrap_socket(self.request, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", buffering=0)

    def finish(self) -> None:
        for stream in (self.wfile, self.rfile, self.connection):
            with suppress(OSError):
                stream.close()

    def say(self, *lines: str | bytes) -> None:
        for line in lines:
            self.wfile.write((line.encode() if isinstance(line, str) else line) + b"\r\n")

    def lines(self) -> list[str]:
        """One line, or none at the end of the connection."""
        line = self.rfile.readline().decode("utf-8", "replace").rstrip("\r\n")
        while self.server.double.hangs.is_set():
            threading.Event().wait(0.05)
        return [line] if line else []


class _Imap(_Conversation):
    _is_in = False
    _is_selected = False

    def handle(self) -> None:
        self.wrap()
        self.say("* OK [CAPABILITY IMAP4rev1 ID] ready")
        while lines := self.lines():
            tag, _, rest = lines[0].partition(" ")
            verb, _, given = rest.partition(" ")
            if not self._answer(tag, verb.upper(), given):
                return

    def _answer(self, tag: str, verb: str, given: str) -> bool:
        answers: dict[str, Callable[[str], str]] = {
            "CAPABILITY": self._capability,
            "NOOP": lambda _: "OK done",
            "ID": self._id,
            "LOGIN": self._login,
            "SELECT": self._select,
            "UID": self._uid,
        }
        if verb == "LOGOUT":
            self.say("* BYE", f"{tag} OK done")
            return False
        is_early = verb in {"SELECT", "UID"} and not self._is_in
        self.say(f"{tag} {answers[verb](given) if verb in answers and not is_early else 'BAD not now'}")
        return True

    def _capability(self, _: str) -> str:
        self.say("* CAPABILITY IMAP4rev1 ID")
        return "OK done"

    def _id(self, _: str) -> str:
        self.say("* ID NIL")
        return "OK done"

    def _login(self, given: str) -> str:
        user, password = (word.strip('"') for word in given.split(" ", 1))
        self._is_in = self.server.double.is_owner(user, password)
        return "OK welcome" if self._is_in else "NO [AUTHENTICATIONFAILED] Invalid credentials"

    def _select(self, _: str) -> str:
        self._is_selected = True
        double = self.server.double
        self.say(rf"* FLAGS ({SEEN})", f"* {len(double.mails)} EXISTS", "* 0 RECENT")
        self.say(f"* OK [UIDVALIDITY {VALIDITY}] valid", f"* OK [UIDNEXT {len(double.mails) + 1}] next")
        return "OK [READ-WRITE] selected"

    def _uid(self, given: str) -> str:
        verb, _, rest = given.partition(" ")
        if not self._is_selected:
            return "BAD nothing is selected"
        return {"SEARCH": self._search, "FETCH": self._fetch, "STORE": self._store}[verb.upper()](rest)

    def _search(self, wanted: str) -> str:
        self.server.double.polls += "UNSEEN" in wanted
        self.say(" ".join(["* SEARCH", *map(str, self.server.double.found(wanted))]))
        return "OK done"

    def _fetch(self, given: str) -> str:
        """Send a mail. `BODY.PEEK[]` leaves the mail unread, `RFC822` does not."""
        number, _, what = given.partition(" ")
        mail = self.server.double.mail(int(number))
        if mail is not None and "SIZE" in what:
            self.say(f"* {mail.uid} FETCH (UID {mail.uid} RFC822.SIZE {len(mail.raw)})")
        elif mail is not None:
            if "PEEK" not in what:
                mail.flags.add(SEEN)
            name = "BODY[]" if "BODY" in what else "RFC822"
            self.say(f"* {mail.uid} FETCH (UID {mail.uid} {name} {{{len(mail.raw)}}}".encode(), mail.raw + b")")
        return "OK done"

    def _store(self, given: str) -> str:
        number, _, what = given.partition(" ")
        mail = self.server.double.mail(int(number))
        if mail is not None and what.upper().startswith("+FLAGS"):
            mail.flags |= set(re.findall(r"\\\w+", what))
        return "OK done"


class _Smtp(_Conversation):
    _is_in = False

    def handle(self) -> None:
        self.say("220 ready")
        while lines := self.lines():
            verb, _, given = lines[0].partition(" ")
            verb = verb.upper()
            if verb in {"EHLO", "HELO"}:
                secret = isinstance(self.connection, ssl.SSLSocket)
                self.say("250-localhost", "250 AUTH PLAIN" if secret else "250 STARTTLS")
            elif verb == "STARTTLS":
                self.say("220 go on")
                self.wrap()
            elif verb == "AUTH":
                self._log_in(given)
            elif verb == "QUIT":
                self.say("221 bye")
                return
            elif not self._is_in:
                self.say("530 Authentication required")
            elif verb == "DATA":
                self._take()
            else:
                self.say("250 ok")

    def _log_in(self, given: str) -> None:
        kind, _, words = given.partition(" ")
        if kind.upper() != "PLAIN" or not words:
            self.say("504 unknown")
            return
        _, user, password = base64.b64decode(words).decode().split("\0")
        self._is_in = self.server.double.is_owner(user, password)
        self.say("235 welcome" if self._is_in else "535 5.7.8 Authentication credentials invalid")

    def _take(self) -> None:
        self.say("354 go on")
        lines = []
        while (line := self.rfile.readline()) not in {b".\r\n", b""}:
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        mail: Message = BytesParser(policy=default).parsebytes(b"".join(lines))
        assert isinstance(mail, EmailMessage)
        self.server.double.sent.append(mail)
        self.say("250 taken")
