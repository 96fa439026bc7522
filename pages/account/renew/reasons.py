"""Texts of licence providers' refusals, listed here for translators.

They must be the same as in billing/providers/ and billing/licences.py. A provider's own text is not translated.
"""

from __future__ import annotations

from django.utils.translation import gettext_noop

REASONS = [
    gettext_noop(
        "gumroad does not know this key as one of our products' licences; if it was bought within the last minutes, try"
        " again soon"
    ),
    gettext_noop("lemonsqueezy does not know this key; if it was bought within the last minutes, try again soon"),
    gettext_noop("gumroad says that this key was disabled"),
    gettext_noop("lemonsqueezy says that this key was disabled"),
    gettext_noop("gumroad knows of no purchase for this key"),
    gettext_noop("this key is of a product that is none of ours"),
    gettext_noop("this is a test purchase, for which nobody paid"),
    gettext_noop("this licence is not of one of our plans"),
    gettext_noop("it was refunded"),
    gettext_noop("its payment was disputed"),
    gettext_noop("its payment was charged back"),
    gettext_noop("the membership has ended"),
    gettext_noop("the last renewal was not paid"),
    gettext_noop("the membership was cancelled and has ended"),
    gettext_noop("the time that was paid for is over"),
    gettext_noop("its subscription has expired"),
    gettext_noop("every activation of this licence is used; deactivate it where it was used before"),
    gettext_noop("no key is so long, or has such characters"),
    gettext_noop("a licence paid once cannot be used; buy one that is paid monthly or yearly"),
    gettext_noop("a licence paid quarterly cannot be used; buy one that is paid monthly or yearly"),
    gettext_noop("a licence paid biannually cannot be used; buy one that is paid monthly or yearly"),
    gettext_noop("a licence paid every_two_years cannot be used; buy one that is paid monthly or yearly"),
]
