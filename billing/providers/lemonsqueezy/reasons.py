"""Why a licence of Lemon Squeezy does not pay."""

from django.utils.translation import gettext_noop

from billing.providers.reasons import NO_PLAN, NOT_OURS, NOT_RENEWED

__all__ = ["NOT_OURS", "NOT_RENEWED", "NO_PLAN"]

UNKNOWN_KEY = gettext_noop(
    "lemonsqueezy does not know this key; if it was bought within the last minutes, try again soon"
)
DISABLED = gettext_noop("lemonsqueezy says that this key was disabled")
EXPIRED = gettext_noop("its subscription has expired")
TAKEN_BACK = "its payment was refunded or charged back"
