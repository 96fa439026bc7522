"""What psycopg's pool says of the database connections of this process."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection
from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

# Our name: (psycopg's name, what it says).
GAUGES = {
    "agentpods_database_pool_max": ("pool_max", "Connections that the pool may have."),
    "agentpods_database_pool_size": ("pool_size", "Connections that the pool has."),
    "agentpods_database_pool_idle": ("pool_available", "Connections that no thread uses."),
    "agentpods_database_pool_waiting": ("requests_waiting", "Threads that wait for a connection."),
}
COUNTERS = {
    "agentpods_database_pool_requests": ("requests_num", "Times that a thread asked for a connection."),
    "agentpods_database_pool_queued": ("requests_queued", "Times that a thread had to wait for one."),
    "agentpods_database_pool_timeouts": ("requests_errors", "Times that a thread got none."),
    "agentpods_database_pool_failures": ("connections_errors", "Connections that could not be opened."),
}


class DatabasePool(Collector):
    def describe(self) -> Iterator[Metric]:
        """Empty: the pool is asked when its figures are wanted, not when this is registered."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        pool = getattr(connection, "pool", None)
        if pool is None:
            return
        found = pool.get_stats()
        for name, (key, words) in GAUGES.items():
            yield GaugeMetricFamily(name, words, value=found.get(key, 0))
        for name, (key, words) in COUNTERS.items():
            yield CounterMetricFamily(name, words, value=found.get(key, 0))
