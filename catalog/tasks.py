"""The Celery tasks of the catalog."""

from __future__ import annotations

from celery import shared_task

from catalog import personas


@shared_task(name="catalog.show_deployments")
def show_deployments() -> None:
    personas.show_deployments()
