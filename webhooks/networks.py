"""Which IP addresses a delivery may be sent to: public ones, and those that the operator allows."""

from __future__ import annotations

from django.conf import settings

from config.public_networks import Address, is_public


def is_allowed(address: Address) -> bool:
    """Whether the operator vouches for this address (`WEBHOOK_ALLOWED_CIDRS`)."""
    return any(address in network for network in settings.WEBHOOK_ALLOWED_CIDRS)


def may_dial(address: Address) -> bool:
    """Whether it is on the public internet and not of our own cluster (`OWN_NETWORKS`), or the operator allows it."""
    is_own = any(address in network for network in settings.OWN_NETWORKS)
    return (is_public(address) and not is_own) or is_allowed(address)


def dialable(answers: list[Address]) -> list[Address]:
    """The addresses of one name that may be dialled; none if the name may not be.

    A name with one refused answer is refused whole, because which answer is dialled is the network's choice. Only where
    one answer is the operator's own are the others just left out: `localhost` is `::1` as well as `127.0.0.1`.
    """
    good = [address for address in answers if may_dial(address)]
    return good if len(good) == len(answers) or any(map(is_allowed, good)) else []
