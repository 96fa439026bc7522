"""The Celery tasks of the catalog."""

from __future__ import annotations

from catalog import personas
from config.rule_tasks import plain

show_deployments = plain("catalog.show_deployments", personas.show_deployments)
