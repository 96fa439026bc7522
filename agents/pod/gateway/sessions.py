"""The visitors who are signed in to the pod's page. They are kept in memory and are lost with the process; the console
can make a new link at any time.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime

from agents.pod import tickets
from agents.pod.gateway.answers import same_secret
from agents.pod.gateway.pod import Pod

SESSION_SECONDS = 12 * 3600
SESSIONS_AT_MOST = 200
# The most wrong passwords in this time (seconds), for all addresses together, because behind the router all callers
# have the same address.
TRIES = 10
TRIES_SECONDS = 300.0


class TooManyTries(Exception):
    """There were too many wrong passwords. `retry_after` is in seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after


class Sessions:
    def __init__(self, pod: Pod, clock: Callable[[], float] = time.time) -> None:
        self._pod = pod
        self._clock = clock
        # Key: digest of the token. Value: expiry, digest of the credentials at sign-in, and whether a ticket of the
        # console was used.
        self._live: dict[str, tuple[float, str, bool]] = {}
        self._used: dict[str, int] = {}  # key: nonce of a used ticket; value: expiry of the ticket
        self._wrong: deque[float] = deque()

    def open_by_ticket(self, text: str) -> str:
        """A session token for a fresh ticket. Raises InvalidTicket, also for a ticket that was used before."""
        now = self._clock()
        start = self._pod.start
        ticket = tickets.read(start.secrets.ticket_key, start.namespace, text, datetime.fromtimestamp(now, UTC))
        self._used = {nonce: expires for nonce, expires in self._used.items() if expires > now}
        # Tickets that an earlier process of this gateway accepted are not known here. So tickets from before the start
        # are refused.
        if ticket.nonce in self._used or ticket.minted < int(self._pod.started_at):
            raise tickets.InvalidTicket
        self._used[ticket.nonce] = ticket.expires
        return self._open(now, is_owner=True)

    def open_by_password(self, username: str, password: str) -> str | None:
        """A session token, or None if username or password is wrong. Raises TooManyTries."""
        now = self._clock()
        while self._wrong and self._wrong[0] <= now - TRIES_SECONDS:
            self._wrong.popleft()
        if len(self._wrong) >= TRIES:
            raise TooManyTries(int(self._wrong[0] + TRIES_SECONDS - now) + 1)
        wanted = self._pod.secrets
        right = [
            same_secret(username, wanted.dash_username or ""),
            same_secret(password, wanted.dash_password or ""),
        ]
        if has_password(self._pod) and all(right):
            return self._open(now, is_owner=False)
        self._wrong.append(now)
        return None

    def knows(self, token: str) -> bool:
        expiry, credentials, _ = self._live.get(_digest(token), (0.0, "", False))
        return expiry > self._clock() and credentials == self._credentials()

    def is_owner(self, token: str) -> bool:
        """Whether the console signed this visitor in. A visitor with the password may be anybody to whom the owner gave
        it.
        """
        return self.knows(token) and self._live[_digest(token)][2]

    def close(self, token: str) -> None:
        self._live.pop(_digest(token), None)

    def _open(self, now: float, *, is_owner: bool) -> str:
        live = {digest: found for digest, found in self._live.items() if found[0] > now}
        while len(live) >= SESSIONS_AT_MOST:
            del live[next(iter(live))]
        token = secrets.token_urlsafe(32)
        self._live = {**live, _digest(token): (now + SESSION_SECONDS, self._credentials(), is_owner)}
        return token

    def _credentials(self) -> str:
        """A digest of the current credentials. New credentials sign out all visitors."""
        known = self._pod.secrets
        return _digest("\n".join([known.ticket_key, known.dash_username or "", known.dash_password or ""]))


def has_password(pod: Pod) -> bool:
    return bool(pod.secrets.dash_username and pod.secrets.dash_password)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
