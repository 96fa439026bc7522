"""What the rules refuse, in a person's words and beside the field that it is about."""

from __future__ import annotations

import math
from dataclasses import dataclass

from django.utils.translation import gettext, gettext_noop, ngettext

from agents.models import Agent
from billing import errors, orders
from billing.crypto.errors import ChainUnreadable
from billing.models import Subscription
from billing.providers.telegram import TelegramAway
from billing.vocabulary import LICENSED, Provider
from catalog.engines import EngineBelowMinTier, engine_of
from catalog.pages.words import Passage, told
from catalog.tiers import tier_of
from config.errors import RateLimited, ServiceError, Unavailable

# What providers of licences say, for the translators: billing/providers/ and billing/licences.py have the same words.
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
    gettext_noop("it was refunded"),
    gettext_noop("this licence is not of one of our plans"),
    gettext_noop("the time that was paid for is over"),
    gettext_noop("its subscription has expired"),
    gettext_noop("every activation of this licence is used; deactivate it where it was used before"),
    gettext_noop("a licence paid once cannot be used; buy one that is paid monthly or yearly"),
    gettext_noop("a licence paid quarterly cannot be used; buy one that is paid monthly or yearly"),
    gettext_noop("a licence paid biannually cannot be used; buy one that is paid monthly or yearly"),
    gettext_noop("a licence paid every_two_years cannot be used; buy one that is paid monthly or yearly"),
]
