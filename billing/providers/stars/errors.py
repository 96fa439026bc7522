"""Errors of ordering with stars."""

from __future__ import annotations

from config.errors import Conflict


class NothingToSendBack(Conflict):
    def __init__(self, charge_id: str) -> None:
        super().__init__(f"{charge_id}: not a charge of this installation, or it was sent back already")
