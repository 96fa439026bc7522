"""What the demo checks answers with."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

from agentpods.errors import ApiError

SETTLE_SECONDS = 180

AGENT_FIELDS = set(
    re.findall(
        r"\w+",
        """id userId personaId name tier channels createdAt status dseq endpointUrl llmKeyHash dashUsername dashPassword
        quotaStatus quota lang domain tools llmProvider lastBackupAt model engine timezone a2aToken a2aUrl extraSoul
        a2aPeers a2aSlug trialNoticeDay telegramTokenEnc a2aListed""",
    )
)
WEBHOOK_FIELDS = {"webhookUrl", "webhookLastStatus", "webhookLastAt", "webhookLastEvent"}


class Wrong(Exception):
    """The service does not behave as its documentation says."""


class NotPrepared(Exception):
    """The service works, but its settings do not let it reach this demo's servers."""


def expect(truth: object, otherwise: str) -> None:
    if not truth:
        raise Wrong(otherwise)


def refused(call: Callable[[], object], *, status: int) -> ApiError:
    """Make a call that the service must refuse with this status. Returns the refusal."""
    try:
        answer = call()
    except ApiError as refusal:
        expect(refusal.status == status, f"not refused with {status}: {refusal}")
        return refusal
    raise Wrong(f"not refused with {status}: {answer}")


def every(pause: float, seconds: float) -> Iterator[None]:
    """Yield every `pause` seconds until `seconds` have passed."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        yield
        time.sleep(pause)
