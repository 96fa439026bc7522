"""`python -I start.py hermes_cli.main …`: hermes, after two things that none of its settings can say.

Runs in hermes' own environment, so it imports nothing of ours.
"""

from __future__ import annotations

import importlib
import os
import sqlite3
import sys
from contextlib import closing, suppress
from pathlib import Path

# hermes sees that a caller has hung up only when it writes to him, and in a silence it writes this rarely otherwise.
KEEPALIVE_SECONDS = 1.0
# hermes builds a conversation's system prompt anew when the stored one names another model than the present.
_STALE = "Model: (of an earlier configuration)"


def forget_prompts(home: Path) -> None:
    """Conversations keep their messages, but not the soul and tools of an earlier configuration."""
    version, marker = (home / "prompt-version").read_text(), home / "prompt-version.applied"
    with suppress(FileNotFoundError):
        if marker.read_text() == version:
            return
    database = home / "state.db"
    if database.exists():
        with closing(sqlite3.connect(database, timeout=10)) as connection, connection:
            connection.execute("UPDATE sessions SET system_prompt = ? WHERE system_prompt IS NOT NULL", (_STALE,))
    marker.write_text(version)


def main() -> None:
    forget_prompts(Path(os.environ["HERMES_HOME"]))
    program = importlib.import_module(sys.argv[1])
    api_server = importlib.import_module("gateway.platforms.api_server")
    vars(api_server)["CHAT_COMPLETIONS_SSE_KEEPALIVE_SECONDS"] = KEEPALIVE_SECONDS
    sys.argv = ["hermes", *sys.argv[2:]]
    sys.exit(program.main())


if __name__ == "__main__":
    main()
