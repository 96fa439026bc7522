"""Rows about money on a busy platform: each line is a model, what follows FROM, and its columns."""

from __future__ import annotations

from benchmarks.busy_people import ago, id_of

PAYMENTS_EACH = 9
_N = f"i * {PAYMENTS_EACH} + k"
_ALL = "paid"
_LICENSED = "(paid AND i / 3 % 6 < 2)"  # their providers say until when they are paid
_OWN = "(paid AND i / 3 % 6 > 1)"
_EACH = f"busy, generate_series(0, {PAYMENTS_EACH - 1}) k"
_PROVIDER = "(ARRAY['gumroad', 'lemonsqueezy', 'usdt', 'usdc', 'stars', 'stripe'])[i / 3 % 6 + 1]"
_AMOUNT = "(ARRAY[1000, 1000, 10000000, 10000000, 770, 1000])[i / 3 % 6 + 1]"
_CURRENCY = "(ARRAY['USD', 'USD', 'USDT', 'USDC', 'XTR', 'USD'])[i / 3 % 6 + 1]"
_BEGUN = f"until - ({PAYMENTS_EACH} - k) * interval '30 days'"
_PLAN = {"tier": "'small'", "period": "'monthly'"}
_SNAPSHOT = """'{"id": "small", "monthlyUsd": 10, "annualUsd": 100}'"""
_ADDRESS = "'0x' || lpad(to_hex(i), 40, '0')"
_HASH = f"'0x' || lpad(to_hex({_N}), 64, '0')"
_COIN = "(paid AND i / 3 % 6 IN (2, 3))"
_BY_CARD = "paid AND i / 3 % 6 = 5"
_ASSET = "CASE WHEN i / 3 % 6 = 2 THEN 'usdt' ELSE 'usdc' END"
_BOUGHT = {"agent_id": "agent", "user_id": "owner"}

