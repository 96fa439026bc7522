"""The search for secrets in logs finds them."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from config import crypto
from tests import secrets_in_logs


def test_a_sealed_secret_and_a_key_are_found_in_a_line_and_in_its_extras() -> None:
    crypto.encrypt("a-model-key-of-a-test")
    channels = {"telegram": {"token": "12345:a-bot-token"}, "url": "https://mcp.example.com/a-long-path"}
    crypto.encrypt(json.dumps(channels))
    assert secrets_in_logs._sealed == {"a-model-key-of-a-test", "12345:a-bot-token"}
    own = secrets_in_logs.KeptLines()
    log = logging.Logger("own")  # noqa: LOG001  # so that the fixture of all tests does not see it
    log.addHandler(own)
    log.error("refused", extra={"sent": {"authorization": "Bearer a-model-key-of-a-test"}})
    log.error("revoked %s", "ak_live_" + "x" * 32)
    text = "\n".join(own.lines)
    assert secrets_in_logs.found_in(text, secrets_in_logs._sealed) == ["a-model-key-…", "ak_live_xxxx…"]


def test_files_of_logs_are_found_but_not_those_of_packages(tmp_path: Path) -> None:
    for name in ("web.log", "pod/logs/engine.log", "pod/node_modules/npm.log", "pod/notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert {path.name for path in secrets_in_logs.log_files(tmp_path)} == {"web.log", "engine.log"}
