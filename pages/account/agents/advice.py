"""What is wrong with an agent, in plain words, with a button that helps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from agents.cause import Cause
from agents.errors import renew_url
from agents.models import Agent
from agents.watching.causes import ACCOUNT_LIMITS, Explanation
from config.operator_settings import operator_settings
from pages.account import words

BY_PEOPLE = {Cause.OPERATOR, Cause.SUSPENDED}  # only operators know the reason
# By the API call that helps: the page below the agent's own page, and the label of its button.
PLACES: dict[tuple[str, str], tuple[str, Promise]] = {
    ("PATCH", "/llm-key"): ("/model-key", _("Enter a model key")),
    ("POST", "/resume"): ("/resume", _("Start it again")),
    ("POST", "/rebuild"): ("/rebuild", _("Rebuild it")),
    ("PUT", "/channels"): ("/channels", _("Channels")),
    ("PUT", "/domain"): ("/domain", _("Domain")),
    ("GET", "/domain-check"): ("/domain", _("Domain")),
    ("POST", "/talk-test"): ("/talk-test", _("Test it")),
    ("POST", "/backups"): ("/backups", _("Backups")),
    ("PUT", "/limits"): ("/limits", _("Change its limits")),
    ("GET", "/quota"): ("/usage", _("See what it uses")),
    ("PATCH", ""): ("/free-plan", _("Take a larger plan")),
    ("GET", "/liveness"): ("", _("Look again")),
    ("GET", ""): ("", _("Look again")),
}
BY_FORM = {"/resume", "/talk-test"}  # these buttons are forms, the others are links


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """`act` is the last part of the URL."""

    href: str
    label: Promise
    is_form: bool
    act: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    cause: str
    remedy: str
    button: Button | None


def each(told: Explanation, agent: Agent) -> Iterator[Advice]:
    """The advice for each cause, the most urgent first. A button that several causes share is shown once."""
    offered: set[str] = set()
    for one in (told, *told.others):
        button = button_for(one.next, agent)
        if button and button.href in offered:
            button = None
        offered |= {button.href} if button else set()
        yield Advice(cause=words.cause(one), remedy=_remedy(one, agent), button=button)


def button_for(call: str | None, agent: Agent) -> Button | None:
    """The button for this API call. None if there is nothing to do."""
    if call is None:
        return None
    if call == renew_url(agent.pk):
        return Button(href=f"/renew/{agent.pk}", label=_("Pay"), is_form=False, act="renew")
    if call == ACCOUNT_LIMITS:
        return Button(href="/account/limits", label=_("Change your limits"), is_form=False, act="account-limits")
    place, label = PLACES[_parts(call, agent)]
    return Button(href=f"/account/agents/{agent.pk}{place}", label=label, is_form=place in BY_FORM, act=place[1:])


def _parts(call: str, agent: Agent) -> tuple[str, str]:
    """The HTTP method, and the path after the agent's own path. The query is left out."""
    method, _space, path = call.partition(" ")
    return method, path.partition("?")[0].removeprefix(f"/agents/{agent.pk}")


def _remedy(told: Explanation, agent: Agent) -> str:
    remedy = words.remedy(told, agent.pk)
    if told.cause in BY_PEOPLE and operator_settings.SUPPORT_EMAIL:
        asking = gettext("Write to %(address)s to ask why.") % {"address": operator_settings.SUPPORT_EMAIL}
        return f"{remedy} {asking}".strip()
    return remedy
