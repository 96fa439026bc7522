"""The SQL of delivery: it leases due deliveries and records outcomes, on the drain's own connection and not Django's.

Claims are fair by these rules. Only one delivery per agent is under way, so a dead receiver uses one slot, however many
deliveries wait for it. The number of deliveries to one host and port is limited. Receivers that timed out last time
share a few slots. Tests go first, even beside another delivery of their agent, because somebody waits for them. A
delivery that waits for its retry is not under way and blocks nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Self

from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from config import sql
from webhooks.deliveries import Claim, DeliveryOutcome
from webhooks.hooks import OVERLAP

# Longer than any attempt can last. A delivery without an outcome by then is sent again.
LEASE = timedelta(seconds=30)
MAX_PER_AUTHORITY = 8

# Advisory locks of this database: the first number is ours, the second is the slot of a drain, or the claim.
_LOCKS = 0x77656268
_CLAIMING = 0

_SOONEST = """
SELECT least(
    (SELECT min(next_attempt_at) FROM webhooks_delivery WHERE state = 'pending' AND lease_until IS NULL),
    (SELECT min(lease_until) FROM webhooks_delivery WHERE state = 'pending' AND lease_until IS NOT NULL)
)
"""

# `owing` steps from agent to agent along the index `delivery_next`, so its cost depends on the number of waiting agents
# and not of deliveries. PostgreSQL's planner does not find such a plan.
_CLAIM = """
WITH RECURSIVE owing (agent_id) AS (
    (SELECT agent_id FROM webhooks_delivery WHERE state = 'pending' ORDER BY agent_id LIMIT 1)
    UNION ALL
    SELECT (
        SELECT d.agent_id FROM webhooks_delivery d
        WHERE d.state = 'pending' AND d.agent_id > owing.agent_id ORDER BY d.agent_id LIMIT 1
    )
    FROM owing WHERE owing.agent_id IS NOT NULL
), busy AS (
    SELECT d.agent_id, d.is_test, h.authority
    FROM webhooks_delivery d JOIN webhooks_hook h ON h.agent_id = d.agent_id
    WHERE d.state = 'pending' AND d.lease_until > %(now)s
), ready AS (
    SELECT due.*, h.slow, row_number() OVER (
        PARTITION BY h.authority ORDER BY due.is_test DESC, due.next_attempt_at
    ) + (SELECT count(*) FROM busy WHERE busy.authority = h.authority) AS place_at_host
    FROM owing
    JOIN webhooks_hook h ON h.agent_id = owing.agent_id
    CROSS JOIN LATERAL (
        SELECT d.event_id, d.is_test, d.next_attempt_at FROM webhooks_delivery d
        WHERE d.agent_id = owing.agent_id AND d.state = 'pending' AND d.next_attempt_at <= %(now)s
            AND (d.lease_until IS NULL OR d.lease_until <= %(now)s)
        ORDER BY d.is_test DESC, d.next_attempt_at LIMIT 1
    ) due
    WHERE NOT EXISTS (
        SELECT 1 FROM busy WHERE busy.agent_id = owing.agent_id AND (busy.is_test OR NOT due.is_test)
    )
), laned AS (
    SELECT *, row_number() OVER (PARTITION BY slow ORDER BY is_test DESC, next_attempt_at) AS place_in_lane
    FROM ready WHERE place_at_host <= %(per_authority)s
), chosen AS (
    SELECT d.event_id
    FROM laned JOIN webhooks_delivery d ON d.event_id = laned.event_id
    WHERE (NOT slow OR place_in_lane <= %(slow_slots)s)
        AND d.state = 'pending' AND (d.lease_until IS NULL OR d.lease_until <= %(now)s)
    ORDER BY laned.is_test DESC, laned.next_attempt_at LIMIT %(slots)s
    FOR UPDATE OF d SKIP LOCKED
)
UPDATE webhooks_delivery d SET lease_until = %(until)s, lease_token = %(token)s, claims = d.claims + 1
FROM chosen, webhooks_event e, webhooks_hook h
WHERE d.event_id = chosen.event_id AND e.id = d.event_id AND h.agent_id = d.agent_id
RETURNING d.event_id, e.type, d.agent_id, e.body, h.url, h.secret, h.previous_secret, h.rotated_at,
    d.attempts, d.claims, h.slow
