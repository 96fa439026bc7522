"""A seller of its own kind on loopback: it opens a bill for an order, and says whether the bill is paid."""

from __future__ import annotations

from tests.doubles.licence_server import Answer, Fields, LicenceServer


class PenniesServer(LicenceServer):
    def __init__(self) -> None:
        super().__init__()
        self.bills: dict[str, int] = {}  # order to cents
        self.paid: set[str] = set()

    def answer(self, path: str, fields: Fields) -> Answer:
        if path == "/bills":
            self.bills[fields["order"]] = int(fields["cents"])
        return 200, {"paid": fields["order"] in self.paid}
