"""Why a turn failed, as one word for which the chat page has a text. The provider's own message is sent beside it."""

from __future__ import annotations

import re
from enum import StrEnum

from agents.pod.gateway.llm.log import ModelFailure


class FailureReason(StrEnum):
    KEY_REFUSED = "key_refused"
    NO_CREDIT = "no_credit"
    TOO_MANY = "too_many"  # too many requests in a short time
    OVERLOADED = "overloaded"
    UNREACHABLE = "unreachable_model"
    NO_MODEL = "no_model"
    CROWDED = "crowded"  # the pod has too many turns at once


# Providers use several statuses for the same reason: 400, 402, 403 or 429 for used-up credit, 400, 401 or 403 for a
# wrong key.
_CREDIT = re.compile(r"\b(credits?|quota|billing|balance|spend(ing)? limit|insufficient[ _]funds)\b", re.IGNORECASE)
_KEY = re.compile(r"api[ _-]?key\b.{0,40}\b(not valid|invalid|incorrect|expired)|\binvalid api[ _-]?key", re.IGNORECASE)


def of_model(failure: ModelFailure) -> FailureReason | None:
    """The reason of this failure. None if the provider refused the request itself, for example because it is too long:
    then the provider's message is enough.
    """
    status = failure.status
    if status is None:
        return FailureReason.UNREACHABLE
    if status >= 500:
        return FailureReason.OVERLOADED
    if status == 402 or (status in {400, 403, 429} and _CREDIT.search(failure.message)):
        return FailureReason.NO_CREDIT
    if status in {401, 403} or (status == 400 and _KEY.search(failure.message)):
        return FailureReason.KEY_REFUSED
    return {404: FailureReason.NO_MODEL, 429: FailureReason.TOO_MANY}.get(status)
