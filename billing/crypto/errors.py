"""What goes wrong with a chain. That nobody can tell is not that nothing was paid."""

from __future__ import annotations

from config.errors import NotFound, Unavailable


class Misconfigured(Exception):
    """The operator's settings are wrong, or the chain is not what they say."""


class EndpointFailed(Exception):
    """One node did not answer, or not so that it can be believed: the next one is asked."""


class Unknown(Exception):
    """No node could be believed. Nothing may be concluded: not that it is unpaid, and not that it is paid."""


class ChainUnreadable(Unavailable):
    def __init__(self) -> None:
        super().__init__("the chain cannot be read at the moment: try again", retry_after=30)


class NoSuchOrder(NotFound):
    def __init__(self) -> None:
        super().__init__("no such order: GET /crypto/orders lists yours")
