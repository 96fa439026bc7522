"""Rows of billing: the ledger, what it bought, orders, and what becomes of agents that nobody pays for."""

from billing.models.crypto import ChainState, CryptoOrder, Deposit, DepositAddress, HighWater, Sweep
from billing.models.lapses import Lapse
from billing.models.orders import Order
from billing.models.payments import Payment
from billing.models.stars import StarsFeed, StarsOrder, Stray, StrayCharge
from billing.models.subscriptions import Subscription
from billing.models.terms import AgentTerm

__all__ = [
    "AgentTerm",
    "ChainState",
    "CryptoOrder",
    "Deposit",
    "DepositAddress",
    "HighWater",
    "Lapse",
    "Order",
    "Payment",
    "StarsFeed",
    "StarsOrder",
    "Stray",
    "StrayCharge",
    "Subscription",
    "Sweep",
]
