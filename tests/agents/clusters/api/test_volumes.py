"""Which volume the next claim of an agent uses."""

from __future__ import annotations

from typing import Any, cast

import pytest

from agents.clusters.api import volumes
from agents.clusters.api.client import Connection
from agents.runtimes.base import RuntimeFailure

LABELS = {"agentpods.dev/agent": "agt_abc"}


class VolumeListing:
    """An API server with volumes in these phases."""

    def __init__(self, *phases: str) -> None:
        self._items = [self._volume(*phase.split()) for phase in phases]

    @staticmethod
    def _volume(phase: str, going: str = "") -> dict[str, Any]:
        deleted = {"deletionTimestamp": "2026-11-26T05:00:00Z"} if going else {}
        return {"metadata": {"name": phase.lower(), **deleted}, "status": {"phase": phase}}

    def get(self, path: str, query: dict[str, str]) -> dict[str, Any]:
        assert (path, query) == ("/api/v1/persistentvolumes", {"labelSelector": "agentpods.dev/agent=agt_abc"})
        return {"items": self._items}


def free(*phases: str) -> str | None:
    found = volumes.free(cast("Connection", VolumeListing(*phases)), labels=LABELS)
    return found["metadata"]["name"] if found else None


def test_an_agent_that_had_no_volume_gets_a_new_one() -> None:
    assert free() is None
    assert free("Failed") is None


def test_an_agent_gets_the_volume_that_its_last_claim_has_left() -> None:
    assert free("Released") == "released"
    assert free("Bound", "Available") == "available"


@pytest.mark.parametrize("phase", ["Released going", "Bound going"])
def test_a_volume_that_an_operator_deletes_is_given_to_no_claim_and_waited_for_by_none(phase: str) -> None:
    """The volume's node is gone for good. The agent must start elsewhere, from its backup."""
    assert free(phase) is None
    assert free(phase, "Available") == "available"


def test_no_claim_is_made_while_the_cluster_takes_the_agents_volume_for_bound() -> None:
    """The cluster notices only later that a claim is gone. A claim made before would get a new, empty volume."""
    with pytest.raises(RuntimeFailure, match="still bound") as refusal:
        free("Bound")
    assert refusal.value.cause == "VOLUME"
