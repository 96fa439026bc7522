from __future__ import annotations

from agents.pod.gateway.egress.visits import MOST_ALLOWED, MOST_REFUSED, OTHERS, VisitBook


def test_refused_and_allowed_hosts_have_places_of_their_own() -> None:
    book = VisitBook(lambda: "2026-11-29")
    for number in range(1_000):
        book.refused(f"junk-{number}.example:443")
    for number in range(300):
        book.refused("junk-0.example:443")
        with book.visit(f"reached-{number}.example:443"):
            pass
    rows = book.exchange({"egress": {}})["egress"]["rows"]
    refused = {row["host"]: row["count"] for row in rows if row["refused"]}
    allowed = {row["host"]: row["count"] for row in rows if not row["refused"]}
    assert (len(refused), refused[OTHERS], refused["junk-0.example:443"]) == (
        MOST_REFUSED + 1,
        1_000 - MOST_REFUSED,
        301,
    )
    assert (len(allowed), allowed[OTHERS], allowed["reached-0.example:443"]) == (
        MOST_ALLOWED + 1,
        300 - MOST_ALLOWED,
        1,
    )
