"""How a backup is made: it is asked for, the pod makes it in its own time, and it is recorded when its snapshot is in
the store.

A backup waits until it gets a place; until then no step looks at it. After that each step is short and blocks no
worker: it tells the pod to begin, or asks for the progress. A backup left by a killed worker is due again when that
worker's lease ends.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from datetime import datetime, timedelta

from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Greatest
from django.utils import timezone

from agents import timeline
from agents.backups import address, credentials, nightly, removing, repositories, retention, stages
from agents.backups.models import OPEN, Backup, Kind, Stage
from agents.backups.repositories import BackupsOff, Crowded, StoreFailure
from agents.models import Agent, Reason, Repository
from agents.pod.turns.failures import Hop, HopFailure
from agents.running import pods
from agents.running.turns import OneAtATime
from agents.runtimes import current_runtime, pod_backups
from agents.runtimes.pod_backups import BackupOrder, BackupState
from catalog import tiers
from config import background
from config.crypto import UnreadableSecret

log = logging.getLogger(__name__)

TASK = "backups.step"
LEASE = timedelta(minutes=3)  # longer than any step: a step may have to install restic
LONGEST = timedelta(hours=5)
_PLACES_LOCK = 0x6261636B  # "back" in ASCII: the advisory lock for giving places
AT_ONCE, AT_ONCE_EACH = 8, 2  # backups that pods make at the same time: of all agents, and of one account
# A backup has one of the places for so long. Then it goes on without a place, and the next backup begins.
PLACE = timedelta(minutes=10)
# The wait between two looks at a backup, with a place (NEXT_LOOK) and after it (LATE): at least this time, and at least
# so many times the duration of the last look. So a pod that answers slowly takes little of a worker's thread.
NEXT_LOOK, REST = timedelta(seconds=1), 5
NEXT_LOOK_LATE, REST_LATE = timedelta(seconds=10), 20
# So many looks in a row may find no answer; then the backup fails. A rebuild, a stop or a deletion must not wait for a
# dead pod.
MISSES = {Kind.ASKED: 20, Kind.NIGHTLY: 20, Kind.REBUILD: 3, Kind.STOP: 3, Kind.FINAL: 5}
BATCH = 50
# Pods that do not answer may block one thread of a worker, but not all of them.
_scans = OneAtATime(hold_seconds=3.0)
# A pod may write this many times the disk of its tier: for files with holes, and for what a full disk could not hold.
CLAIM = 2


def ask(agent: Agent, *, kind: Kind, actor: str, namespace: str | None = None) -> Backup:
    """The backup that is being made, or a new one. A new one begins at once if there is a place."""
    now = timezone.now()
    try:
        with transaction.atomic():
            backup = new(agent, kind=kind, actor=actor, namespace=namespace, now=now)
            backup.save(force_insert=True)
    except IntegrityError:
        return open_of(agent) or ask(agent, kind=kind, actor=actor, namespace=namespace)
    background.on_commit(TASK, backup.id)
    return backup


def new(agent: Agent, *, kind: Kind, actor: str, namespace: str | None = None, now: datetime) -> Backup:
    """A backup of this agent, not saved yet."""
    return Backup(
        agent=agent,
        kind=kind,
        actor=actor,
        asked_at=now,
        name=f"{now:%Y%m%d-%H%M%S}-{now.microsecond:06d}",
        namespace=namespace or agent.namespace,
        generation=agent.generation,
    )


def open_of(agent: Agent) -> Backup | None:
    """The backup that is being made, if one is."""
    return Backup.objects.filter(agent=agent, stage__in=OPEN).first()


def take_due(now: datetime | None = None) -> int:
    """Begin the backups for which there is a place, and take a step of each backup that is due. Returns the number of
    steps."""
    with _scans.take() as ours:
        return _scan(now or timezone.now()) if ours else 0


def _scan(now: datetime) -> int:
    _give_places(now=now)
    due = list(Backup.objects.due(now).values_list("pk", flat=True)[:BATCH])
    for backup_id in due:
        step(backup_id, now=now)
    return len(due)


def step(backup_id: str, *, now: datetime | None = None) -> None:
    """Take the next step of this backup, unless another worker has it. A waiting backup begins if it is its turn."""
    now = now or timezone.now()
    if not Backup.objects.due(now).filter(pk=backup_id).update(look_at=now + LEASE):
        _give_places(now=now)
        return
    backup = Backup.objects.select_related("agent").get(pk=backup_id)
    if backup.stage == Stage.REMOVED:
        removing.take_out(backup)
        return
    try:
        _advance(backup, now=now)
    except Crowded:
        _look_again(backup, wait=NEXT_LOOK)
    except (BackupsOff, StoreFailure, UnreadableSecret) as failure:
        _fail(backup, str(failure))
    except Exception as error:
        log.exception("a step of a backup failed", extra={"agent": backup.agent_id, "backup": backup_id})
        _missed(backup, f"unexpected error ({type(error).__name__})", wait=NEXT_LOOK)


def _advance(backup: Backup, *, now: datetime) -> None:
    repositories.of(backup.agent)
    if backup.credential is None:  # the same one is used for all later looks at this backup
        backup.credential = credentials.mint(backup.agent_id, may_add=_most_bytes(backup.agent))
        Backup.objects.filter(pk=backup.pk).update(credential=backup.credential)
    asked = time.monotonic()
    try:
        state = _pod_says(backup)
    except HopFailure as failure:
        _missed(backup, failure.message, wait=_rest(backup, asked, now=now))
        return
    if state.phase == "done":
        _record(backup, state)
    elif state.phase == "failed":
        _fail(backup, state.message)
    elif backup.taken_at and now - backup.taken_at > LONGEST:
        _fail(backup, f"it was not over after {LONGEST}")
    else:
        _look_again(backup, wait=_rest(backup, asked, now=now))


def _rest(backup: Backup, asked: float, *, now: datetime) -> timedelta:
    """The wait until the next look at this backup."""
    took = timedelta(seconds=time.monotonic() - asked)
    has_place = backup.taken_at is None or backup.taken_at > now - PLACE
    return max(NEXT_LOOK, took * REST) if has_place else max(NEXT_LOOK_LATE, took * REST_LATE)


def _give_places(*, now: datetime) -> None:
    """Give free places to the backups that wait longest. A lock makes sure that no place is given twice.

    The cost does not grow with the number of waiting backups: this reads the running ones and, for each free place, the
    first one that may have it.
    """
    if not Backup.objects.waiting().exists():
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("select pg_try_advisory_xact_lock(%s)", [_PLACES_LOCK])
        (is_ours,) = cursor.fetchone() or (False,)
        for _ in range(AT_ONCE if is_ours else 0):
            backup_id = _next_in_turn(now=now)
            if backup_id is None:
                return
            begins = timezone.now()
            wanted = Backup.objects.filter(pk=backup_id)
            stages.move(wanted, Stage.RUNNING, taken_at=begins, look_at=Greatest("look_at", begins))
            background.on_commit(TASK, backup_id)


def _next_in_turn(*, now: datetime) -> str | None:
    """The waiting backup that is next; None when all places are taken. An account whose backups never end leaves places
    to other accounts."""
    running = Backup.objects.filter(stage=Stage.RUNNING)
    owns = Counter[str]()
    placed = 0
    for account, taken_at in running.values_list("agent__user_id", "taken_at"):
        owns[account] += 1
        placed += taken_at is not None and taken_at > now - PLACE
    if placed >= AT_ONCE:
        return None
    full = [account for account, number in owns.items() if number >= AT_ONCE_EACH]
    return Backup.objects.waiting().exclude(agent__user_id__in=full).values_list("pk", flat=True).first()


def _pod_says(backup: Backup) -> BackupState:
    """Tell the pod to make the backup, and return its progress. Raises HopFailure when the pod, or the endpoint through
    which it writes, cannot be reached."""
    agent = backup.agent
    endpoint = current_runtime().endpoint(backup.namespace)
    if endpoint is None:
        raise HopFailure(Hop.GATEWAY, "the agent's pod is not there")
    url = address.url()
    if url is None:
        raise HopFailure(Hop.GATEWAY, "the endpoint of backups is not there (python -m agents.backups.endpoint)")
    order = BackupOrder(
        id=backup.id,
        url=url,
        credential=backup.credential or "",
        password=agent.repository.password,
        most_bytes=_most_bytes(agent),
    )
    return pod_backups.back_up(endpoint, pods.access_of(agent), order)


def _most_bytes(agent: Agent) -> int:
    return CLAIM * tiers.tier_of(agent.tier).disk_bytes


def _look_again(backup: Backup, *, wait: timedelta) -> None:
    Backup.objects.filter(pk=backup.pk).update(look_at=timezone.now() + wait, misses=0)


def _missed(backup: Backup, why: str, *, wait: timedelta) -> None:
    if backup.misses + 1 >= MISSES[Kind(backup.kind)]:
        _fail(backup, why)
        return
    Backup.objects.filter(pk=backup.pk).update(look_at=timezone.now() + wait * 2, misses=backup.misses + 1, note=why)


@transaction.atomic
def _record(backup: Backup, state: BackupState) -> None:
    """The snapshot is in the store: record that the agent has this backup."""
    agent = Agent.objects.lock(backup.agent_id)
    now = timezone.now()
    done = stages.move(
        Backup.objects.filter(pk=backup.pk),
        Stage.DONE,
        snapshot=state.snapshot,
        size=state.size,
        broken=state.broken,
        note=state.message,
        ended_at=now,
        look_at=None,
        credential=None,
    )
    if done:
        agent.last_backup_at = backup.taken_at
        agent.save(update_fields=["last_backup_at"])
        Repository.objects.filter(pk=agent.pk).update(failures=0, failure="", failed_at=None)
        retention.apply(agent, now=now)
        _tell(agent, backup, f"backup {backup.name} made{f' ({state.message})' if state.message else ''}", now=now)


@transaction.atomic
def _fail(backup: Backup, why: str) -> None:
    agent = Agent.objects.lock(backup.agent_id)
    now = timezone.now()
    open_ = Backup.objects.filter(pk=backup.pk)
    failed = stages.move(open_, Stage.FAILED, note=why, ended_at=now, look_at=None, credential=None)
    if failed:
        nightly.note_failure(agent, why, again=backup.kind == Kind.NIGHTLY, now=now)
        log.warning("a backup failed", extra={"agent": agent.id, "backup": backup.id, "error": why})
        _tell(agent, backup, f"no backup: {why}", now=now)


def _tell(agent: Agent, backup: Backup, words: str, *, now: datetime) -> None:
    """Note the end of a backup on the timeline. A stop, a rebuild or a deletion that waited for it goes on."""
    if backup.kind in {Kind.STOP, Kind.REBUILD, Kind.FINAL}:
        background.on_commit("agents.reconcile", agent.id)
    timeline.note(agent, words, reason=Reason.BACKUP, actor=backup.actor, now=now)