"""

# All code that locks a hook and its deliveries locks the hook first, so that a removal and an outcome do not mix.
_LOCK_HOOKS = """
SELECT 1 FROM webhooks_hook WHERE agent_id IN (
    SELECT agent_id FROM webhooks_delivery WHERE event_id = ANY(%s)
) ORDER BY agent_id FOR NO KEY UPDATE
"""

# The lease token protects: an outcome changes nothing if another drain has the lease by now, or if the delivery was
# canceled. The hook shows only outcomes of the URL that it has now.
_RECORD = """
WITH outcome AS (
    SELECT * FROM unnest(
        %s::text[], %s::text[], %s::text[], %s::int[], %s::timestamptz[], %s::int[], %s::text[], %s::int[],
        %s::timestamptz[], %s::bool[], %s::text[], %s::text[]
    ) AS o (
        event_id, token, state, attempts, next_attempt_at, http_status, error, duration_ms, ended_at, slow, summary, url
    )
), recorded AS (
    UPDATE webhooks_delivery d SET state = o.state, attempts = o.attempts, next_attempt_at = o.next_attempt_at,
        http_status = o.http_status, error = o.error, duration_ms = o.duration_ms, lease_until = NULL, lease_token = '',
        finished_at = CASE WHEN o.state <> 'pending' THEN o.ended_at END
    FROM outcome o
    WHERE d.event_id = o.event_id AND d.lease_token = o.token AND d.state = 'pending'
    RETURNING d.agent_id, d.event_id, o.state, o.ended_at, o.slow, o.summary, o.url
), present AS (
    SELECT recorded.* FROM recorded JOIN webhooks_hook h ON h.agent_id = recorded.agent_id AND h.url = recorded.url
), latest AS (
    SELECT DISTINCT ON (agent_id) agent_id, slow FROM present ORDER BY agent_id, ended_at DESC
), ended AS (
    SELECT DISTINCT ON (r.agent_id) r.agent_id, r.ended_at, r.summary, e.type
    FROM present r JOIN webhooks_event e ON e.id = r.event_id
    WHERE r.state <> 'pending' ORDER BY r.agent_id, r.ended_at DESC
)
UPDATE webhooks_hook h SET slow = latest.slow,
    last_status = CASE WHEN newer THEN ended.summary ELSE h.last_status END,
    last_at = CASE WHEN newer THEN ended.ended_at ELSE h.last_at END,
    last_event = CASE WHEN newer THEN ended.type ELSE h.last_event END
FROM latest LEFT JOIN ended ON ended.agent_id = latest.agent_id
    JOIN webhooks_hook was ON was.agent_id = latest.agent_id
    CROSS JOIN LATERAL (
        SELECT ended.ended_at IS NOT NULL AND (was.last_at IS NULL OR was.last_at <= ended.ended_at)
    ) n (newer)
WHERE h.agent_id = latest.agent_id
"""

_GIVE_BACK = """
UPDATE webhooks_delivery SET lease_until = NULL, lease_token = '', claims = greatest(claims - 1, 0)
WHERE event_id = ANY(%s) AND lease_token = ANY(%s) AND state = 'pending'
"""


def soonest() -> datetime | None:
    """When the next delivery can be leased at the earliest. Cheap: it reads only the ends of two partial indexes."""
    moment: datetime | None = sql.rows(_SOONEST)[0][0]
    return moment


class Outbox:
    """The drain's own connection to the database, and its queries.

    A transaction is sent as one pipeline: on a busy machine each round trip costs more than the work itself.
    """

    def __init__(self, connection: AsyncConnection[TupleRow]) -> None:
        self._connection = connection

    @classmethod
    async def open(cls, parameters: dict[str, Any]) -> Self:
        return cls(await AsyncConnection.connect(**parameters, autocommit=True))

    async def close(self) -> None:
        await self._connection.close()

    async def take_slot(self, slots: int) -> bool:
        """Take one of the installation's places for a drain. The end of the connection frees it, however it ends."""
        for slot in range(1, slots + 1):
            if await self._value("SELECT pg_try_advisory_lock(%s, %s)", [_LOCKS, slot]):
                return True
        return False

    async def soonest(self) -> datetime | None:
        moment: datetime | None = await self._value(_SOONEST, [])
        return moment

    async def claim(self, *, slots: int, slow_slots: int, now: datetime) -> list[Claim]:
        """Lease up to `slots` due deliveries. Drains claim one after another, so each sees the leases of the others."""
        token = secrets.token_hex(16)
        parameters = {
            "now": now,
            "until": now + LEASE,
            "token": token,
            "slots": slots,
            "slow_slots": slow_slots,
            "per_authority": MAX_PER_AUTHORITY,
        }
        async with self._connection.pipeline(), self._connection.transaction():
            await self._connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCKS, _CLAIMING])
            claimed = await self._connection.execute(_CLAIM, parameters)
        return [_claim(row, token=token, now=now) for row in await claimed.fetchall()]

    async def record(self, outcomes: Sequence[DeliveryOutcome]) -> None:
        """Write the outcomes of attempts in one statement, and the summary on the hooks of ended deliveries."""
        columns = [
            (o.event_id, o.token, o.state.value, o.attempts, o.next_attempt_at, o.http_status, str(o.error),
             o.duration_ms, o.ended_at, o.slow, o.summary, o.url)
            for o in outcomes
        ]  # fmt: skip
        async with self._connection.pipeline(), self._connection.transaction():
            await self._connection.execute(_LOCK_HOOKS, [[o.event_id for o in outcomes]])
            await self._connection.execute(_RECORD, [list(column) for column in zip(*columns, strict=True)])

    async def give_back(self, claims: Iterable[Claim]) -> None:
        """Give leases back unsent, so that the next drain need not wait for their end."""
        claims = list(claims)
        await self._connection.execute(_GIVE_BACK, [[c.event_id for c in claims], [c.token for c in claims]])

    async def _value(self, query: str, parameters: list[Any]) -> Any:
        row = await (await self._connection.execute(query, parameters)).fetchone()
        return row[0] if row else None


def _claim(row: TupleRow, *, token: str, now: datetime) -> Claim:
    event_id, event_type, agent_id, body, url, secret, previous, rotated_at, attempts, claims, slow = row
    overlaps = previous is not None and rotated_at is not None and now < rotated_at + OVERLAP
    return Claim(
        event_id=event_id,
        event_type=event_type,
        agent_id=agent_id,
        body=body,
        url=url,
        sealed_secret=secret,
        sealed_previous=previous if overlaps else None,
        attempts=attempts,
        claims=claims,
        slow=slow,
        token=token,
    )
