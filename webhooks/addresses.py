"""Checks whether events may be sent to a URL, when the URL is set. Each delivery checks the dialled address again."""

from __future__ import annotations

from django.conf import settings

from config import dry_run, waiting
from config.errors import BadRequest
from config.public_networks import Address
from config.refusals import shown
from webhooks import networks, receiver_url, resolving
from webhooks.receiver_url import BadReceiverUrl, ReceiverUrl

RESOLVE_SECONDS = 2.0

_LOCAL_SUFFIXES = (".localhost", ".local", ".internal", ".svc", ".cluster.local")


def checked(url: str, *, field: str = "url", account: str) -> str:
    """The same as `check`, with a place among the calls of this account that wait. A dry run does not ask DNS."""
    if dry_run.skips(f"{field} (DNS)"):
        return check(url, field=field)
    with waiting.looks.take(account):
        return check(url, field=field)


def check(url: str, *, field: str = "url") -> str:
    """Return the URL as it is stored. Raises BadRequest, which names the field.

    Asks DNS for up to 2 s, so call it outside of transactions. A name without an answer in time is accepted, and
    checked again at delivery.
    """
    try:
        receiver = receiver_url.parse(url)
        _check_host(receiver)
    except BadReceiverUrl as refusal:
        raise BadRequest(f"{field}: {refusal}{_came(url)}") from refusal
    return str(receiver)


def _came(url: str) -> str:
    """What came, without its query and without credentials."""
    return f"; got {shown(url.partition('?')[0])}" if url and "@" not in url else ""


def authority(url: str) -> str:
    """Host and port of a URL that `check` has accepted."""
    return receiver_url.parse(url).authority


def _check_host(receiver: ReceiverUrl) -> None:
    answers, reach = _answers(receiver), networks.reach()
    dialable = reach.dialable(answers)
    allowed = any(map(reach.is_allowed, dialable))
    # A name that has a meaning only inside a private network, even if it resolves here.
    is_local_name = "." not in receiver.host or receiver.host.endswith(_LOCAL_SUFFIXES)
    if not allowed and receiver.address is None and is_local_name:
        raise BadReceiverUrl("must be on a public host, not a local name")
    if not allowed and answers and not dialable:
        raise BadReceiverUrl("must be on a public host: loopback, private and reserved addresses are refused")
    if _is_our_own(receiver, allowed=allowed):
        raise BadReceiverUrl("must not be an address of this service")


def _answers(receiver: ReceiverUrl) -> list[Address]:
    if receiver.address is not None:
        return [receiver.address]
    if dry_run.is_on():
        return []
    waiting.release_connection()
    return resolving.lookup(receiver.host, seconds=RESOLVE_SECONDS)


def _is_our_own(receiver: ReceiverUrl, *, allowed: bool) -> bool:
    """Whether the receiver is the API itself: its events would come back to it.

    On a host that the operator allows, only the API's own port counts: in development everything is on 127.0.0.1.
    """
    ours = receiver_url.parse(settings.BASE_URL)
    return receiver.host == ours.host and (receiver.port == ours.port or not allowed)