TABLES: tuple[tuple[str, str, dict[str, str]], ...] = (
    (
        "billing.Subscription",
        f"busy WHERE {_ALL}",
        {
            **_BOUGHT,
            **_PLAN,
            "id": id_of("sub", "i"),
            "created_at": f"until - interval '{30 * PAYMENTS_EACH} days'",
            "price_usd": "10",
            "current_period_end": "until",
            "provider": _PROVIDER,
            "tier_snapshot": _SNAPSHOT,
            "anchor_day": "extract(day from until)",
            "counted_at": "until - interval '30 days'",
            "license_fingerprint": f"CASE WHEN {_LICENSED} THEN 'print' || i ELSE '' END",
            "external_ref": f"CASE WHEN {_LICENSED} THEN 'ref' || i ELSE '' END",
            "check_at": f"CASE WHEN {_LICENSED} THEN now() + interval '1 day' END",
            "paid_seen_at": f"CASE WHEN {_LICENSED} THEN now() END",
        },
    ),
    (
        "billing.Order",
        f"{_EACH} WHERE {_OWN}",
        {
            **_BOUGHT,
            **_PLAN,
            "id": id_of("ord", _N),
            "provider": _PROVIDER,
            "price_usd": "10",
            "tier_snapshot": _SNAPSHOT,
            "status": "'paid'",
            "created_at": f"{_BEGUN} - interval '5 minutes'",
            "expires_at": f"{_BEGUN} + interval '1 hour'",
            "paid_at": _BEGUN,
        },
    ),
    (
        "billing.DepositAddress",
        f"busy WHERE {_COIN}",
        {
            "id": "i",
            "agent_id": "agent",
            "account": "'main'",
            "hd_index": "i",
            "address": _ADDRESS,
            "created_at": "created",
        },
    ),
    (
        "billing.HighWater",
        f"busy WHERE {_COIN}",
        {"deposit_address_id": "i", "chain_id": "1", "asset": _ASSET, "balance": "90000000", "block": "1"},
    ),
    (
        "billing.CryptoOrder",
        f"{_EACH} WHERE {_COIN}",
        {
            "order_ptr_id": id_of("ord", _N),
            "asset": _ASSET,
            "chain_id": "1",
            "token": "'0xtoken'",
            "decimals": "6",
            "deposit_address_id": "i",
            **dict.fromkeys(("amount", "seen", "credited"), "10000000"),
            "baseline_block": "1",
            "baseline_final": "true",
            "paid_block": "2",
            "tx_hash": _HASH,
        },
    ),
    (
        "billing.Deposit",
        f"{_EACH} WHERE {_COIN}",
        {
            "chain_id": "1",
            "tx_hash": _HASH,
            "block": _N,
            "block_hash": _HASH,
            "deposit_address_id": "i",
            "asset": _ASSET,
            "token": "'0xtoken'",
            "sender": "'0xsender'",
            "amount": "10000000",
            "order_id": id_of("ord", _N),
            "seen_at": _BEGUN,
        },
    ),
    (
        "billing.StarsOrder",
        f"{_EACH} WHERE paid AND i / 3 % 6 = 4",
        {
            "order_ptr_id": id_of("ord", _N),
            "amount_stars": "770",
            "star_usd": "0.013",
            "payer_id": "i",
            "charge_id": f"'charge-' || {_N}",
        },
    ),
    (
        "billing.StripeOrder",
        f"{_EACH} WHERE {_BY_CARD}",
        {"order_ptr_id": id_of("ord", _N), "customer_id": "'cus_' || i", "session_id": f"'cs_' || {_N}"},
    ),
    (
        "billing.StripeCustomer",
        f"(SELECT DISTINCT owner FROM busy WHERE {_BY_CARD}) o",
        {"user_id": "owner", "customer_id": "'cus_' || owner", "created_at": "now()"},
    ),
    (
        "billing.CardSubscription",  # each was cancelled after its month
        f"{_EACH} WHERE {_BY_CARD}",
        {
            "id": _N,
            "subscription_id": f"'sub_' || {_N}",
            "agent_id": "agent",
            "order_id": id_of("ord", _N),
            "customer_id": "'cus_' || i",
            "tier": "'small'",
            "price_usd": "10",
            "tier_snapshot": _SNAPSHOT,
            "status": "'canceled'",
            "read_at": "now()",
            "canceled_at": f"{_BEGUN} + interval '29 days'",
            "created_at": _BEGUN,
        },
    ),
    (
        "billing.StripeInvoice",
        f"{_EACH} WHERE {_BY_CARD}",
        {"invoice_id": f"'in_' || {_N}", "card_id": _N, "payment_id": id_of("pay", _N), "seen_at": _BEGUN},
    ),
    (
        "billing.StripeEvent",
        "(SELECT i n FROM busy) events",
        {
            "event_id": "'evt_' || n",
            "type": "(ARRAY['invoice.paid', 'charge.refunded', 'customer.subscription.updated'])[n % 3 + 1]",
            "object_id": "'in_' || n",
            "received_at": ago("n"),
            "done_at": ago("n"),
        },
    ),
    (
        "billing.Payment",
        f"{_EACH} WHERE {_ALL}",
        {
            **_BOUGHT,
            **_PLAN,
            "id": id_of("pay", _N),
            "provider": _PROVIDER,
            "external_id": f"'charge-' || {_N}",
            "kind": f"CASE WHEN k = 0 OR {_OWN} THEN 'payment' ELSE 'renewal' END",
            "subscription_id": id_of("sub", "i"),
            "order_id": f"CASE WHEN {_OWN} THEN {id_of('ord', _N)} END",
            "price_usd": "10",
            "amount": _AMOUNT,
            "currency": _CURRENCY,
            "paid_till": f"{_BEGUN} + interval '30 days'",
            "actor": _PROVIDER,
            "at": _BEGUN,
        },
    ),
    (
        "billing.Payment",  # a part of every thirtieth payment went back
        f"{_EACH} WHERE {_OWN} AND ({_N}) % 30 = 0",
        {
            **_BOUGHT,
            **_PLAN,
            "id": id_of("pay", f"10000000 + {_N}"),
            "provider": _PROVIDER,
            "external_id": f"'charge-' || {_N} || ':refund:100'",
            "kind": "'refund'",
            "subscription_id": id_of("sub", "i"),
            "refund_of_id": id_of("pay", _N),
            "price_usd": "10",
            "amount": "100",
            "currency": _CURRENCY,
            "actor": "'operator:usr_1'",
            "reason": "'was down for a day'",
            "at": f"{_BEGUN} + interval '3 days'",
        },
    ),
    (
        "billing.Span",
        f"{_EACH} WHERE {_OWN}",
        {
            "subscription_id": id_of("sub", "i"),
            "payment_id": id_of("pay", _N),
            "starts_at": _BEGUN,
            "ends_at": f"{_BEGUN} + interval '30 days'",
            "length": "interval '30 days'",
            "usd": "10",
        },
    ),
    (
        "billing.Invoice",
        f"{_EACH} WHERE {_OWN}",
        {
            **_BOUGHT,
            "id": id_of("inv", _N),
            "kind": "'invoice'",
            "number": f"'INV-' || {_N}",
            "payment_id": id_of("pay", _N),
            "created_at": _BEGUN,
            "lang": "'en'",
            "buyer": """'{"country": "DE"}'""",
            "description": "'Small, monthly'",
            "paid_with": "'10 USD'",
            "total_usd": "10",
            "tax_usd": "1.60",
            "tax_name": "'VAT'",
            "tax_percent": "19",
        },
    ),
    (
        "billing.Lapse",
        "busy WHERE status = 'stopped' AND NOT paid",
        {"agent_id": "agent", "mode": "'trial'", "stopped_at": "created + interval '7 days'"},
    ),
    (
        "billing.Sweep",
        f"busy WHERE {_COIN}",
        {
            "deposit_address_id": "i",
            "chain_id": "1",
            "tx_hash": "'0xsweep' || i",
            "asset": _ASSET,
            "amount": "50000000",
            "actor": "'operator:usr_1'",
            "at": ago("i", 400_000),
        },
    ),
)
