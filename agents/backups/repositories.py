"""The worker's access to an agent's repository: restic on the store itself, with the store's own credentials."""

from __future__ import annotations

import secrets
import subprocess
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.utils import timezone

from agents.backups import store, supply
from agents.backups.models import Repository
from agents.errors import BackupsAreOff
from agents.models import Agent
from agents.pod import restic
from agents.pod.restic import NoRestic

CALL_SECONDS = 120.0
# For one process: each restic takes up to 100 MB only to open a repository, and the chart's worker has 512 MB in all.
AT_ONCE = 2
_places = threading.BoundedSemaphore(AT_ONCE)
# A worker's thread waits no longer than this for a place. The job is then done a little later.
PLACE_SECONDS = 2.0


class BackupsOff(Exception):
    """No backups are made here: there is no store, or no restic. The message says which."""


class StoreFailure(Exception):
    """restic failed. The message is the last line that restic wrote."""


class Crowded(Exception):
    """This process already runs as many restics as it may: ask again soon."""


def check() -> None:
    """Raise BackupsAreOff, a refusal for callers, when no backups are made here."""
    if store.configured() is None:
        raise BackupsAreOff("BACKUP_STORE names no store")


def of(agent: Agent) -> Repository:
    """The agent's repository; made in the store if it is not there yet. Raises BackupsOff, Crowded, StoreFailure."""
    repository = row_of(agent)
    if repository.made_at is None:
        make(repository)
    return repository


def row_of(agent: Agent) -> Repository:
    """The row of the agent's repository, which may not be in the store yet."""
    return Repository.objects.get_or_create(agent=agent, defaults={"password": secrets.token_urlsafe(32)})[0]


def make(repository: Repository) -> None:
    """Make the repository in the store, unless it is there.

    Another worker may have made it, or was killed before it recorded that.
    """
    try:
        call(repository, ["cat", "config"])
    except StoreFailure:
        call(repository, ["init"])
    Repository.objects.filter(pk=repository.pk, made_at=None).update(made_at=timezone.now())


@contextmanager
def place() -> Iterator[None]:
    """Hold one of this process's places for a restic. Raises Crowded."""
    if not _places.acquire(timeout=PLACE_SECONDS):
        raise Crowded
    try:
        yield
    finally:
        _places.release()


def call(repository: Repository, words: Iterable[str], *, seconds: float = CALL_SECONDS) -> str:
    """Run one command of restic on this repository. Returns its output. Raises BackupsOff, Crowded, StoreFailure."""
    where = store.configured()
    if where is None:
        raise BackupsOff("BACKUP_STORE names no store")
    try:
        program = supply.ensure(settings.RESTIC, settings.ENGINE_CACHE)
    except NoRestic as error:
        raise BackupsOff(str(error)) from error
    name, more = where.repository(repository.agent_id)
    try:
        with place():
            done = subprocess.run(
                [program, "--quiet", "--no-cache", *words],
                input=repository.password,
                capture_output=True,
                text=True,
                timeout=seconds,
                env=restic.environment(repository=name, cache=None, more=more),
                check=False,
            )
    except subprocess.TimeoutExpired as error:
        raise StoreFailure(f"restic was not done after {seconds:.0f} s") from error
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise StoreFailure(said[-1][:300] if said else f"restic ended with {done.returncode}")
    return str(done.stdout)
