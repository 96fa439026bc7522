"""Records the statements that the database gets from any process, with PostgreSQL's own log,
switched on for a while.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

STORES_LOG = "BENCHMARK_STORES_LOG"
SETTLE_SECONDS = 0.3  # until every session has read the changed configuration

_MARK = re.compile(r"^LOG:  (?:statement|execute [^:]*): ", re.MULTILINE)
_OURS = re.compile("alter system|select pg_reload_conf")
_OTHER_ENTRY = re.compile(r"^(?:LOG|DETAIL|ERROR|STATEMENT|HINT|FATAL|WARNING|CONTEXT):.*", re.MULTILINE | re.DOTALL)


class Statements:
    """Use as `with Statements() as seen: …`. Afterwards `seen.texts` has the statements."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._log = Path(os.environ[STORES_LOG])
        self._begin = 0

    def __enter__(self) -> Self:
        _configure("alter system set log_line_prefix = ''", "alter system set log_statement = 'all'")
        self._begin = self._log.stat().st_size
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        time.sleep(SETTLE_SECONDS)
        _configure("alter system reset log_statement")
        with self._log.open("rb") as log:
            log.seek(self._begin)
            written = log.read().decode(errors="replace")
        texts = (_OTHER_ENTRY.sub("", entry).strip() for entry in _MARK.split(written)[1:])
        self.texts = [text for text in texts if not _OURS.match(text)]


def _configure(*statements: str) -> None:
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())
        connection.execute("select pg_reload_conf()")
    time.sleep(SETTLE_SECONDS)
