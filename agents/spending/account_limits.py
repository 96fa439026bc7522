"""The limits of an account: what the model calls of all its agents may take together."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from decimal import Decimal

from django.db import transaction

from accounts.models import User
from agents.models import AccountSpending, Agent
from agents.running import pods
from agents.spending import prices, spent
from agents.spending.narrowing import AccountState
from agents.spending.spent import NOTHING
from config.errors import BadRequest

CHECKED = 2_000  # agents whose model must have a price
NAMED = 5


def of(user: User) -> AccountSpending:
    """The account's limits; a row that is not stored if it never had any."""
    return AccountSpending.objects.filter(pk=user.pk).first() or AccountSpending(user=user)


def states(user_ids: Collection[str], *, today: date) -> dict[str, AccountState]:
    """By account; those without limits are not there."""
    limits = AccountSpending.objects.in_bulk(user_ids)
    sums = spent.sums_of_accounts(limits, today=today) if limits else {}
    return {pk: AccountState(row, sums.get(pk, NOTHING)) for pk, row in limits.items()}


@transaction.atomic
def replace(
    user: User, *, day_usd: Decimal | None = None, month_usd: Decimal | None = None, is_stopped: bool = False
) -> AccountSpending:
    """Set all limits at once; what is not given is no limit. Running pods take them with the next exchange of figures.

    Raises BadRequest if one of the agents has a model without a price: its gateway would refuse all its calls.
    """
    if day_usd is not None or month_usd is not None:
        _check_prices(user)
    AccountSpending.objects.get_or_create(user=user)
    limits = AccountSpending.objects.select_for_update().get(pk=user.pk)
    limits.day_usd, limits.month_usd, limits.is_stopped, limits.told = day_usd, month_usd, is_stopped, {}
    limits.save()
    return limits


def _check_prices(user: User) -> None:
    keyed = Agent.objects.owned_by(user.pk).live().filter(llm_key_hash__isnull=False)
    agents = keyed.only("llm_provider", "model", "persona_id").order_by("pk")[:CHECKED]
    unpriced = [agent.pk for agent in agents if (model := pods.model_id(agent)) and prices.of(model) is None]
    if unpriced:
        raise BadRequest(
            "usdPerDay, usdPerMonth: these agents have a model without a price in the catalog, so they cannot have a"
            f" limit in USD: {', '.join(unpriced[:NAMED])}; choose other models (PATCH /agents/{{id}}/llm-key)"
        )
