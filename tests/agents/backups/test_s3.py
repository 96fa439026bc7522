"""The store as a bucket, against the S3 server moto. Of the servers that we found in the package registries, only moto
has multipart uploads, ranges, and uploads that do not replace an object.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import obstore
import pytest
import requests
from django.conf import settings as configured
from django.utils import timezone

from agents.backups import credentials, drills, expiry, repositories, store
from agents.backups.models import Repository
from agents.models import Agent
from agents.pod.bridge import backup
from tests.agents.backups.orders import order_of
from tests.agents.backups.real import served
from tests.agents.backups.test_drills import drilled, taken

pytestmark = pytest.mark.slow
MOTO = ("moto[s3]==5.2.5", "flask==3.1.3", "flask-cors==6.0.5")
SERVE = """
import threading
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("listens on", server.get_host_and_port()[1], flush=True)
threading.Event().wait()
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of moto. It has a virtual environment of its own, because nothing else needs its 80 MB of packages."""
    place = Path(configured.ENGINE_CACHE) / "moto-5.2.5"
    python = place / "bin" / "python"
    uv = [sys.executable, "-m", "uv", "--quiet"]
    if not (place / "done").exists():
        subprocess.run([*uv, "venv", "--clear", "--python", sys.executable, place], check=True)
        subprocess.run([*uv, "pip", "install", "--python", python, *MOTO], check=True)
        (place / "done").touch()
    process = subprocess.Popen([python, "-c", SERVE], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    port = next(found[1] for line in process.stdout if (found := re.match(r"listens on (\d+)", line)))
    yield f"http://127.0.0.1:{port}"
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture
def bucket(server: str, settings: Any, tmp_path: Path) -> store.Store:
    requests.put(f"{server}/agents", timeout=30).raise_for_status()
    settings.BACKUP_STORE = f"s3:{server}/agents/{tmp_path.name}"
    settings.BACKUP_ACCESS_KEY, settings.BACKUP_SECRET_KEY = "an-access-key", "a-secret-key"
    settings.DRILL_DIRECTORY = tmp_path / "drill"
    found = store.configured()
    assert found
    return found


@pytest.fixture
def way(bucket: store.Store) -> Iterator[str]:
    """The endpoint for the bucket."""
    with served(bucket) as found:
        yield found


def test_a_bucket_is_written_read_drilled_pruned_and_emptied(
    running: Agent, source: backup.BackupSource, way: str, bucket: store.Store, settings: Any
) -> None:
    settings.BACKUP_URL = way
    first, second = taken(running, source, way, "1"), taken(running, source, way, "2")
    repositories.call(running.repository, ["check", "--read-data"])
    found = drilled(running)
    assert (found.drilled_backup, found.drill_failure) == (second.name, "")
    repositories.call(running.repository, ["forget", first.snapshot, "--prune"])
    repositories.call(running.repository, ["check", "--read-data"])
    assert drills.next_due() is None

    Repository.objects.filter(pk=running.pk).update(expires_at=timezone.now())
    assert expiry.take_out_due() == 1
    assert [one["path"] for page in obstore.list(bucket.objects()) for one in page] == []
    assert not Repository.objects.filter(pk=running.pk).exists()


def test_nothing_in_a_bucket_is_replaced(
    running: Agent, source: backup.BackupSource, way: str, bucket: store.Store
) -> None:
    order_of(running, way)
    objects = bucket.objects()
    name = "ab" * 32
    obstore.put(objects, f"{running.pk}/data/ab/{name}", b"what was there")

    async def add() -> int:
        headers = {"Authorization": f"Bearer {credentials.mint(running.pk, may_add=1000)}"}
        async with aiohttp.ClientSession() as session:
            url = f"{way}/{running.pk}/data/{name}"
            async with session.post(url, data=b"something else", headers=headers) as answer:
                return answer.status

    assert asyncio.run(add()) in {400, 403}
    assert bytes(obstore.get(objects, f"{running.pk}/data/ab/{name}").bytes()) == b"what was there"
    with pytest.raises(obstore.exceptions.AlreadyExistsError):
        obstore.put(objects, f"{running.pk}/data/ab/{name}", b"another", mode="create")
