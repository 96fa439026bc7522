"""Refusals of the rules in plain words, each with the form field that it is about."""

from __future__ import annotations

import math
from dataclasses import dataclass

from django.utils.translation import gettext, ngettext

from agents.models import Agent
from billing import errors, orders, subscriptions
from billing.models import Subscription
from billing.providers import page, registry
from billing.renewal import WantedRenewal
from billing.vocabulary import LICENSED, Period
from catalog.engines import EngineBelowMinTier, engine_of
from config.errors import RateLimited, ServiceError, Unavailable
from pages import words
from pages.account.names import plan_name, way_name


@dataclass(frozen=True, slots=True, kw_only=True)
class FormRefusal:
    """`field` is a field of the form: tier, period, provider, coupon or license_key."""

    field: str
    text: str
    status: int = 400


def form_refusal(error: ServiceError, agent: Agent, wanted: WantedRenewal) -> FormRefusal:
    field, text = _licence(error) or _plan(error, agent) or _way(error, agent, wanted) or ("provider", error.message)
    return FormRefusal(field=field, text=text, status=error.status)


def _licence(error: ServiceError) -> tuple[str, str] | None:
    match error:
        case errors.LicenceRefused():
            return "license_key", _not_accepted(error.message.removeprefix("licenseKey: "))
        case errors.LicenceInUse():
            return "license_key", gettext("This key is in use on an agent already. A key pays for one agent.")
        case RateLimited():
            minutes = math.ceil(int(error.headers["Retry-After"]) / 60)
            text = ngettext(
                "Too many keys were tried. Try again in %(count)d minute.",
                "Too many keys were tried. Try again in %(count)d minutes.",
                minutes,
            )
            return "license_key", text % {"count": minutes}
    return None


def _not_accepted(why: str) -> str:
    if why.startswith("missing"):
        return gettext("Enter the key first.")
    return gettext("This key was not accepted: %(why)s.") % {"why": words.translated(why).text}


def _plan(error: ServiceError, agent: Agent) -> tuple[str, str] | None:
    match error:
        case errors.CouponRefused():
            return "coupon", gettext("This coupon cannot be used here. Leave it empty, or enter another one.")
        case errors.OtherPlanPaid(field="tier"):
            text = gettext("This key pays for the plan %(plan)s. Choose that plan above, then enter the key again.")
            return "license_key", text % {"plan": plan_name(error.paid)}
        case errors.OtherPlanPaid():
            return "license_key", _other_period(error.paid)
        case errors.OtherPlanHeld():
            return "tier", other_plan(subscriptions.licence_of(agent))
        case errors.OtherPlanByCard():
            text = gettext("A card is charged for the plan %(plan)s. Change the plan by card, or cancel that first.")
            return "tier", text % {"plan": plan_name(error.tier)}
        case errors.CardRenews():
            return "provider", gettext("A card is charged for this already: it renews by itself.")
        case EngineBelowMinTier():
            engine = engine_of(agent.engine)
            text = gettext("%(engine)s needs the plan %(plan)s or a larger one.")
            return "tier", text % {"engine": engine.label, "plan": plan_name(engine.min_tier)}
    return None


def _other_period(paid: str) -> str:
    if paid == Period.ANNUAL:
        return gettext("This key pays for a year. Choose a year above, then enter the key again.")
    return gettext("This key pays month by month. Choose a month above, then enter the key again.")


def _way(error: ServiceError, agent: Agent, wanted: WantedRenewal) -> tuple[str, str] | None:
    if text := page.refusal(error):
        return "provider", text
    match error:
        case errors.NotConfigured():
            return "provider", gettext("This way to pay is coming soon. Choose another one.")
        case errors.LicenceHeld():
            return "provider", second_licence(subscriptions.licence_of(agent))
        case errors.MoneySeen():
            return "provider", _money_seen(agent)
        case Unavailable() if wanted.provider in LICENSED:
            text = gettext("%(provider)s does not answer at the moment. Your key is fine as it is: try again soon.")
            return "license_key", text % {"provider": registry.name_of(wanted.provider)}
        case Unavailable():
            return "provider", gettext("This cannot be done at the moment. Nothing was ordered: try again soon.")
    return None


def _money_seen(agent: Agent) -> str:
    pending = orders.pending_of(agent)
    if pending is None:
        return gettext("Another order has just been made. Check it before you pay.")
    text = gettext(
        "Money may be on its way for the order of %(plan)s with %(provider)s. Wait until it is paid or has expired"
        " before you order something else."
    )
    return text % {"plan": plan_name(pending.tier), "provider": way_name(pending.provider)}


def other_plan(licence: Subscription | None) -> str:
    """Why only the licence's own plan can be bought beside a licence."""
    if licence is None or licence.provider is None:
        return _ended()
    text = gettext(
        "A licence of %(provider)s pays for the plan %(plan)s. Change the plan there, or buy more time of"
        " %(plan)s here."
    )
    return text % {"provider": registry.name_of(licence.provider), "plan": plan_name(licence.tier)}


def second_licence(licence: Subscription | None) -> str:
    """Why no second key is accepted beside a licence."""
    if licence is None or licence.provider is None:
        return _ended()
    text = gettext(
        "A licence of %(provider)s pays for this agent already. Change the plan there, or wait until it has ended."
    )
    return text % {"provider": registry.name_of(licence.provider)}


def _ended() -> str:
    """The licence was in the way, but has ended a moment later."""
    return gettext("The licence that paid for this agent has just ended. Look again.")
