"""`python -m tests.with_stores COMMAND…` runs a command with the database servers of a test run."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.stores import StoreServers, environment


def main(command: list[str]) -> int:
    stores = StoreServers()
    settings = os.environ.get("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.update(environment(stores.root / "home"), DATABASE_URL=stores.database_url, REDIS_URL=stores.redis_url)
    os.environ["DJANGO_SETTINGS_MODULE"] = settings
    stores.embedded.update({"DATABASE_URL", "REDIS_URL"})
    try:
        stores.start()
        stores.create_database()
        return subprocess.run(command, check=False).returncode
    finally:
        stores.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
