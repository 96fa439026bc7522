"""Sweeps beside the ledger: what came to the deposit addresses must be there or in a recorded sweep.

The known balances are only the highest ever seen, so the chain is read: otherwise a sweep that nobody recorded is never
found.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

from billing import sums
from billing.providers.crypto import chain, configuration, formerly, tokens
from billing.providers.crypto.configuration import Configuration
from billing.providers.crypto.errors import EndpointFailed, Unknown
from billing.providers.crypto.rpc import Node
from billing.reconciled import Disagreement, Reconciled
from billing.vocabulary import Asset
from config import sql

MOST = 500  # addresses that are read from the chain, those with the oldest money first

_SUMS = """
SELECT asset, sum(came), sum(swept) FROM (
    SELECT asset, amount AS came, 0 AS swept FROM billing_deposit WHERE chain_id = %(chain)s
    UNION ALL SELECT asset, 0, amount FROM billing_sweep WHERE chain_id = %(chain)s
) moved GROUP BY asset ORDER BY asset
"""
_ELSEWHERE = "SELECT DISTINCT chain_id FROM billing_deposit WHERE chain_id <> %(chain)s ORDER BY 1"
_UNSWEPT = """
WITH came AS (
    SELECT deposit_address_id, asset, sum(amount) AS total, min(seen_at) AS first, max(seen_at) AS last
    FROM billing_deposit WHERE chain_id = %(chain)s GROUP BY 1, 2
), swept AS (
    SELECT deposit_address_id, asset, sum(amount) AS total, max(at) AS last
    FROM billing_sweep WHERE chain_id = %(chain)s GROUP BY 1, 2
)
SELECT a.address, asset, came.total - coalesce(swept.total, 0), greatest(came.last, swept.last)
FROM came LEFT JOIN swept USING (deposit_address_id, asset) JOIN billing_depositaddress a ON a.id = deposit_address_id
WHERE came.total <> coalesce(swept.total, 0)
ORDER BY came.first, a.id LIMIT %(most)s
"""

Place = tuple[str, str]  # address and coin


def reconciled(*, now: datetime) -> Reconciled | None:
    """None if nothing is sold for coins here."""
    known = configuration.current()
    if known is None:
        return None
    known = formerly.watched(known)
    found = Reconciled(title=f"Sweeps on chain {known.chain_id}", head=("coin", "came", "swept", "must be there"))
    for asset, came, swept in sql.rows(_SUMS, {"chain": known.chain_id}):
        found.rows.append((asset, *(_coins(number, asset, known) for number in (came, swept, came - swept))))
    for (chain_id,) in sql.rows(_ELSEWHERE, {"chain": known.chain_id}):
        found.notes.append(f"Chain {chain_id} was not compared: coins came on it, and the settings name another chain.")
    places = sql.rows(_UNSWEPT, {"chain": known.chain_id, "most": MOST + 1})
    if len(places) > MOST:
        found.notes.append(f"Only the {MOST} addresses with the oldest money were compared.")
    expected = {(address, asset): (int(units), since) for address, asset, units, since in places[:MOST]}
    try:
        held = chain.read(known, lambda node: _held(node, known, list(expected)), now=now) if expected else {}
    except (Unknown, EndpointFailed):
        found.notes.append("The chain does not answer, so no address was compared.")
        return found
    for place, (units, since) in expected.items():
        if held[place] != units:
            found.differences.append(_difference(place, held[place] - units, since, known))
    return found


def _held(node: Node, known: Configuration, places: list[Place]) -> dict[Place, int]:
    """The final balances. A coin may have had several tokens."""
    asked = [(place, token) for place in places for token, asset in known.assets.items() if asset == place[1]]
    answers = node.batch([tokens.balance(token, place[0], block=node.final) for place, token in asked])
    found: dict[Place, int] = defaultdict(int)
    for (place, _), answer in zip(asked, answers, strict=True):
        found[place] += tokens.balance_in(answer)
    return found


def _difference(place: Place, units: int, since: datetime, known: Configuration) -> Disagreement:
    why = (
        "the address has more than came: a deposit was not read yet"
        if units > 0
        else "it is gone, and no sweep of it is recorded: record it by its transaction in Sweeps"
    )
    return Disagreement(name=place[0], since=since, amount=_coins(abs(units), place[1], known), why=why)


def _coins(units: int, asset: str, known: Configuration) -> str:
    token = known.tokens.get(Asset(asset))
    return f"{sums.exact(units, token.decimals)} {asset}" if token else f"{units} smallest units of {asset}"
