"""A mail server that takes and keeps mail over SMTP, or refuses, hangs up or hangs, as a test says."""

from __future__ import annotations

import socketserver
import threading
from email import message_from_bytes, policy
from email.message import EmailMessage


class SmtpServer(socketserver.ThreadingTCPServer):
    """Listens on its own port. `replies` changes the answer to a verb, such as `{"RCPT": "550 no such user"}`."""

    allow_reuse_address = daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Conversation)
        self.mails: list[EmailMessage] = []
        self.raw: list[bytes] = []  # the same mails, as they arrived
        self.recipients: list[str] = []
        self.refused = 0  # the number of mails refused because of `replies`
        self.replies: dict[str, str] = {}
        self.before_taking = threading.Event()
        self.before_taking.set()  # if cleared, DATA is answered only when it is set again
        self.asked = threading.Event()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


class _Conversation(socketserver.StreamRequestHandler):
    server: SmtpServer

    def handle(self) -> None:
        self._say(self.server.replies.get("CONNECT", "220 ready"))
        while line := self.rfile.readline():
            verb = line.decode("ascii", "replace").strip().upper().split(" ")[0]
            if verb == "DATA":
                self._take()
            else:
                self._answer(verb, line.decode("ascii", "replace").strip())
            if verb == "QUIT":
                return

    def _answer(self, verb: str, line: str) -> None:
        reply = self.server.replies.get(verb, "250 ok")
        if verb == "RCPT" and reply.startswith("250"):
            self.server.recipients.append(line)
        self._say(reply)

    def _take(self) -> None:
        self._say("354 go on")
        lines = []
        while (line := self.rfile.readline()) not in {b".\r\n", b""}:
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        self.server.asked.set()
        self.server.before_taking.wait(30)
        reply = self.server.replies.get("DATA", "250 taken")
        if reply.startswith("250"):
            self.server.raw.append(b"".join(lines))
            self.server.mails.append(message_from_bytes(b"".join(lines), policy=policy.default))
        else:
            self.server.refused += 1
        self._say(reply)

    def _say(self, reply: str) -> None:
        self.wfile.write(f"{reply}\r\n".encode())
