"""The IP addresses to which a delivery may be sent: public ones, and those that the operator allows."""

from __future__ import annotations

from django.conf import settings

from config.outbound import Reach
from config.public_networks import Address


def reach() -> Reach:
    """The public internet without our own cluster (`OWN_NETWORKS`), plus `WEBHOOK_ALLOWED_CIDRS`."""
    return Reach(allowed=tuple(settings.WEBHOOK_ALLOWED_CIDRS), own=tuple(settings.OWN_NETWORKS))


def is_allowed(address: Address) -> bool:
    """Whether the operator has allowed this address in `WEBHOOK_ALLOWED_CIDRS`."""
    return reach().is_allowed(address)


def may_dial(address: Address) -> bool:
    return reach().may_dial(address)


def dialable(answers: list[Address]) -> list[Address]:
    """The addresses of one name that may be dialled; an empty list if the name is not allowed."""
    return reach().dialable(answers)
