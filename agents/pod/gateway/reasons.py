"""Why a turn failed, in one word that the chat page has a text for. What the provider said stays beside it."""

from __future__ import annotations

import re
from enum import StrEnum

from agents.pod.gateway.llm.log import ModelFailure


class FailureReason(StrEnum):
    KEY_REFUSED = "key_refused"
    NO_CREDIT = "no_credit"
    TOO_MANY = "too_many"  # requests in a short time
    OVERLOADED = "overloaded"
    UNREACHABLE = "unreachable_model"
    NO_MODEL = "no_model"
    CROWDED = "crowded"  # the pod itself has too many turns


# Providers say these with several statuses: a used up credit is 400, 402, 403 or 429, a wrong key 400, 401 or 403.
_CREDIT = re.compile(r"\b(credits?|quota|billing|balance|spend(ing)? limit|insufficient[ _]funds)\b", re.IGNORECASE)
_KEY = re.compile(r"api[ _-]?key\b.{0,40}\b(not valid|invalid|incorrect|expired)|\binvalid api[ _-]?key", re.IGNORECASE)


def of_model(failure: ModelFailure) -> FailureReason | None:
    """None for a refusal of the request itself, such as a text that is too long: its words say it all."""
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
