"""Errors of ordering with stars."""

from __future__ import annotations

from config.errors import Conflict, NotFound, Unavailable


class StarsOrderMeanwhile(Unavailable):
    def __init__(self) -> None:
        super().__init__("another order of this agent has just ended: order again", retry_after=1)


class NoSuchStarsOrder(NotFound):
    def __init__(self) -> None:
        super().__init__("no such order: GET /stars/orders lists yours")


class NothingToSendBack(Conflict):
    def __init__(self, charge_id: str) -> None:
        super().__init__(f"{charge_id}: not a charge of this installation, or it was sent back already")
