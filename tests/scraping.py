"""What Prometheus would read from a process of ours."""

from __future__ import annotations

import time
from collections.abc import Callable

import requests
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from tests.patience import Patience

SECONDS = 30


class Scrape:
    """One answer of `/metrics`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.samples: list[Sample] = [
            sample for family in text_string_to_metric_families(text) for sample in family.samples
        ]

    def value(self, name: str, **labels: str) -> float | None:
        """The sum of the samples that have these labels, among others. None if there is none."""
        found = [one.value for one in self.samples if one.name == name and labels.items() <= {**one.labels}.items()]
        return sum(found) if found else None

    def series(self, name: str) -> set[tuple[tuple[str, str], ...]]:
        return {tuple(sorted(one.labels.items())) for one in self.samples if one.name == name}


def scrape(port: int, *, seconds: float = 10) -> Scrape:
    answer = requests.get(f"http://127.0.0.1:{port}/metrics", timeout=seconds)
    answer.raise_for_status()
    return Scrape(answer.text)


def scrape_until(port: int, is_there: Callable[[Scrape], object]) -> Scrape:
    """Ask until the answer has something, and return that answer."""
    patience, found = Patience(SECONDS), None
    while not patience.ended():
        try:
            found = scrape(port)
        except (requests.ConnectionError, requests.Timeout):  # the machine may be busy
            found = None
        if found is not None and is_there(found):
            return found
        time.sleep(0.1)
    raise AssertionError(f"not within {SECONDS} s:\n{found.text if found else 'nobody answers'}")
