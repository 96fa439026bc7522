"""Each test's logs are searched for the secrets that the test made: none may be in them.

What is sealed in this process is remembered (`config/crypto.py: encrypt`): model keys, channels' and tools' tokens,
passwords, keys of pods. API keys, session tokens and webhook secrets are known by their prefix, so those that other
processes made are found too. Searched are the lines that this process logs, as production writes them, and the files
`*.log` in the test's directory, which its workers, web processes and pods wrote.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from accounts.keys import SECRET_PREFIX as API_KEY
from accounts.sessions import TOKEN_PREFIX as SESSION
from config import crypto
from config.requests import JsonFormatter
from webhooks.hooks import SECRET_PREFIX as WEBHOOK

SHORTEST = 12  # shorter ones are words of tests, which a line may have for another reason
PREFIXED = re.compile(rf"(?:{re.escape(API_KEY)}|{re.escape(SESSION)}|{re.escape(WEBHOOK)})[A-Za-z0-9_-]{{24,}}")
NAMES = re.compile(r"key|token|secret|password|credential|authorization", re.IGNORECASE)
PASSED_OVER = {"node_modules", "site-packages", ".git"}
LARGEST = 2_000_000  # bytes of one file

_encrypt = crypto.encrypt
_sealed: set[str] = set()


class KeptLines(logging.Handler):
    """The lines of this process since the test began, as production would write them."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.setFormatter(JsonFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self.lines.append(self.format(record))
        except Exception:  # noqa: BLE001  # a test may log what cannot be formatted; its own handlers complain
            self.lines.append(repr(record.__dict__))


_kept = KeptLines()


def _remembering(clear: str) -> str:
    _sealed.update(secrets_of(clear))
    return _encrypt(clear)


crypto.encrypt = _remembering  # only looks on


def secrets_of(clear: str) -> Iterator[str]:
    """The secret itself. Of JSON, the values whose name says that they are secret."""
    if not clear.startswith(("{", "[", '"')):
        yield from [clear] if len(clear) >= SHORTEST else []
        return
    try:
        yield from _named(json.loads(clear), is_secret=False)
    except ValueError:
        return


def _named(value: object, *, is_secret: bool) -> Iterator[str]:
    match value:
        case str() if is_secret and len(value) >= SHORTEST:
            yield value
        case dict():
            for name, inner in value.items():
                yield from _named(inner, is_secret=is_secret or bool(NAMES.search(name)))
        case list():
            for inner in value:
                yield from _named(inner, is_secret=is_secret)


def found_in(text: str, secrets: set[str]) -> list[str]:
    """What of the secrets is in the text, shortened."""
    whole = {one for one in secrets if one in text} | set(PREFIXED.findall(text))
    return sorted(f"{one[:12]}…" for one in whole)


def log_files(directory: Path) -> Iterator[Path]:
    for where, directories, files in os.walk(directory):
        directories[:] = [name for name in directories if name not in PASSED_OVER]
        yield from (Path(where) / name for name in files if name.endswith(".log"))


@pytest.fixture(autouse=True)
def no_secret_in_logs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Set up before what starts programs, so it looks when they have ended."""
    _sealed.clear()
    _kept.lines.clear()
    root = logging.getLogger()
    root.addHandler(_kept)
    yield
    root.removeHandler(_kept)
    told = "\n".join(_kept.lines)
    assert not found_in(told, _sealed), f"a secret is in the log: {found_in(told, _sealed)}\n{told[:20_000]}"
    directory = request.node.funcargs.get("tmp_path")
    for path in log_files(directory) if directory else ():
        with path.open("rb") as file:
            text = file.read(LARGEST).decode(errors="replace")
        assert not found_in(text, _sealed), f"a secret is in {path.name}: {found_in(text, _sealed)}"
