from __future__ import annotations

from base64 import urlsafe_b64decode
from datetime import UTC, datetime, timedelta

import pytest

from agents.pod.tickets import InvalidTicket, mint, read

pytestmark = pytest.mark.unmeasured

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def test_a_ticket_opens_the_pod_it_was_minted_for() -> None:
    ticket = read("key", "pod-a-1", mint("key", "pod-a-1", NOW), NOW + timedelta(seconds=59))
    assert ticket.minted == int(NOW.timestamp())


def test_a_ticket_is_over_after_a_minute() -> None:
    with pytest.raises(InvalidTicket):
        read("key", "pod-a-1", mint("key", "pod-a-1", NOW), NOW + timedelta(seconds=60))


def test_a_ticket_of_another_pod_or_another_key_opens_nothing() -> None:
    with pytest.raises(InvalidTicket):
        read("key", "pod-a-2", mint("key", "pod-a-1", NOW), NOW)
    with pytest.raises(InvalidTicket):
        read("other", "pod-a-1", mint("key", "pod-a-1", NOW), NOW)


def test_a_ticket_cannot_be_made_to_last() -> None:
    expires, rest = mint("key", "pod-a-1", NOW).split(".", 1)
    with pytest.raises(InvalidTicket):
        read("key", "pod-a-1", f"{int(expires) + 3600}.{rest}", NOW)


@pytest.mark.parametrize(
    "text", ["", ".", "..", "1.2.3", "١٢.aaaaaaaaaaaaaaaaaaaaaa." + "a" * 43, "\udcff", "a" * 9000]
)
def test_junk_is_no_ticket(text: str) -> None:
    with pytest.raises(InvalidTicket):
        read("key", "pod-a-1", text, NOW)


def test_a_ticket_that_is_used_again_is_known_by_its_nonce() -> None:
    """The gateway remembers the nonce of each ticket that it accepted."""
    first, other = mint("key", "pod-a-1", NOW), mint("key", "pod-a-1", NOW)
    nonces = [read("key", "pod-a-1", text, NOW).nonce for text in (first, first, other)]
    assert nonces[0] == nonces[1] != nonces[2]


def test_a_ticket_has_at_least_128_random_bits() -> None:
    nonce = read("key", "pod-a-1", mint("key", "pod-a-1", NOW), NOW).nonce
    assert len(urlsafe_b64decode(f"{nonce}==")) * 8 >= 128


def test_no_two_tickets_are_the_same() -> None:
    assert len({mint("key", "pod-a-1", NOW) for _ in range(50)}) == 50
