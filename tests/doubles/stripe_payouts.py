"""Payouts of the double of Stripe: all charges and refunds since the last payout, less fees, as one transfer."""

from __future__ import annotations

from typing import Any

from tests.doubles.stripe_protocol import Json
from tests.doubles.stripe_world import StripeObjects, now

FEE_PERCENT = 3


def pay_out(world: StripeObjects, **fields: Any) -> Json:
    """What Stripe does each day by itself. `fields` replace those of the payout, such as its status."""
    done = {one["source"] for one in world.all("balance_transaction")}
    moved = [one for kind in ("charge", "refund") for one in world.all(kind) if one["id"] not in done]
    made = [_moved(world, one) for one in moved]
    told = {"automatic": True, "reconciliation_status": "completed", "status": "paid", "arrival_date": now()}
    told |= {"failure_code": None, "currency": made[0]["currency"] if made else "usd"}
    payout = world.new("po", "payout", **{"amount": sum(one["net"] for one in made), **told, **fields})
    total = {"amount": -payout["amount"], "fee": 0, "net": -payout["amount"], "currency": payout["currency"]}
    own = world.new("txn", "balance_transaction", type="payout", source=payout["id"], **total)
    for one in (*made, own):
        one["_interval"] = payout["id"]
    return payout


def _moved(world: StripeObjects, one: Json) -> Json:
    is_charge = one["object"] == "charge"
    amount = one["amount"] if is_charge else -one["amount"]
    fee = one["amount"] * FEE_PERCENT // 100 if is_charge else 0
    told = {"amount": amount, "fee": fee, "net": amount - fee, "currency": one["currency"]}
    return world.new("txn", "balance_transaction", type=one["object"], source=one["id"], **told)


def payouts(world: StripeObjects, fields: Json) -> list[Json]:
    since = int(fields.get("created", {}).get("gte", 0))
    return [one for one in reversed(world.all("payout")) if one["created"] >= since]


def movements(world: StripeObjects, fields: Json) -> list[Json]:
    found = [one for one in reversed(world.all("balance_transaction")) if one["_interval"] == fields.get("payout")]
    is_open = "data.source" in fields.get("expand", [])
    return [{**one, "source": world.objects[one["source"]] if is_open else one["source"]} for one in found]
