"""The demo's session at a service that goes on after it: one sign-in serves all runs on this machine.

A service allows few sign-ins from one address. The session is in a file that only its owner reads.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from agentpods import Agentpods
from agentpods.errors import UnauthorizedError

HOME = Path(os.environ.get("AGENTPODS_HOME") or Path(__file__).resolve().parents[1] / "var")


class KeptSession:
    """The session tokens of the demo, by the address of the service."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or HOME / "demo-sessions.json"

    def account(self, base: str) -> Agentpods | None:
        """A client with the session that an earlier run made, if it is still good."""
        token = self._tokens().get(base)
        if token is None:
            return None
        account = Agentpods(base, token)
        try:
            account.api.get_account()
        except UnauthorizedError:
            account.close()
            return None
        return account

    def keep(self, base: str, token: str) -> None:
        tokens = self._tokens() | {base: token}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(tokens, file)
        part.replace(self._path)

    def _tokens(self) -> dict[str, str]:
        try:
            told = json.loads(self._path.read_text())
        except (OSError, ValueError, RecursionError):
            return {}
        is_whole = isinstance(told, dict) and all(isinstance(one, str) for one in told.values())
        return told if is_whole else {}
