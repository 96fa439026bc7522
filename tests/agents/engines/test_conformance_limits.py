"""What each engine's model calls took is counted to the token. At its owner's limits the call is refused, the person
learns why, and the agent goes on afterwards.
"""

from __future__ import annotations

import dataclasses
import time
from collections import Counter

import pytest

from agents.pod.turns.failures import HopFailure
from agents.runtimes import pod_spending
from tests.agents.engines.conftest import ACCESS, EnginePod
from tests.agents.engines.expectations import EXPECTED
from tests.doubles.model_protocols import VendorUsage

pytestmark = [pytest.mark.engines, pytest.mark.anywhere]


def limit(pod: EnginePod, **limits: int | bool) -> None:
    secrets = dataclasses.replace(pod.spec.secrets, spending_limits=limits)
    pod.spec = dataclasses.replace(pod.spec, secrets=secrets)
    pod.change()


def test_a_turn_that_the_owner_forbids_fails_with_the_reason_and_the_next_one_is_answered(pod: EnginePod) -> None:
    pod.start()
    assert pod.say("first") == "pong"
    limit(pod, is_stopped=True)
    before = len(pod.model.turns())
    with pytest.raises(HopFailure) as failure:
        pod.say("second")
    assert failure.value.hop == "model"
    assert "the owner has switched the model calls of this agent off" in str(failure.value)
    assert len(pod.model.turns()) == before
    limit(pod)
    assert pod.say("third") == "pong"


class CountedTokens:
    """What the pod's gateway has counted, as the control plane asks for it again and again."""

    def __init__(self, pod: EnginePod) -> None:
        self._pod = pod
        self._book, self._ack = "", 0
        self.found = Counter[str]()  # by provider and kind of tokens

    def read(self) -> None:
        endpoint = self._pod.runtime.endpoint(self._pod.namespace)
        assert endpoint is not None
        own = {"limits": {}, "day": "2026-11-28", "spent": {}, "prices": {}}
        news = {"book": self._book, "ack": self._ack, "now": time.time(), "revision": 0, **own}
        batch = pod_spending.exchange(endpoint, ACCESS, news)
        if (batch.book, batch.number) != (self._book, self._ack):
            self._book, self._ack = batch.book, batch.number
            for row in batch.rows:
                assert (row.counts["failed"], row.counts["estimated"]) == (0, 0), row
                amounts = {name: row.counts[name] for name in ("calls", "input", "output", "cached")}
                self.found.update(named(row.model.partition(":")[0], **amounts))


def named(provider: str, **amounts: int) -> dict[str, int]:
    return {f"{provider} {name}": amount for name, amount in amounts.items()}


def test_its_figures_are_those_of_the_vendor_to_the_token_for_each_provider(pod: EnginePod) -> None:
    pod.model.usage = lambda number: VendorUsage(input=1000 + 17 * number, output=3 + number, cached=100 + number)
    pod.start()
    figures, told = CountedTokens(pod), Counter[str]()
    for provider, (model, _) in EXPECTED[pod.engine.id].paths.items():
        before = len(pod.model.turns())
        pod.change(provider=provider, model=model)
        assert pod.say("first", provider) == "pong"
        assert pod.say("second", provider) == "pong"
        for seen in pod.model.turns()[before:]:
            usage = seen.usage
            told.update(named(provider, calls=1, input=usage.input, output=usage.output, cached=usage.cached))
        figures.read()
        assert figures.found == told
