"""How a configuration change is saved: under the row's lock, with a new revision. The running pod takes it in place."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from agents.errors import NoSuchAgent
from agents.models import Agent
from config import background
from config.crypto import readable


def locked(agent: Agent) -> Agent:
    """The agent's row, locked for this transaction. Raises NoSuchAgent when it was deleted in the meantime.

    A secret that can no longer be decrypted counts as never set, so that the owner can set it again.
    """
    try:
        return readable(Agent.objects.live().lock(agent.pk))
    except Agent.DoesNotExist as error:
        raise NoSuchAgent from error


@transaction.atomic
def save(agent: Agent, *, fields: list[str]) -> Agent:
    """Save the changed columns, raise the revision and wake the reconciler, which brings the change into the pod."""
    agent.spec_revision += 1
    agent.reconcile_at = timezone.now()
    agent.save(update_fields=[*fields, "spec_revision", "reconcile_at"])
    background.on_commit("agents.reconcile", agent.id)
    return agent
