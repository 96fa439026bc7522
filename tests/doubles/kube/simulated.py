"""Simulated containers: ready at once, unless a test's script says otherwise."""

from __future__ import annotations

import time

from tests.doubles.kube.pods import ContainerState, PodRun, is_due
from tests.doubles.kube.trouble import CRASH, IMAGE


def refresh(run: PodRun) -> None:
    has = run.cluster.troubles.has
    before = [state.status() for state in run.states.values()]
    for state in run.states.values():
        is_main = state is run.main
        if is_main and has(run.namespace, IMAGE) and (state.waiting or state.ended):
            pull_badly(run, state)
        elif is_main and has(run.namespace, CRASH):
            _crash(run, state)
        elif state.waiting or state.ended:
            state.run(ready=True)
    if before != [state.status() for state in run.states.values()]:
        run.publish()


def pull_badly(run: PodRun, state: ContainerState) -> None:
    """Fail to pull the image: first an error, then a back-off, as in a real cluster."""
    why = f'failed to pull and unpack image "{state.image}": failed to resolve reference: not found'
    if state.waiting and state.waiting[0] == "ErrImagePull":
        message = f'Back-off pulling image "{state.image}": ErrImagePull: {why}'
        state.wait("ImagePullBackOff", message)
        run.event("BackOff", f'Back-off pulling image "{state.image}"')
    elif not state.waiting or state.waiting[0] != "ImagePullBackOff":
        state.wait("ErrImagePull", why)
        run.event("Failed", f'Failed to pull image "{state.image}": {why}')
        run.event("Failed", "Error: ErrImagePull")
        run.cluster.later(run.namespace, run.cluster.settings.crash_seconds)


def crash(run: PodRun, state: ContainerState, code: int, reason: str = "") -> float:
    """End the container, and return the seconds until it starts again: the more restarts, the longer."""
    if not state.ended:
        state.end(code, reason)
    seconds: float = run.cluster.settings.crash_seconds * 2 ** min(state.restarts, 5)
    back_off = f"back-off {10 * 2 ** min(state.restarts, 5)}s restarting failed container={state.name}"
    state.wait("CrashLoopBackOff", f"{back_off} pod={run.name}_{run.namespace}({run.uid})")
    run.event(
        "BackOff", f"Back-off restarting failed container {state.name} in pod {run.name}_{run.namespace}({run.uid})"
    )
    return seconds


def _crash(run: PodRun, state: ContainerState) -> None:
    if not is_due(state):
        return
    if state.waiting and state.last:
        state.restarts += 1
    state.run(ready=False)
    seconds = crash(run, state, 1)
    state.again_at = time.monotonic() + seconds
    run.cluster.later(run.namespace, seconds)


def restart(run: PodRun, state: ContainerState, code: int, reason: str) -> None:
    """End the container once and start it again."""
    state.end(code, reason)
    state.restarts += 1
    state.run(ready=True)
    run.publish()
