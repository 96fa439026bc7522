"""The IP addresses to which a delivery may be sent: public ones, and those that the operator allows."""

from __future__ import annotations

from django.conf import settings

from config.outbound import Reach


def reach() -> Reach:
    """The public internet without our own cluster (`OWN_NETWORKS`), plus `WEBHOOK_ALLOWED_CIDRS`."""
    return Reach(allowed=tuple(settings.WEBHOOK_ALLOWED_CIDRS), own=tuple(settings.OWN_NETWORKS))
