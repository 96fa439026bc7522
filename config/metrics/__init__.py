"""The metrics of each process, in the format of Prometheus (docs/reference/metrics.md).

A metric stands beside the rule that it counts. Its labels have values from our own code only, so that no visitor can
make new ones: each new value costs memory in this process and in Prometheus, for ever.
"""

from prometheus_client import disable_created_metrics

# These would double the number of counters, and nothing reads them.
disable_created_metrics()  # type: ignore[no-untyped-call]
