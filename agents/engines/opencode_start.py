"""`python -I opencode_start.py <opencode> serve …`: opencode, after its conversations are where the agent is.

opencode keeps with each conversation the directory that it was held in, and takes turns of it nowhere else. After a
restore on another place that is a path where the agent no longer is. Imports nothing of ours, and becomes opencode.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

WORKSPACE = "/workspace"
# `path` is the directory without its first slash, or of a repository the way from its root.
_MOVE = """
UPDATE session
SET directory = :new || substr(directory, length(:old) + 1),
    path = CASE WHEN substr(path, 1, length(:old)) = substr(:old, 2) || '/'
           THEN substr(:new, 2) || substr(path, length(:old)) ELSE path END
WHERE substr(directory, 1, length(:old) + 1) = :old || '/' AND substr(directory, 1, length(:new) + 1) != :new || '/'
"""


def main() -> None:
    try:
        bring_home(Path(os.environ["XDG_DATA_HOME"], "opencode", "opencode.db"), workspace=Path.cwd())
    except sqlite3.Error as error:
        sys.stderr.write(f"conversations are not brought to {Path.cwd()}: {error}\n")
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 - the adapter's own arguments


def bring_home(database: Path, *, workspace: Path) -> None:
    """Each place that conversations name becomes this one: an agent has one workspace, wherever it was."""
    here = str(workspace).removesuffix(WORKSPACE)
    if not database.exists() or here == str(workspace):
        return
    with closing(sqlite3.connect(database, timeout=10)) as connection, connection:
        found = connection.execute(
            "SELECT DISTINCT directory FROM session "
            "WHERE substr(directory, -length(?1)) = ?1 ORDER BY length(directory)",
            (WORKSPACE,),
        ).fetchall()
        for (directory,) in found:
            old = directory.removesuffix(WORKSPACE)
            if old and not directory.startswith(f"{here}/"):
                connection.execute(_MOVE, {"old": old, "new": here})


if __name__ == "__main__":
    main()
