"""Why a licence of Gumroad does not pay."""

from __future__ import annotations

from django.utils.translation import gettext_noop

from billing.providers.reasons import NO_PLAN, NOT_OURS, NOT_RENEWED

__all__ = ["NOT_OURS", "NOT_RENEWED", "NO_PLAN"]

UNKNOWN_KEY = gettext_noop(
    "gumroad does not know this key as one of our products' licences; if it was bought within the last minutes, try"
    " again soon"
)
DISABLED = gettext_noop("gumroad says that this key was disabled")
NO_PURCHASE = gettext_noop("gumroad has no purchase for this key")
TEST = gettext_noop("this is a test purchase, for which nobody paid")
REFUNDED = gettext_noop("it was refunded")
DISPUTED = gettext_noop("its payment was disputed")
CHARGED_BACK = gettext_noop("its payment was charged back")
ENDED = gettext_noop("the membership has ended")
CANCELLED = gettext_noop("the membership was cancelled and has ended")
OVER = gettext_noop("the time that was paid for is over")

_PAID_OTHERWISE = {
    "once": gettext_noop("a licence paid once cannot be used; buy one that is paid monthly or yearly"),
    "quarterly": gettext_noop("a licence paid quarterly cannot be used; buy one that is paid monthly or yearly"),
    "biannually": gettext_noop("a licence paid biannually cannot be used; buy one that is paid monthly or yearly"),
    "every_two_years": gettext_noop(
        "a licence paid every_two_years cannot be used; buy one that is paid monthly or yearly"
    ),
}


def paid_otherwise(recurrence: str) -> str:
    """How often the licence is paid, where that is neither monthly nor yearly."""
    unknown = f"a licence paid {recurrence} cannot be used; buy one that is paid monthly or yearly"
    return _PAID_OTHERWISE.get(recurrence, unknown)
