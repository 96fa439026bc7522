"""`GET /channels`: which channels are not connected. The control plane asks this each minute, and no
model is called.
"""

from __future__ import annotations

from agents.pod.gateway.bridge import Bridge
from agents.pod.gateway.pod import Pod
from agents.pod.masking import mask_text
from agents.pod.turns.failures import EngineError

_WEB = "web"  # the gateway serves this channel itself; a caller of this function has reached the pod, so it works


async def states(pod: Pod, bridge: Bridge) -> dict[str, str | None]:
    """For each channel of the current configuration, the reason why nobody can reach the agent there; None = it is
    fine.
    Raises EngineError while nothing can be said about channels: without an engine or a model key no channel is
    connected.
    """
    state = await bridge.state(age=0)
    if state is None:
        raise EngineError("the engine's bridge does not answer")
    if not state.ready:
        raise EngineError(state.message or f"the engine is {state.phase}")
    if state.revision != pod.config.revision:
        raise EngineError("the engine does not have this configuration yet")
    if not pod.has_key:
        raise EngineError("channels wait for a model key")
    told = await bridge.channels()
    if told.unsaid is not None:
        raise EngineError(told.unsaid)
    secrets = pod.secret_texts()
    reasons = {name: told.reasons.get(name, "the engine does not connect to it") for name in pod.config.channels}
    return {name: reason and mask_text(reason, secrets) for name, reason in reasons.items() if name != _WEB}
