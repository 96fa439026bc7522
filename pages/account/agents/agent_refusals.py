"""Why an agent was not created or changed, in plain words."""

from __future__ import annotations

import re

from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from accounts.replies import OtherBody, StillRunning
from agents import errors
from catalog.engines import EngineBelowMinTier
from catalog.models import Engine
from config.errors import RateLimited, ServiceError, Unavailable
from config.operator_settings import operator_settings
from pages.account.names import plan_name


def text(refusal: ServiceError, engine: Engine) -> str:
    """The reason in the person's language, or the API's English message if there is no translation."""
    return _rule(refusal, engine) or _for_now(refusal) or _field(refusal) or refusal.message


def _rule(refusal: ServiceError, engine: Engine) -> str:
    match refusal:
        case errors.FreePodCapReached():
            most = operator_settings.MAX_FREE_AGENTS
            words = ngettext(
                "You have %(count)d free agent and may not have more. Pay for it or delete it first.",
                "You have %(count)d free agents and may not have more. Pay for one or delete one first.",
                most,
            )
            return words % {"count": most}
        case errors.TrialsUsedUp():
            words = gettext("You have used your free trials. The next one may begin on %(day)s.")
            return words % {"day": date_format(refusal.again, "DATE_FORMAT")}
        case errors.AboveTrialTier():
            return gettext("This plan is for agents that are paid for. Begin with a smaller one: you can change later.")
        case EngineBelowMinTier():
            words = gettext("%(engine)s needs the plan %(plan)s or a larger one.")
            return words % {"engine": engine.label, "plan": plan_name(engine.min_tier)}
    return ""


def _for_now(refusal: ServiceError) -> str:
    """Refusals that may be over if the person tries again later."""
    match refusal:
        case errors.CreatesClosed():
            return gettext("No agents can be created at the moment. Please try again later.")
        case errors.NoFreePlaceLeft():
            return gettext("All free places are taken at the moment. Please try again later.")
        case StillRunning():
            return gettext("This agent is being created already. Wait a moment, then look at your account.")
        case OtherBody():
            return gettext("This form has already created an agent. Send it once more to create another one.")
        case RateLimited():
            return gettext("Too many tries. Please wait a minute.")
        case Unavailable():
            return gettext("This cannot be done at the moment. Try again in a minute.")
    return ""


_KEY = _("The provider does not take this key. Copy the whole key and enter it again.")
_PROVIDER = _("Choose the provider that your key is from.")
_SECRET = _("Something that is needed is missing or wrong: fill in all fields of what you have chosen.")
# By the field at the beginning of the API's message.
FIELDS: dict[str, Promise] = {
    "llmKey": _KEY,
    "key": _KEY,
    "llmProvider": _PROVIDER,
    "provider": _PROVIDER,
    "channelSecrets": _SECRET,
    "secrets": _SECRET,
    "model": _("This model is from another provider than the key. Choose one of the key's provider."),
    "domain": _("This engine needs a domain of your own that is not in use, such as agent.example.com."),
    "timezone": _("Choose a time zone from the list, such as Europe/Berlin."),
    "extraSoul": _("These instructions are too long."),
    "name": _("Enter a shorter name, all on one line."),
}


def _field(refusal: ServiceError) -> str:
    return str(FIELDS.get(re.split("[:.]", refusal.message, maxsplit=1)[0], ""))
