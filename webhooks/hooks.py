"""Sets, rotates and removes the receiver of an agent's events."""

from __future__ import annotations

import base64
import secrets
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from config.crypto import readable
from webhooks import deliveries
from webhooks.addresses import authority
from webhooks.models import Hook, State

if TYPE_CHECKING:
    from agents.models import Agent

SECRET_PREFIX = "whsec_"  # noqa: S105 # a prefix, not a secret
SECRET_BYTES = 32
OVERLAP = timedelta(hours=24)


@transaction.atomic
def install(agent: Agent, *, url: str, now: datetime) -> tuple[Hook, str]:
    """Set the receiver. Return the hook and a new secret, which is shown only now. `url` comes from `addresses.check`.

    If the agent has a hook already, this also rotates the secret: the old secret signs a second header for 24 hours,
    and an even older one is no longer used. Pending deliveries go to the new address, signed with the new secret. For a
    new address the last status is empty until an event was sent there.
    """
    secret = SECRET_PREFIX + base64.urlsafe_b64encode(secrets.token_bytes(SECRET_BYTES)).rstrip(b"=").decode()
    hook, created = Hook.objects.select_for_update(no_key=True).get_or_create(
        agent=agent, defaults={"url": url, "authority": authority(url), "secret": secret, "created_at": now}
    )
    if not created:
        _rotate(hook, url=url, secret=secret, now=now)
    return hook, secret


@transaction.atomic
def remove(agent: Agent) -> None:
    """Delete the receiver and its secrets, and cancel pending deliveries. Succeeds if there is no hook."""
    hook = Hook.objects.select_for_update().filter(agent=agent).first()
    if hook is None:
        return
    deliveries.cancel_pending(agent, now=timezone.now())
    hook.delete()


def forget_old_secrets(*, now: datetime) -> int:
    """Erase previous secrets that are older than 24 hours.

    They no longer sign anything; a stored secret is just a risk.
    """
    return Hook.objects.filter(rotated_at__lte=now - OVERLAP).exclude(previous_secret=None).update(previous_secret=None)


def forget_hooks_of_deleted_agents() -> int:
    """Delete the hooks of deleted agents without pending deliveries: nothing will be signed for them any more."""
    ended = Hook.objects.filter(agent__status="deleted").exclude(agent__deliveries__state=State.PENDING)
    return ended.delete()[0]


def _rotate(hook: Hook, *, url: str, secret: str, now: datetime) -> None:
    hook.previous_secret = readable(hook).secret or None
    hook.secret = secret
    hook.rotated_at = now
    hook.slow = hook.slow and hook.authority == authority(url)
    if hook.url != url:
        hook.last_status = hook.last_at = hook.last_event = None
    hook.url = url
    hook.authority = authority(url)
    fields = ["url", "authority", "secret", "previous_secret", "rotated_at", "slow"]
    hook.save(update_fields=[*fields, "last_status", "last_at", "last_event"])
