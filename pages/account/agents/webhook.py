"""/account/agents/{id}/webhook: the URL that receives the agent's events, a test, and the state of each delivery."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from django.http import HttpResponseBase
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from agents.models import Agent
from catalog.engines import engine_of
from config import waiting
from config.errors import BadRequest, Conflict, ServiceError
from pages.account import words
from pages.account.agents import agent_refusals, event_texts
from pages.account.agents.base import AgentPagePage
from pages.account.looking import without_query
from webhooks import addresses, deliveries, delivery_log, hooks, redelivery, testing
from webhooks.event_types import EventType
from webhooks.models import Delivery, Hook, Problem, State

ON_A_PAGE = 20
STATES: dict[str, Promise] = {
    State.PENDING: _("on its way"),
    State.DELIVERED: _("delivered"),
    State.FAILED: _("failed"),
    State.CANCELED: _("cancelled"),
}
PROBLEMS: dict[str, Promise] = {
    Problem.TIMEOUT: _("It did not answer in time."),
    Problem.DNS: _("Its name was not found."),
    Problem.CONNECT: _("It could not be reached."),
    Problem.TLS: _("Its certificate is not trusted."),
    Problem.ADDRESS_REFUSED: _("Its address is not a public one."),
    Problem.PROTOCOL: _("It did not answer in HTTP."),
    Problem.INTERNAL: _("It was not sent: the fault was ours."),
}
COLOURS = {State.DELIVERED: "running", State.FAILED: "failed"}  # the CSS colours of agents' states


class WebhookPage(AgentPagePage):
    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self._shown(self.own_agent(id))

    def create(self, request: Request, id: str) -> HttpResponseBase:
        """Save the webhook and show its secret, this once only."""
        agent, typed = self.own_agent(id), self.typed("url").strip()
        try:
            with waiting.looks.take(agent.user_id):
                url = addresses.check(typed)
            _hook, secret = hooks.install(agent, url=url, now=timezone.now())
        except ServiceError as refusal:
            return self._shown(agent, typed=typed, problem=_problem(refusal, agent), status=refusal.status)
        return self.page("webhook_secret.html", {"agent": agent, "url": url, "secret": secret})

    def _shown(self, agent: Agent, *, typed: str = "", problem: str = "", status: int = 200) -> HttpResponseBase:
        hook = Hook.objects.filter(agent=agent).first()
        cursor = self.sent.GET.get("deliveries")
        page = delivery_log.page(agent, limit=ON_A_PAGE, cursor=cursor)
        here = f"/account/agents/{agent.pk}/webhook"
        context = {
            "agent": agent,
            "hook": hook,
            "typed": typed or (self._url(hook) if hook else ""),
            "events": [event_texts.TYPES[name] for name in EventType.values],
            "lines": [_line(delivery) for delivery in page.deliveries],
            "going_on": any(one.state == State.PENDING for one in page.deliveries),
            "older": _older(here, page.next_url),
            "paged": cursor is not None,
            "first": f"{here}#deliveries",
            "problem": problem,
        }
        return self.page("webhook.html", context, status=status)

    def _url(self, hook: Hook) -> str:
        return without_query(hook.url) if self.looking else hook.url


class WebhookActPage(WebhookPage):
    """Do one thing with the webhook. If the rule refuses it, the page shows why."""

    def retrieve(self, request: Request, id: str, **named: str) -> HttpResponseBase:
        return self.go(f"/account/agents/{self.own_agent(id).pk}/webhook")

    def create(self, request: Request, id: str, **named: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        try:
            self.act(agent, **named)
        except ServiceError as refusal:
            if refusal.status == 404:
                raise
            return self._shown(agent, problem=_problem(refusal, agent), status=refusal.status)
        return self.go(f"/account/agents/{agent.pk}/webhook#deliveries")

    def act(self, agent: Agent, **named: str) -> None:
        raise NotImplementedError


class WebhookTestPage(WebhookActPage):
    def act(self, agent: Agent, **named: str) -> None:
        """Start a test without waiting: the page shows the result later."""
        testing.start(agent, now=timezone.now())


class RedeliverPage(WebhookActPage):
    def act(self, agent: Agent, **named: str) -> None:
        delivery = redelivery.find(agent, named["delivery"])
        deliveries.resend_or_join(delivery, actor=self.actor(), now=timezone.now())


class WebhookRemovalPage(WebhookActPage):
    def act(self, agent: Agent, **named: str) -> None:
        hooks.remove(agent)


def _line(delivery: Delivery) -> dict[str, Any]:
    return {
        "id": delivery.pk,
        "event": event_texts.TYPES[delivery.event.type],
        "state": STATES[delivery.state],
        "colour": COLOURS.get(State(delivery.state), ""),
        "moment": words.moment(delivery.created_at),
        "attempts": delivery.attempts,
        "status": delivery.http_status,
        "why": PROBLEMS.get(delivery.error, ""),
        "ms": delivery.duration_ms,
        "ended": delivery.state != State.PENDING,
    }


def _older(here: str, next_url: str | None) -> str | None:
    """The API's URL of the next page, as a URL of this page."""
    if next_url is None:
        return None
    cursor = parse_qs(urlsplit(next_url).query)["cursor"][0]
    return f"{here}?{urlencode({'deliveries': cursor})}#deliveries"


def _problem(refusal: ServiceError, agent: Agent) -> str:
    match refusal:
        case BadRequest():
            return gettext(
                "Events cannot be sent there. Enter a public address such as https://example.com/hook, without a"
                " password in it."
            )
        case Conflict() if not Hook.objects.filter(agent=agent).exists():
            return gettext("There is no webhook. Set one first.")
        case Conflict():
            return gettext("This event is still on its way. Wait a minute, then look again.")
    return agent_refusals.text(refusal, engine_of(agent.engine))
