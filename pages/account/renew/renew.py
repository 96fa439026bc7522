"""/renew/{id}: where a person pays for an agent (`renewUrl` in docs/spec.md: AgentTerm)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request

from agents.errors import NoSuchAgent
from agents.models import Agent
from billing import renewal, subscriptions
from config import clock
from config.errors import ServiceError
from pages.account.agents.base import AgentPagePage
from pages.account.renew import bills, choices, payment_state, refusals
from pages.account.renew.bills import Bill
from pages.account.renew.choices import Chosen
from pages.account.renew.refusals import FormRefusal
from pages.frame import stamped

FIELDS = ("tier", "period", "provider", "coupon")


class RenewPage(AgentPagePage):
    """For the agent's owner only. Other people can pay an order with its address or invoice, without this page."""

    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        """Show the page. A choice in the query shows its costs and changes nothing."""
        agent, now = self.own_agent(id), timezone.now()
        given = {name: self.sent.GET[name] for name in FIELDS if name in self.sent.GET}
        chosen = choices.read(agent, given)
        if not given:
            return self.shown(agent, chosen)
        bill, refusal = _bill(agent, chosen, now=now)
        return self.shown(agent, chosen, sent=True, bill=bill, refusal=refusal)

    def create(self, request: Request, id: str) -> HttpResponseBase:
        """Order or activate what was chosen. Sending the same form again changes nothing more."""
        agent, now = self.own_agent(id), clock.now()
        chosen = choices.read(agent, {name: self.sent.POST.get(name, "") for name in FIELDS})
        if chosen.wanted is None:
            return self.shown(agent, chosen, sent=True)
        key = self.sent.POST.get("license_key", "")
        try:
            choices.refuse_unreadable(chosen.wanted, key)
            renewal.renew(agent, chosen.wanted, license_key=key, actor=self.actor(), now=now)
        except NoSuchAgent:
            raise
        except ServiceError as error:
            refusal = refusals.form_refusal(error, agent, chosen.wanted)
            bill, _ = _bill(agent, chosen, now=now)
            return self.shown(agent, chosen, sent=True, bill=bill, refusal=refusal, key=key)
        return self.go(f"/renew/{agent.pk}")

    def shown(
        self,
        agent: Agent,
        chosen: Chosen,
        *,
        sent: bool = False,
        bill: Bill | None = None,
        refusal: FormRefusal | None = None,
        key: str = "",
    ) -> HttpResponseBase:
        """The whole page. `sent` is True if the person has chosen something."""
        now_there = payment_state.context(agent, now=timezone.now())
        status = refusal.status if refusal else 400 if chosen.problems else 200
        context: dict[str, Any] = {
            **now_there,
            "chosen": chosen,
            "problems": chosen.problems,
            "refusal": refusal,
            "coupon_problem": refusal.text if refusal and refusal.field == "coupon" else "",
            "key_problem": refusal.text if refusal and refusal.field == "license_key" else "",
            "plans": choices.plans(agent),
            "ways": choices.ways(agent),
            "licensed": subscriptions.licence_of(agent) is not None,
            "bill": bill,
            "shop": choices.shop(agent, chosen.wanted) if sent and chosen.wanted else None,
            "license_key": key[: choices.LONGEST_KEY],
            "choosing": sent or now_there["state"] == "quiet",
            "renew_sheet": stamped("billing/renew.css"),
            "renew_script": stamped("billing/renew.js"),
        }
        return self.page("renew.html", context, status=status)


def _bill(agent: Agent, chosen: Chosen, *, now: datetime) -> tuple[Bill | None, FormRefusal | None]:
    if chosen.wanted is None:
        return None, None
    try:
        return bills.bill(agent, chosen.wanted, now=now), None
    except NoSuchAgent:
        raise
    except ServiceError as error:
        return None, refusals.form_refusal(error, agent, chosen.wanted)
