"""/account: the agents and API keys of the person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from secrets import token_urlsafe
from urllib.parse import urlencode

from django.http import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request

from accounts import keys
from accounts.authentication import caller
from accounts.models import KEY_NAME_LENGTH, User
from agents import listing
from agents.models import Agent
from billing import agent_terms
from billing.leaving import closing
from billing.term import Term
from billing.vocabulary import TermMode
from pages.account import key_limits, sign_in_links, words
from pages.account.base import AccountPageViewSet
from pages.account.names import plan_name

ON_A_PAGE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLine:
    agent: Agent
    status: object
    plan: str
    headline: str
    consequence: str
    payable: bool


class AccountPage(AccountPageViewSet):
    shown_in_look = True

    def retrieve(self, request: Request) -> HttpResponseBase:
        return self.shown()

    def shown(self, *, problem: str = "", name: str = "", status: int = 200) -> HttpResponseBase:
        """`problem` is about the new key."""
        user, now = caller(self.request), timezone.now()
        agents, older_agents = self._agents(user, now=now)
        after = self.sent.GET.get("keys")
        live, older_keys = keys.page(user, after=after, size=ON_A_PAGE)
        deletion, typed = closing.of(user), {field: self.typed(field) for field in key_limits.FIELDS}
        context = {
            "closes": words.moment(deletion.closes_at) if deletion else "",
            "agents": agents,
            "older_agents": older_agents,
            "keys": [(key, key_limits.told(key)) for key in live],
            **key_limits.choices(user, typed),
            "limited": any(typed.values()),
            "older_keys": _address(keys=older_keys),
            "paged": {"agents", "keys"} & set(self.sent.GET),
            "once": token_urlsafe(16),
            "problem": problem,
            "name": name,
            "longest": KEY_NAME_LENGTH,
        }
        return self.page("account.html", context, status=status)

    def _agents(self, user: User, *, now: datetime) -> tuple[list[AgentLine], str | None]:
        page = listing.page(user, limit=ON_A_PAGE, cursor=self.sent.GET.get("agents"))
        terms = agent_terms.terms(page.rows, now=now)
        return [line(agent, terms[agent.pk], now=now) for agent in page.rows], _address(agents=page.cursor)


def line(agent: Agent, term: Term, *, now: datetime) -> AgentLine:
    return AgentLine(
        agent=agent,
        status=words.status(agent),
        plan=plan_name(agent.tier),
        headline=words.headline(term, now=now),
        consequence=words.consequence(term, now=now),
        payable=term.mode != TermMode.INTERNAL,
    )


def _address(**cursor: str | None) -> str | None:
    """The URL of the next page of one of the two lists. The other list starts at its beginning."""
    ((name, at),) = cursor.items()
    return f"{sign_in_links.ACCOUNT}?{urlencode({name: at})}#{name}" if at else None
