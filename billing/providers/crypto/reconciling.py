"""Sweeps beside the ledger: what came to the deposit addresses must be there or in a recorded sweep.

The known balances are only the highest ever seen, so the chain is read: otherwise a sweep that nobody recorded is never
found.
"""

from __future__ import annotations

from datetime import datetime

from billing import sums
from billing.providers.crypto import chain, configuration, formerly, tokens
from billing.providers.crypto.configuration import Configuration
from billing.providers.crypto.errors import EndpointFailed, Unknown
from billing.providers.crypto.rpc import Node
from billing.reconciled import Disagreement, Reconciled
from config import sql

HEAD = ("coin", "token", "came", "swept", "must be there")
MOST = 500  # addresses that are read from the chain, those with the oldest money first

# A sweep from an earlier release does not say its token. It is the only one that came to the address, if there is one.
_SWEEPS = """
SELECT s.deposit_address_id, s.asset, s.amount, s.at, coalesce(nullif(s.token, ''), (
    SELECT min(d.token) FROM billing_deposit d
    WHERE d.deposit_address_id = s.deposit_address_id AND d.chain_id = s.chain_id AND d.asset = s.asset
    HAVING count(DISTINCT d.token) = 1
), '') AS token
FROM billing_sweep s WHERE s.chain_id = %(chain)s
"""
_SUMS = f"""
SELECT asset, token, sum(came), sum(swept) FROM (
    SELECT asset, token, amount AS came, 0 AS swept FROM billing_deposit WHERE chain_id = %(chain)s
    UNION ALL SELECT asset, token, 0, amount FROM ({_SWEEPS}) sweeps
) moved GROUP BY 1, 2 ORDER BY 1, 2
"""  # noqa: S608 (of constants)
_ELSEWHERE = "SELECT DISTINCT chain_id FROM billing_deposit WHERE chain_id <> %(chain)s ORDER BY 1"
_UNSWEPT = f"""
WITH came AS (
    SELECT deposit_address_id, asset, token, sum(amount) AS total, min(seen_at) AS first, max(seen_at) AS last
    FROM billing_deposit WHERE chain_id = %(chain)s GROUP BY 1, 2, 3
), swept AS (
    SELECT deposit_address_id, asset, token, sum(amount) AS total, max(at) AS last
    FROM ({_SWEEPS}) sweeps GROUP BY 1, 2, 3
)
SELECT a.address, asset, token, came.total - coalesce(swept.total, 0), greatest(came.last, swept.last)
FROM came LEFT JOIN swept USING (deposit_address_id, asset, token)
JOIN billing_depositaddress a ON a.id = deposit_address_id
WHERE came.total <> coalesce(swept.total, 0)
ORDER BY came.first, a.id LIMIT %(most)s
"""  # noqa: S608 (of constants)

Place = tuple[str, str, str]  # address, coin and token


def reconciled(*, now: datetime) -> Reconciled | None:
    """None if nothing is sold for coins here."""
    known = configuration.current()
    if known is None:
        return None
    known, digits = formerly.watched(known), _decimals(known)
    found = Reconciled(title=f"Sweeps on chain {known.chain_id}", head=HEAD)
    for asset, token, came, swept in sql.rows(_SUMS, {"chain": known.chain_id}):
        numbers = (_coins(number, asset, digits.get(token)) for number in (came, swept, came - swept))
        found.rows.append((asset, token, *numbers))
    for (chain_id,) in sql.rows(_ELSEWHERE, {"chain": known.chain_id}):
        found.notes.append(f"Chain {chain_id} was not compared: coins came on it, and the settings name another chain.")
    places = sql.rows(_UNSWEPT, {"chain": known.chain_id, "most": MOST + 1})
    if len(places) > MOST:
        found.notes.append(f"Only the {MOST} addresses with the oldest money were compared.")
    expected = {(address, asset, token): (int(units), since) for address, asset, token, units, since in places[:MOST]}
    try:
        held = chain.read(known, lambda node: _held(node, list(expected)), now=now) if expected else {}
    except (Unknown, EndpointFailed):
        found.notes.append("The chain does not answer, so no address was compared.")
        return found
    for place, (units, since) in expected.items():
        if held[place] != units:
            found.differences.append(_difference(place, held[place] - units, since, digits))
    return found


def _decimals(known: Configuration) -> dict[str, int]:
    """By address: the decimals of the tokens of the settings, and of tokens that were in them earlier."""
    return formerly.decimals(known.chain_id) | {token.address: token.decimals for token in known.tokens.values()}


def _held(node: Node, places: list[Place]) -> dict[Place, int]:
    """The final balances."""
    answers = node.batch([tokens.balance(token, address, block=node.final) for address, _, token in places])
    return {place: tokens.balance_in(answer) for place, answer in zip(places, answers, strict=True)}


def _difference(place: Place, units: int, since: datetime, digits: dict[str, int]) -> Disagreement:
    address, asset, token = place
    why = (
        "the address has more than came: a deposit was not read yet"
        if units > 0
        else "it is gone, and no sweep of it is recorded: record it by its transaction in Sweeps"
    )
    amount = _coins(abs(units), asset, digits.get(token))
    return Disagreement(name=address, since=since, amount=amount, why=why)


def _coins(units: int, asset: str, decimals: int | None) -> str:
    """Minus if more was swept than came: that is a fault, and must not look like a sum."""
    if decimals is None:
        return f"{units} smallest units of {asset}"
    sign = "-" if units < 0 else ""
    return f"{sign}{sums.exact(abs(units), decimals)} {asset}"
