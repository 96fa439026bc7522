"""Names from before there were claims: names that served continue, the others get seven days."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from agents import lifecycle
from agents.domains import claims
from agents.models import Agent, DomainClaim
from agents.router.addresses import find
from tests.agents.conftest import MakeAgent
from tests.migrating import migrate

# Slow, because an existing migration does not change any more.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture(autouse=True)
def whole() -> Iterator[None]:
    yield
    migrate()


def test_names_of_before(make_agent: MakeAgent) -> None:
    led, waits, gone = make_agent(), make_agent(), make_agent()
    lifecycle.delete(gone, actor="user:x")
    migrate(("agents", "0027_listed_names"))
    now = timezone.now()
    Agent.objects.filter(pk=led.pk).update(domain="led.example.org", domain_ready_at=now)
    Agent.objects.filter(pk=waits.pk).update(domain="waits.example.org")
    Agent.objects.filter(pk=gone.pk).update(domain="gone.example.org")
    migrate()
    found = {claim.domain: claim for claim in DomainClaim.objects.all()}
    assert set(found) == {"led.example.org", "waits.example.org"}
    assert (found["led.example.org"].status, found["waits.example.org"].status) == ("proved", "unproved")
    lapses_at = found["waits.example.org"].lapses_at
    assert lapses_at is not None
    assert abs(lapses_at - now - timedelta(days=7)) < timedelta(minutes=1)
    assert found["led.example.org"].value == claims.value_of(led.user_id)
    served = find("led.example.org")
    assert served is not None
    assert served.agent_id == led.pk
    assert find("waits.example.org") is None
