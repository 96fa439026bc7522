"""How a backup comes about: asked for, made by the pod in its own time, and recorded once its snapshot is there.

It waits until it is given a place; nobody looks at it meanwhile. From then on a step is short and holds no worker: it
tells the pod to begin, or asks how far it is. What a killed worker left is due again when its look is over.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from datetime import datetime, timedelta

from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Greatest
from django.utils import timezone

from agents import pods
from agents.backups import credentials, nights, places, removing, repositories, retention
from agents.backups.models import OPEN, Backup, Kind, Stage
from agents.backups.repositories import BackupsOff, Crowded, StoreFailure
from agents.models import Agent, Reason, Repository, Transition
from agents.runtimes import current_runtime, management
from agents.runtimes.management import BackupOrder, BackupState, HopFailure
from agents.turns import Turns
from catalog import tiers
from config import wake
from config.crypto import UnreadableSecret

log = logging.getLogger(__name__)

TASK = "backups.step"
LEASE = timedelta(minutes=3)  # longer than any step: restic may have to be brought
LONGEST = timedelta(hours=5)
_PLACES_LOCK = 0x6261636B  # "back": the advisory lock of whoever gives places
AT_ONCE, AT_ONCE_EACH = 8, 2  # that pods make: over all agents, and of one account
# For so long a backup has one of the places of all; then it goes on without, and somebody else's begins.
PLACE = timedelta(minutes=10)
# Between two looks at a backup that has a place, and at one that has none any more: at least so long, and so many times
# what the last look took. A pod that answers slowly takes little of a worker's thread.
NEXT_LOOK, REST = timedelta(seconds=1), 5
NEXT_LOOK_LATE, REST_LATE = timedelta(seconds=10), 20
# Looks in a row at a pod that does not answer. A rebuild and a deletion wait for no pod that is dead.
MISSES = {Kind.ASKED: 20, Kind.NIGHTLY: 20, Kind.REBUILD: 3, Kind.STOP: 3, Kind.FINAL: 5}
BATCH = 50
# Pods that do not answer hold up one thread of a worker, and not all of them.
_scans = Turns(hold_seconds=3.0)
# A pod may claim so many times the disk of its tier: files with holes, and what a full disk cannot hold.
CLAIM = 2


def ask(agent: Agent, *, kind: Kind, actor: str, namespace: str | None = None) -> Backup:
    """The backup that is being made, or a new one. It begins at once, if there is a place."""
    now = timezone.now()
    try:
        with transaction.atomic():
            backup = Backup.objects.create(
                agent=agent,
                kind=kind,
                actor=actor,
                asked_at=now,
                name=_name(now),
                namespace=namespace or agent.namespace,
                generation=agent.generation,
            )
    except IntegrityError:
        open_one = Backup.objects.filter(agent=agent, stage__in=OPEN).first()
        return open_one or ask(agent, kind=kind, actor=actor, namespace=namespace)
    wake.on_commit(TASK, backup.id)
    return backup


def _name(now: datetime) -> str:
    return f"{now:%Y%m%d-%H%M%S}-{now.microsecond:06d}"


def take_due(now: datetime | None = None) -> int:
    """Begin what there is place for, and take a step of each backup that is due. Returns how many steps there were."""
    with _scans.take() as ours:
        return _scan(now or timezone.now()) if ours else 0


def _scan(now: datetime) -> int:
    _give_places(now=now)
    due = list(Backup.objects.due(now).values_list("pk", flat=True)[:BATCH])
    for backup_id in due:
        step(backup_id, now=now)
    return len(due)


def step(backup_id: str, *, now: datetime | None = None) -> None:
    """The next step of this backup, unless another worker is at it. One that waits begins if it is its turn."""
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
    if backup.credential is None:  # it serves all later looks at this backup
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
    """Until the next look at it."""
    took = timedelta(seconds=time.monotonic() - asked)
    has_place = backup.taken_at is None or backup.taken_at > now - PLACE
    return max(NEXT_LOOK, took * REST) if has_place else max(NEXT_LOOK_LATE, took * REST_LATE)


def _give_places(*, now: datetime) -> None:
    """Free ones go to those that wait longest. One gives them at a time, so that no place is given twice.

    However many wait: those that have begun are read, and for each free place the first that may have it.
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
            Backup.objects.filter(pk=backup_id).update(
                taken_at=begins, stage=Stage.RUNNING, look_at=Greatest("look_at", begins)
            )
            wake.on_commit(TASK, backup_id)


def _next_in_turn(*, now: datetime) -> str | None:
    """Pods that never end theirs leave places to other accounts."""
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
    """Raises HopFailure: the pod, or the endpoint that it writes through, is not reached."""
    agent = backup.agent
    endpoint = current_runtime().endpoint(backup.namespace)
    if endpoint is None:
        raise HopFailure("gateway", "the agent's pod is not there")
    url = places.url()
    if url is None:
        raise HopFailure("gateway", "the endpoint of backups is not there (python -m agents.backups.endpoint)")
    order = BackupOrder(
        id=backup.id,
        url=url,
        credential=backup.credential or "",
        password=agent.repository.password,
        most_bytes=_most_bytes(agent),
    )
    return management.back_up(endpoint, pods.access_of(agent), order)


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
    """The snapshot is in the store: the agent has this backup from now on."""
    agent = Agent.objects.select_for_update().get(pk=backup.agent_id)
    now = timezone.now()
    done = Backup.objects.filter(pk=backup.pk, stage=Stage.RUNNING).update(
        stage=Stage.DONE,
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
    agent = Agent.objects.select_for_update().get(pk=backup.agent_id)
    now = timezone.now()
    failed = Backup.objects.filter(pk=backup.pk, stage__in=OPEN).update(
        stage=Stage.FAILED, note=why, ended_at=now, look_at=None, credential=None
    )
    if failed:
        nights.note_failure(agent, why, again=backup.kind == Kind.NIGHTLY, now=now)
        log.warning("a backup failed", extra={"agent": agent.id, "backup": backup.id, "error": why})
        _tell(agent, backup, f"no backup: {why}", now=now)


def _tell(agent: Agent, backup: Backup, note: str, *, now: datetime) -> None:
    Transition.objects.create(
        agent=agent,
        from_status=agent.status,
        to_status=agent.status,
        reason=Reason.BACKUP,
        actor=backup.actor,
        note=note,
        at=now,
    )
