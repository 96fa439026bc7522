"""Plans (tiers) in the catalog."""

from __future__ import annotations

from decimal import Decimal

import pytest

from catalog import snapshot, tiers
from catalog.models import Tier
from catalog.vocabulary import TierId
from config.errors import BadRequest

pytestmark = pytest.mark.usefixtures("catalog")

MIB, GIB = 2**20, 2**30


def test_plans_have_the_resources_of_the_design() -> None:
    found = {tier.id: (tier.rank, tier.memory_bytes, tier.disk_bytes, tier.cpu) for tier in tiers.offered()}
    assert found == {
        "tiny": (0, 512 * MIB, 2 * GIB, Decimal("0.25")),
        "small": (1, 1 * GIB, 5 * GIB, Decimal("0.5")),
        "medium": (2, 2 * GIB, 10 * GIB, Decimal(1)),
        "large": (3, 4 * GIB, 20 * GIB, Decimal(2)),
    }


def test_a_year_costs_exactly_ten_months() -> None:
    assert all(tier.annual_usd == 10 * tier.monthly_usd for tier in tiers.offered())


def test_prices_are_shown_with_cents_only_where_there_are_any() -> None:
    assert Tier(monthly_usd=Decimal("5.00")).price == "$5/month"
    assert Tier(monthly_usd=Decimal("4.50")).price == "$4.50/month"


@pytest.mark.parametrize("tier", TierId.values)
def test_an_offered_plan_is_known(tier: str) -> None:
    assert tiers.known_tier(tier).id == tier


def test_an_unknown_plan_names_the_field_and_what_is_allowed() -> None:
    with pytest.raises(BadRequest) as refusal:
        tiers.known_tier("huge")
    assert refusal.value.message == (
        "tier: 'huge' is not a tier; allowed: tiny, small, medium, large; GET /tiers tells more"
    )


def test_a_hidden_plan_is_refused_to_new_agents_and_kept_by_those_that_have_it() -> None:
    Tier.objects.filter(id="large").update(hidden=True)
    snapshot.forget()
    with pytest.raises(BadRequest, match="allowed: tiny, small, medium;"):
        tiers.known_tier("large")
    assert tiers.tier_of("large").name == "Large"
