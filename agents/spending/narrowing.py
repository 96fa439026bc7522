"""How the limits of an account narrow those of its agents.

Each gateway keeps the account's limits for its own agent. It is told what the account has left, as if this were left
for its agent alone. So a limit is exceeded by what the other agents take between two exchanges of figures, which are
twenty seconds apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from agents.pod.gateway.spending.limits import Spent
from agents.spending.models import AccountSpending, units
from agents.spending.spent import NOTHING, DayAndMonth


@dataclass(frozen=True, slots=True)
class AccountState:
    """An account's limits, and what its agents have spent."""

    limits: AccountSpending
    spent: DayAndMonth = NOTHING


def narrowed(own: dict[str, int | bool], state: AccountState | None, by_agent: Spent) -> dict[str, int | bool]:
    """An agent's own limits in the gateway's form, narrowed to what its account has left. What comes from the account
    is named: a refusal then says so.

    `by_agent` is what the agent has spent, of what the account has.
    """
    if state is None:
        return own
    found = dict(own)
    caps = (("day", state.limits.day_usd, state.spent[0]), ("month", state.limits.month_usd, state.spent[1]))
    for name, cap, used in caps:
        if cap is None:
            continue
        most = getattr(by_agent, name) + (units(max(cap - used, Decimal(0))) or 0)
        if name not in found or most < found[name]:
            found |= {name: most, f"account_{name}": True}
    return found | ({"is_stopped": True, "account_stop": True} if state.limits.is_stopped else {})
