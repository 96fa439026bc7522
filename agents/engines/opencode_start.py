"""`python -I opencode_start.py <opencode> serve …`: starts opencode, after the paths of its conversations were
corrected.
opencode stores with each conversation the directory in which it took place, and continues it only there. After a
restore in another place the agent has a different directory. This program imports nothing from this project, and is
replaced by opencode (`exec`).
"""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

WORKSPACE = "/workspace"
# `path` is the directory without its first slash, or in a git repository the path from the root of the repository.
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
    """Replace every workspace path in the conversations by this one. An agent has only one workspace, even if it was in
    another place before.
    """
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
