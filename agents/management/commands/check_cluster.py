"""`manage.py check_cluster NAME`: whether a cluster has what pods need, and enforces network policies."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agents.clusters import checking
from agents.models import Cluster


class Command(BaseCommand):
    help = "Say what pods would miss on a cluster. It runs two small pods there, for a minute and a half at most."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="a cluster of the admin, by its name")

    def handle(self, *args: Any, name: str, **options: Any) -> None:
        cluster = Cluster.objects.filter(name=name).first()
        if cluster is None:
            raise CommandError(f"no such cluster: {name}")
        findings = checking.check(cluster)
        cluster.refresh_from_db(fields=["network_policies"])
        self.stdout.write(f"network policies: {cluster.network_policies}")
        if findings:
            raise CommandError("\n".join(findings))
        self.stdout.write("nothing is wrong")
