"""A repository is begun anew, after an operator has moved the damaged one out of the store."""

from __future__ import annotations

import json

from agents.backups import removing, repositories
from agents.backups.models import Backup, Repository


class RepositoryHasBackups(Exception):
    """The repository has backups. Nothing is changed."""

    def __init__(self, repository: Repository) -> None:
        super().__init__(f"the repository has backups: move {repository.pk} out of the store first, and keep it")


def renew(repository: Repository, *, actor: str) -> int:
    """Make an empty repository, and take the backups of the old one off the owner's list. Returns how many those were.

    A second run continues what was interrupted. Raises RepositoryHasBackups, BackupInUse, BackupsOff, Crowded,
    StoreFailure.
    """
    repositories.make(repository)
    if json.loads(repositories.call(repository, ["snapshots", "--json", "--no-lock"])):
        raise RepositoryHasBackups(repository)
    lost = list(Backup.objects.there().filter(agent=repository.pk))
    for backup in lost:
        removing.delete(backup, actor=actor)
    return len(lost)
