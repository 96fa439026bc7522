"""Looks during the faults for states that must not exist even for a moment: two gateways or bridges of one agent."""

from __future__ import annotations

import threading
from collections import defaultdict
from pathlib import Path

from tests.crash import machine_state

PAUSE_SECONDS = 4.0

Doubles = set[tuple[str, frozenset[int]]]


def watch(home: Path, over: threading.Event, findings: list[str]) -> None:
    """Look until `over` is set. Doubles in two looks in a row are a finding: one look may see a fork or an end."""
    before: Doubles = set()
    while not over.wait(PAUSE_SECONDS):
        now = doubles(home)
        for what, pids in now & before:
            finding = f"double: {what} ran as {sorted(pids)} at the same time"
            if finding not in findings:
                findings.append(finding)
        before = now


def doubles(home: Path) -> Doubles:
    """Gateways and bridges that an agent has more than once now, whichever generation of its pod they belong to."""
    found: dict[str, set[int]] = defaultdict(set)
    for pid, role, namespace in machine_state.identities(home):
        if role in {machine_state.GATEWAY, machine_state.BRIDGE}:
            found[f"{role} of {namespace.rpartition('-')[0]}"].add(pid)
    return {(what, frozenset(pids)) for what, pids in found.items() if len(pids) > 1}
