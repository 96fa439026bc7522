"""A process that deletes what tests leave on a real cluster. It outlives the tests, even if they are killed.

`python -m tests.agents.clusters.reaping INSTALLATION` deletes when its standard input ends. The tests hold it open.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from agents.clusters.api import names
from agents.clusters.api.client import Connection
from agents.runtimes.base import RuntimeFailure

# The kubeconfigs of the tests and, if there is one, of an administrator of that cluster.
KUBECONFIG = "TEST_KUBECONFIG"
ADMIN_KUBECONFIG = "TEST_ADMIN_KUBECONFIG"
# Label of the objects that only the administrator can make and delete.
FOREIGN = {"example.com/agentpods": "test"}

# Later than all objects, as a cluster writes times.
_ALWAYS = "9999"
_NAMESPACES, _VOLUMES = "/api/v1/namespaces", "/api/v1/persistentvolumes"


@cache
def after_us(installation: str) -> subprocess.Popen[bytes]:
    """Start the process, once. It has its own session, so a signal that ends the tests does not end it."""
    command = [sys.executable, "-m", "tests.agents.clusters.reaping", installation]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


def clear(connection: Connection, installation: str, *, until: str = _ALWAYS) -> list[str]:
    """Delete all namespaces of the installation with their volumes, if they were made until this time. Returns the
    namespaces that are still there.

    Volumes are set to be deleted first, before the namespaces that use them.
    """
    ours = {"labelSelector": f"{names.INSTALLATION_LABEL}={installation}"}
    for volume in _made(connection, _VOLUMES, ours, until):
        if volume["spec"]["persistentVolumeReclaimPolicy"] != "Delete":
            change = {"spec": {"persistentVolumeReclaimPolicy": "Delete"}}
            connection.merge(f"{_VOLUMES}/{volume['metadata']['name']}", change)
    left = _made(connection, _NAMESPACES, ours, until)
    for one in left:
        if "deletionTimestamp" not in one["metadata"]:
            connection.delete(f"{_NAMESPACES}/{one['metadata']['name']}")
    return [one["metadata"]["name"] for one in left]


def clear_foreign(connection: Connection, *, until: str = _ALWAYS) -> None:
    selector = ",".join(f"{name}={value}" for name, value in FOREIGN.items())
    for path in (_VOLUMES, _NAMESPACES):
        for one in _made(connection, path, {"labelSelector": selector}, until):
            connection.delete(f"{path}/{one['metadata']['name']}")


def _made(connection: Connection, path: str, query: dict[str, str], until: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = connection.get(path, query)["items"]
    return [one for one in items if one["metadata"]["creationTimestamp"] <= until]


def main(words: Sequence[str]) -> None:
    """Deletes only once, and only what is older than the end of the tests. So the objects of a test run that has
    started meanwhile stay.
    """
    (installation,) = words
    sys.stdin.buffer.read()
    until = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    with _connected(KUBECONFIG) as connection:
        clear(connection, installation, until=until)
    if ADMIN_KUBECONFIG in os.environ:
        with _connected(ADMIN_KUBECONFIG) as connection:
            clear_foreign(connection, until=until)


@contextlib.contextmanager
def _connected(variable: str) -> Iterator[Connection]:
    with contextlib.closing(Connection("after us", Path(os.environ[variable]).read_text(encoding="utf-8"))) as one:
        try:
            yield one
        except RuntimeFailure as failure:
            sys.stderr.write(f"not everything of the tests is gone: {failure}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
