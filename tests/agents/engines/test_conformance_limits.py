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


def counted(pod: EnginePod) -> Counter[str]:
    """What the pod's gateway has counted, by provider and kind of tokens."""
    endpoint = pod.runtime.endpoint(pod.namespace)
    assert endpoint is not None
    news = {"book": "", "ack": 0, "now": time.time(), "revision": 0, "limits": {}, "day": "2026-11-28", "spent": {}}
    batch = pod_spending.exchange(endpoint, ACCESS, {**news, "prices": {}})
    assert batch is not None
    found = Counter[str]()
    for row in batch.rows:
        provider = row.model.partition(":")[0]
        assert (row.counts["failed"], row.counts["estimated"]) == (0, 0), row
        found.update({f"{provider} {name}": row.counts[name] for name in ("calls", "input", "output", "cached")})
    return +found


def test_its_figures_are_those_of_the_vendor_to_the_token_for_each_provider(pod: EnginePod) -> None:
    pod.model.usage = lambda number: VendorUsage(input=1000 + 17 * number, output=3 + number, cached=100 + number)
    pod.start()
    for provider, (model, _) in EXPECTED[pod.engine.id].paths.items():
        before = len(pod.model.turns())
        pod.change(provider=provider, model=model)
        assert pod.say("first", provider) == "pong"
        assert pod.say("second", provider) == "pong"
        told = Counter({f"{provider} calls": len(pod.model.turns()[before:])})
        for seen in pod.model.turns()[before:]:
            amounts = {"input": seen.usage.input, "output": seen.usage.output, "cached": seen.usage.cached}
            told.update({f"{provider} {name}": amount for name, amount in amounts.items()})
        assert {name: value for name, value in counted(pod).items() if name.startswith(f"{provider} ")} == told
