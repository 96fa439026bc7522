"""The errors of reading a chain. A chain that does not answer is unknown, not unpaid."""

from __future__ import annotations

from config.errors import Unavailable


class Misconfigured(Exception):
    """The operator's settings are wrong, or the chain differs from them."""


class EndpointFailed(Exception):
    """One node did not answer, or its answer cannot be trusted. The next node is asked."""


class Unknown(Exception):
    """No node gave an answer that can be trusted. It means neither paid nor unpaid."""


class ChainUnreadable(Unavailable):
    def __init__(self) -> None:
        super().__init__("the chain cannot be read at the moment: try again", retry_after=30)
