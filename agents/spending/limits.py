"""The limits that an owner sets for an agent's model calls, and the switch that stops them all."""

from __future__ import annotations

from decimal import Decimal

from django.db import transaction

from agents.configuring import configuration
from agents.models import Agent, Spending
from agents.running import pods
from agents.spending import prices
from config import background
from config.errors import BadRequest


def of(agent: Agent) -> Spending:
    """The agent's limits; a row that is not stored if it never had any."""
    return Spending.objects.filter(pk=agent.pk).first() or Spending(agent=agent)


@transaction.atomic
def replace(
    agent: Agent,
    *,
    day_usd: Decimal | None = None,
    month_usd: Decimal | None = None,
    turn_tokens: int | None = None,
    minute_calls: int | None = None,
    is_stopped: bool = False,
) -> Spending:
    """Set all limits at once; what is not given is no limit. The pod takes them within seconds.

    The gateway keeps them. It gets them with the next exchange of figures, at once, and also with the configuration,
    which a pod that starts has from the beginning.
    """
    agent = configuration.locked(agent)
    if day_usd is not None or month_usd is not None:
        _check_price(agent)
    limits, _ = Spending.objects.select_for_update().get_or_create(agent=agent)
    limits.day_usd, limits.month_usd = day_usd, month_usd
    limits.turn_tokens, limits.minute_calls, limits.is_stopped = turn_tokens, minute_calls, is_stopped
    limits.told = {}
    limits.save(update_fields=["day_usd", "month_usd", "turn_tokens", "minute_calls", "is_stopped", "told"])
    configuration.save(agent, fields=[])
    background.on_commit("agents.exchange_spending", agent.pk)
    return limits


def _check_price(agent: Agent) -> None:
    """Raises BadRequest if the agent's model has no price: the gateway could not keep the limit, and so refuses all its
    calls.
    """
    model = pods.model_id(agent)
    if model is not None and prices.of(model) is None:
        raise BadRequest(
            f"usdPerDay, usdPerMonth: {model} has no price in the catalog, so it cannot have a limit in USD; choose"
            " another model, or limit tokensPerTurn and requestsPerMinute"
        )
