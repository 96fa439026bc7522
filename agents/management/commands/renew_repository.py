"""`manage.py renew_repository AGENT`: the backups of an agent begin anew, after a damaged repository was moved away."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agents.backups import renewing
from agents.backups.models import Repository
from agents.backups.renewing import RepositoryHasBackups
from agents.backups.repositories import BackupsOff, Crowded, StoreFailure
from agents.errors import BackupInUse


class Command(BaseCommand):
    help = "Make an empty repository for an agent whose damaged one was moved out of the store."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("agent", help="the id of the agent")

    def handle(self, *args: Any, agent: str, **options: Any) -> None:
        repository = Repository.objects.filter(pk=agent, expires_at=None).first()
        if repository is None:
            raise CommandError(f"no such repository: {agent}")
        try:
            lost = renewing.renew(repository, actor="operator:renew_repository")
        except (RepositoryHasBackups, BackupInUse, BackupsOff, Crowded, StoreFailure) as why:
            raise CommandError(str(why)) from why
        self.stdout.write(f"an empty repository; backups that are lost: {lost}")
