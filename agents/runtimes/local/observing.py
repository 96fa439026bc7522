"""Observes a local pod by its programs and by the files in which they report their state."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from agents.cause import Cause
from agents.runtimes.base import Observation, Phase
from agents.runtimes.local import programs
from agents.runtimes.local.home import PodRecord, WantedState, read_json
from agents.runtimes.local.programs import Found, PodProgram

# Both programs report about every three seconds.
STALE_SECONDS = 10.0


def observe(namespace: str, run_dir: Path, record: PodRecord | None, found: Found) -> Observation:
    gateway = (namespace, PodProgram.GATEWAY) in found
    bridge = (namespace, PodProgram.BRIDGE) in found
    state = _state(run_dir) if record else None
    phase, cause, message, evidence = _verdict(run_dir, record, state, gateway=gateway, bridge=bridge)
    # The gateway's first report shows that its listeners are open.
    age = _age(run_dir / programs.REPORTS[PodProgram.GATEWAY]) if gateway else None
    outdated = age is not None and certificate(run_dir) == ""
    serves = age is not None and age <= STALE_SECONDS and not outdated
    if phase == Phase.READY and gateway and not serves:
        phase = Phase.STARTING if age is None else Phase.UNHEALTHY
        cause, message = _silent(age, outdated=outdated)
    told: Mapping[str, Any] = state or {}
    return Observation(
        namespace=namespace,
        phase=phase,
        gateway_alive=serves,
        revision=_revision(told, run_dir) if serves and bridge else None,
        restarts=int(told.get("restarts") or 0),
        cause=cause,
        message=message,
        evidence=evidence,
        since=datetime.fromisoformat(told["since"]) if told.get("since") else None,
    )


def _silent(age: float | None, *, outdated: bool) -> tuple[str | None, str | None]:
    if outdated:
        return Cause.GATEWAY_OUTDATED, "the gateway was started by a release without certificates and is being replaced"
    return (None, None) if age is None else (Cause.GATEWAY_HUNG, "the gateway does not report")


_Verdict = tuple[Phase, str | None, str | None, list[str]]


def _verdict(
    run_dir: Path, record: PodRecord | None, state: dict[str, Any] | None, *, gateway: bool, bridge: bool
) -> _Verdict:
    if record is None or not (gateway or bridge):
        return _without_processes(run_dir, record, state)
    if not bridge:
        return _without_bridge(run_dir, state)
    if state is None:
        return Phase.STARTING, None, None, []
    if time.time() - state["written_at"] > STALE_SECONDS:
        return Phase.UNHEALTHY, Cause.BRIDGE_HUNG, "the bridge does not report", state["evidence"]
    if state["phase"] == Phase.STOPPED:
        return Phase.UNHEALTHY, None, "the pod is ending", []
    return Phase(state["phase"]), state["cause"], state["message"], state["evidence"]


def _without_processes(run_dir: Path, record: PodRecord | None, state: dict[str, Any] | None) -> _Verdict:
    """The verdict for a pod without processes. It was stopped as wanted, or both programs died. The control plane knows
    which it is; the cause is for people.
    """
    if record and not record.ended:  # another worker is working on the pod
        return (Phase.STARTING if record.wanted is WantedState.RUNNING else Phase.UNHEALTHY), None, None, []
    if record is None or record.wanted is WantedState.STOPPED:
        return Phase.STOPPED, None, None, []
    if state and state["phase"] == Phase.FAILED:
        return Phase.STOPPED, state["cause"], state["message"], state["evidence"]
    return Phase.STOPPED, Cause.POD_DIED, "gateway and bridge are gone", programs.last_words(run_dir, PodProgram.BRIDGE)


def _without_bridge(run_dir: Path, state: dict[str, Any] | None) -> _Verdict:
    if state and state["phase"] == Phase.FAILED:
        return Phase.UNHEALTHY, state["cause"], state["message"], state["evidence"]
    return Phase.UNHEALTHY, Cause.BRIDGE_DIED, "the bridge is gone", programs.last_words(run_dir, PodProgram.BRIDGE)


def news(run_dir: Path) -> Phase | None:
    """The phase that the reports show, if the reconciler has something to do then: READY and RESTORING with a gateway
    that listens, FAILED without one too.
    """
    phase = (read_json(run_dir / programs.REPORTS[PodProgram.BRIDGE]) or {}).get("phase")
    if phase == Phase.FAILED:
        return Phase.FAILED
    return Phase(phase) if phase in {Phase.READY, Phase.RESTORING} and certificate(run_dir) is not None else None


def certificate(run_dir: Path) -> str | None:
    """The fingerprint that the gateway reports; "" if its release has no certificates, None before its first report."""
    report = read_json(run_dir / programs.REPORTS[PodProgram.GATEWAY])
    return str(report.get("certificate", "")) if report is not None else None


def silence(run_dir: Path, program: PodProgram, process: psutil.Process) -> float:
    """For how many seconds the program has not reported. For a new program this is at most its age."""
    try:
        life = time.time() - process.create_time()
    except psutil.NoSuchProcess:
        return 0.0
    age = _age(run_dir / programs.REPORTS[program])
    return life if age is None else min(age, life)


def _age(report: Path) -> float | None:
    try:
        return time.time() - report.stat().st_mtime
    except FileNotFoundError:
        return None


def _state(run_dir: Path) -> dict[str, Any] | None:
    path = run_dir / "state.json"
    state: dict[str, Any] | None = read_json(path)
    if state is None:
        return None
    try:
        return {**state, "written_at": path.stat().st_mtime}
    except FileNotFoundError:
        return None


def _revision(state: Mapping[str, Any], run_dir: Path) -> int | None:
    """The revision that both programs have reached, because either may have started with a newer one; None if one has
    not reported.
    """
    gateway: Mapping[str, Any] = read_json(run_dir / "gateway.json") or {}
    known = [value for value in (state.get("revision"), gateway.get("revision")) if isinstance(value, int)]
    return min(known) if len(known) == 2 else None
