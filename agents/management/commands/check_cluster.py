"""`manage.py check_cluster NAME`: whether a cluster has what pods need, and enforces network policies."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agents.clusters import checking
from agents.models import Cluster


class Command(BaseCommand):
    help = "Check whether a cluster has all that pods need. It runs two small pods there, for at most 90 seconds."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the name of a cluster in the admin")

    def handle(self, *args: Any, name: str, **options: Any) -> None:
        cluster = Cluster.objects.filter(name=name).first()
        if cluster is None:
            raise CommandError(f"no such cluster: {name}")
        findings = checking.check(cluster)
        cluster.refresh_from_db(fields=["network_policies"])
        self.stdout.write(f"network policies: {cluster.network_policies}")
        if findings:
            raise CommandError("\n".join(findings))
        self.stdout.write("no problems")
