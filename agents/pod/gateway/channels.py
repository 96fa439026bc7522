"""`GET /channels`: which channels are silent, for the control plane's look each minute. It asks no model."""

from __future__ import annotations

from agents.pod.gateway.bridge import Bridge, BridgeFailure
from agents.pod.gateway.pod import Pod
from agents.pod.masking import mask_text

_WEB = "web"  # our own listener: whoever asks for this has reached the pod


async def states(pod: Pod, bridge: Bridge) -> dict[str, str | None]:
    """Each channel of the configuration in force, and why nobody is heard there; None = it is well.

    Raises BridgeFailure while that says nothing about channels: without an engine or a model key none is connected.
    """
    state = await bridge.state(age=0)
    if state is None:
        raise BridgeFailure("the engine's bridge does not answer")
    if not state.ready:
        raise BridgeFailure(state.message or f"the engine is {state.phase}")
    if state.revision != pod.config.revision:
        raise BridgeFailure("the engine does not have this configuration yet")
    if not pod.has_key:
        raise BridgeFailure("channels wait for a model key")
    told = await bridge.channels()
    if told.unsaid is not None:
        raise BridgeFailure(told.unsaid)
    secrets = pod.secret_texts()
    reasons = {name: told.reasons.get(name, "the engine does not connect to it") for name in pod.config.channels}
    return {name: reason and mask_text(reason, secrets) for name, reason in reasons.items() if name != _WEB}
