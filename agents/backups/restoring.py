"""Replaces an agent's data by a backup: a rebuild whose pod restores the backup before its engine starts."""

from __future__ import annotations

from agents.backups import address, credentials, repositories
from agents.backups.models import Backup, Repository, Stage
from agents.cause import Cause
from agents.models import Agent, Reason
from agents.pod.turns.failures import HopFailure
from agents.running import lifecycle, pods
from agents.runtimes import pod_backups
from agents.runtimes.base import Runtime, RuntimeFailure
from agents.runtimes.pod_backups import BackupOrder
from catalog import tiers


def restore(agent: Agent, backup: Backup, *, actor: str, why: str = "") -> Agent:
    """Restore the data of this backup. The present data is kept until the new pod is ready.

    Raises BackupsAreOff, and WrongState and NotEntitled as a rebuild does.
    """
    repositories.check()
    note = f"from backup {backup.name}{f': {why}' if why else ''}"
    return lifecycle.rebuild(agent, actor=actor, reason=Reason.RESTORE, why=note, restores=backup.pk)


def drive(agent: Agent, runtime: Runtime) -> None:
    """Send the pod its restore order. May be called again for the same restore. Raises RuntimeFailure."""
    backup = Backup.objects.filter(pk=agent.restores, stage=Stage.DONE).select_related("agent__repository").first()
    endpoint, url = runtime.endpoint(agent.namespace), address.url()
    if backup is None:
        raise RuntimeFailure("the backup is no longer there", cause=Cause.RESTORE, permanent=True)
    if endpoint is None or url is None:
        raise RuntimeFailure("the pod, or the endpoint of backups, is not there", cause=Cause.RESTORE)
    repository = backup.agent.repository  # the deleted agent's repository when a deletion is undone
    order = BackupOrder(
        id=pods.restore_of(agent),
        url=url,
        credential=_credential(repository, pods.restore_of(agent)),
        password=repository.password,
        most_bytes=tiers.tier_of(agent.tier).disk_bytes,
        snapshot=backup.snapshot,
        repository=repository.agent_id,
    )
    try:
        pod_backups.restore(endpoint, pods.access_of(agent), order)
    except HopFailure as failure:
        raise RuntimeFailure(failure.message, cause=Cause.RESTORE) from failure


def _credential(repository: Repository, restore: str) -> str:
    """The credential for reading the repository. All calls for one restore get the same one, because the pod's access
    is made from it."""
    if repository.credential and repository.credential_for == restore:
        return str(repository.credential)
    repository.credential, repository.credential_for = credentials.mint(repository.agent_id), restore
    repository.save(update_fields=["credential", "credential_for"])
    return str(repository.credential)
