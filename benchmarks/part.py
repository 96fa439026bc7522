"""`python -m benchmarks.part catalog`: one benchmark, in its own process and with its own database. Prints JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from importlib import import_module

import django

from config import heap


def main(module: str) -> None:
    django.setup()
    benchmark = import_module(f"benchmarks.{module}")
    heap.settle()  # as web and workers do
    figures = benchmark.measure()
    print(json.dumps([asdict(figure) for figure in figures]))


if __name__ == "__main__":
    main(sys.argv[1])
