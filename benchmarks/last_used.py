"""G6: the cost of recording when a key was last used, how often that is written, and how fast a revoked key stops."""

from __future__ import annotations

from django.utils import timezone

from accounts import sessions
from accounts.models import ApiKey
from benchmarks import customers, load, processes
from benchmarks.customers import Customer
from benchmarks.figures import Figure, ratio
from benchmarks.measuring import TargetCall, compared, described
from benchmarks.processes import Program
from benchmarks.statements import Statements

REQUESTS = 2_000
LIMIT = 1.25
THREADS = 8
SETTINGS = "benchmarks.baseline.probing"


def measure() -> list[Figure]:
    customer = customers.one()
    with processes.web(SETTINGS) as server, processes.web(SETTINGS) as other:
        return [_cost(server, customer), _writes(server), _revocation([server, other])]


def _cost(server: Program, customer: Customer) -> Figure:
    """Both views run in one process, so only the recording differs."""
    noting, plain = (
        TargetCall(server, load.get(path, Authorization=customer.bearer)) for path in ("/noting", "/not-noting")
    )
    ours, theirs = compared(noting, plain, times=REQUESTS)
    value = ratio([cost.total for cost in ours], [cost.total for cost in theirs])
    against = f"the same view whose authentication writes nothing; CPU {described(ours)} against {described(theirs)}"
    return Figure("G6 authenticated empty view", value, "x", f"<= {LIMIT} x", value <= LIMIT, against)


def _writes(server: Program) -> Figure:
    """Use a new key over 8 connections at once: count the rows written and the statements sent."""
    customer = customers.one()
    before = _row_versions()
    with Statements() as seen:
        request = load.get("/noting", Authorization=customer.bearer)
        load.run(server.port, load.repeat(request, REQUESTS), connections=THREADS).expect(200)
    asked = sum(text.startswith('UPDATE "accounts_apikey"') for text in seen.texts)
    written = _row_versions() - before
    note = f"no baseline; {REQUESTS:,} requests over {THREADS} connections, the row was written {written} times"
    return Figure("G6 UPDATEs per key in 60 s, 8 threads", asked, "", "<= 1", asked <= 1 and written == 1, note)


def _row_versions() -> int:
    """The number of updates of the table of keys, as PostgreSQL counts them."""
    from django.db import connection  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute("select pg_stat_force_next_flush()")
        cursor.execute("select pg_stat_clear_snapshot()")
        cursor.execute("select n_tup_upd from pg_stat_user_tables where relname = 'accounts_apikey'")
        return int(cursor.fetchone()[0])


def _revocation(servers: list[Program]) -> Figure:
    """Revoke keys through the API of one process, then send the next request to each process."""
    late = 0
    for _ in range(20):
        customer = customers.one()
        key = ApiKey.objects.get(user=customer.user)
        _, token = sessions.start(customer.user, attribution=None, now=timezone.now())
        request = load.get("/noting", Authorization=customer.bearer)
        for server in servers:
            load.run(server.port, load.repeat(request, 4), connections=2).expect(200)
        revoke = load.request("DELETE", f"/keys/{key.pk}", Authorization=f"Bearer {token}")
        load.run(servers[0].port, [revoke], connections=1).expect(204)
        late += sum(load.run(server.port, [request], connections=1).statuses[401] != 1 for server in servers)
    note = "no baseline; 20 keys, revoked through one web process, the next request to each of two"
    return Figure("G6 revoked keys still let in", late, "", "0", late == 0, note)
