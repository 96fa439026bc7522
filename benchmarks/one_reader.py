"""`python -m benchmarks.one_reader PORT BEARER`: what one client waits for `GET /agents`, in a process of its own."""

from __future__ import annotations

import sys

from benchmarks import load

READS = 1_000


def p99(port: int, bearer: str) -> float:
    """The 99th percentile of the times of reads, one after another, in milliseconds."""
    request = load.get("/agents", Authorization=bearer)
    answers = load.run(port, load.repeat(request, READS), connections=1).expect(200).answers
    return sorted(answer.seconds for answer in answers)[READS * 99 // 100] * 1000


if __name__ == "__main__":
    print(p99(int(sys.argv[1]), sys.argv[2]))
