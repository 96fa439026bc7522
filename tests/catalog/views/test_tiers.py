"""The endpoint GET /tiers."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pytest_django import DjangoAssertNumQueries, Settings
from rest_framework.test import APIClient

from catalog import loading, snapshot
from catalog.models import Tier

pytestmark = pytest.mark.usefixtures("catalog")


def test_the_plans_and_the_trial_are_told_exactly(api: APIClient) -> None:
    assert api.get("/tiers").json() == {
        "tiers": [
            {
                "id": "tiny",
                "name": "Tiny",
                "spec": "512 MiB RAM, 2 GiB disk, 0.25 CPU",
                "monthlyUsd": 5,
                "annualUsd": 50,
            },
            {
                "id": "small",
                "name": "Small",
                "spec": "1 GiB RAM, 5 GiB disk, 0.5 CPU",
                "monthlyUsd": 9,
                "annualUsd": 90,
            },
            {
                "id": "medium",
                "name": "Medium",
                "spec": "2 GiB RAM, 10 GiB disk, 1 CPU",
                "monthlyUsd": 19,
                "annualUsd": 190,
            },
            {
                "id": "large",
                "name": "Large",
                "spec": "4 GiB RAM, 20 GiB disk, 2 CPU",
                "monthlyUsd": 39,
                "annualUsd": 390,
            },
        ],
        "trial": {"days": 7, "graceDays": 3, "keptDays": 14, "noticeDays": [3, 2, 1], "maxFreeAgents": 3},
    }


def test_the_trial_is_what_the_operator_set(api: APIClient, settings: Settings) -> None:
    settings.TRIAL_DAYS, settings.MAX_FREE_AGENTS = 30, 1
    trial = api.get("/tiers").json()["trial"]
    assert (trial["days"], trial["maxFreeAgents"]) == (30, 1)


def test_a_price_with_cents_is_a_number_and_a_year_costs_ten_months(api: APIClient) -> None:
    Tier(id="tiny", name="Tiny", memory_mib=1536, disk_gib=2, cpu=Decimal(1), monthly_usd=Decimal("4.99")).save()
    tier = api.get("/tiers").json()["tiers"][-1]
    assert (tier["monthlyUsd"], tier["annualUsd"]) == (4.99, 49.9)
    assert tier["spec"] == "1536 MiB RAM, 2 GiB disk, 1 CPU"


def test_a_hidden_plan_is_not_listed(api: APIClient) -> None:
    Tier.objects.filter(id="large").update(hidden=True)
    snapshot.forget()
    assert [tier["id"] for tier in api.get("/tiers").json()["tiers"]] == ["tiny", "small", "medium"]


def test_a_warm_catalog_costs_no_query(api: APIClient, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    api.get("/tiers")
    with django_assert_num_queries(0):
        assert api.get("/tiers").status_code == 200


def test_a_cold_catalog_is_read_in_few_queries(
    api: APIClient, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    loading.load()
    snapshot.forget()
    with django_assert_max_num_queries(11):
        api.get("/tiers")
