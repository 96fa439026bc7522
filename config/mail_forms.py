"""Every mail to people: the values that it needs, the page that it links to, and sample values for tests.

The texts are in templates/emails/, one file for each language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from config import links

Values = Mapping[str, Any]


class Why(StrEnum):
    """Why a person gets a mail. Each is a line of templates/emails/frame.<language>.txt."""

    AGENT = "Agent"
    AUTHOR = "Author"
    ACCOUNT = "Account"
    SAID = ""  # the text of the mail says why itself


@dataclass(frozen=True, slots=True, kw_only=True)
class MailForm:
    """A kind of mail.

    `sample` has a value for each name that the mail needs, `cases` has values that change its text.
    """

    sample: Values
    cases: Mapping[str, Values] = field(default_factory=dict)
    why: Why = Why.AGENT
    link: Callable[[Values], str] | None = None
    call: str = ""  # the API call that does the same as the page: a small line for accounts that a program manages
    figure: str = ""  # the name of the value that is shown large
    whole: frozenset[str] = frozenset()  # names of values that keep their line breaks and their length
    may_be_muted: bool = False  # the reader may turn these mails off: they lose nothing by that
    has_support: bool = True

    def values(self, case: str = "") -> Values:
        return {**self.sample, **self.cases.get(case, {})}


_AGENT: Values = {"name": "Night Owl", "agent_id": "agt_SampleSampleSample01"}
_PERSONA: Values = {"name": "Night Owl", "persona_id": "night-owl"}
_REASON: Values = {"reason": "It promises cures.\n\nSay what it can do, and leave medicine to doctors."}
_STOPS: Values = {
    **_AGENT,
    "mode": "paid",
    "stops_at": datetime(2026, 12, 28, 12, tzinfo=UTC),
    "deletes_at": datetime(2027, 1, 4, 12, tzinfo=UTC),
}
_TAKEN: Values = {"spent": "4.10", "limit": "5.00", "until": datetime(2026, 11, 29, tzinfo=UTC)}
_KEY_TAKEN: Values = {**_TAKEN, "key_name": "my driver", "key_id": "key_SampleSampleSample01"}
_SPENDING: Values = {**_AGENT, **_TAKEN}
_PAYMENT: Values = {
    **_AGENT,
    "amount": "5.00 USD",
    "provider": "Stripe",
    "payment_id": "pay_SampleSampleSample01",
    "plan": "Small",
    "yearly": False,
    "bought": True,
    "part": False,
    "paid_till": datetime(2026, 12, 28, 12, tzinfo=UTC),
    "invoice": "2026-000001",
    "invoice_url": "https://pods.example/account/invoices/inv_SampleSampleSample01",
}
_LEAVING: Values = {"closes_at": datetime(2026, 12, 28, 12, tzinfo=UTC), "days": 7}
_NO_INVOICE: Values = {"invoice": "", "invoice_url": ""}
_DOMAIN: Values = {**_AGENT, "domain": "owl.example.com", "value": "agentpods-verify=SampleSampleSample"}
_NEWS: Values = {"title": "A night of maintenance", "text": "On Sunday agents may pause.\n\nTheir data stays."}
_WHOLE = frozenset({"reason", "invoice_url"})


def _renew(values: Values) -> str:
    return links.renew(values["agent_id"])


def _limited(values: Values) -> str:
    return links.agent(values["agent_id"])


def _all_limited(values: Values) -> str:
    return links.limits()


def _keys(values: Values) -> str:
    return f"{links.account()}#keys"


def _payment(values: Values) -> str:
    """A payment has a page even after its agent is deleted."""
    return links.payment(values["payment_id"])


def _domain(values: Values) -> str:
    return links.domain(values["agent_id"])


def _personas(values: Values) -> str:
    return links.personas()


FORMS: Mapping[str, MailForm] = {
    "sign_in_code": MailForm(
        sample={"code": "123456", "email": "ann@example.com", "minutes": 10},
        why=Why.SAID,
        figure="code",
        has_support=False,
    ),
    "pod_stops": MailForm(
        sample={**_STOPS, "days": 3},
        cases={"free time": {"mode": "trial"}, "tomorrow": {"days": 1}},
        link=_renew,
        may_be_muted=True,
    ),
    "pod_stopped": MailForm(sample={**_STOPS, "days": 0}, cases={"free time": {"mode": "trial"}}, link=_renew),
    "paid_time_ends": MailForm(sample={**_AGENT, "ends_at": datetime(2026, 12, 28, 12, tzinfo=UTC)}, link=_renew),
    "renewal_failed": MailForm(
        sample={
            **_AGENT,
            "provider": "Stripe",
            "stops_at": datetime(2026, 12, 28, 12, tzinfo=UTC),
            "invoice_url": "https://pay.example/invoice/sample",
        },
        cases={
            "no invoice link": {"invoice_url": ""},
            "no invoice link, no stop date": {"stops_at": "", "invoice_url": ""},
        },
        link=_renew,
        whole=_WHOLE,
    ),
    "payment_received": MailForm(
        sample=_PAYMENT,
        cases={"a year": {"yearly": True}, "bought nothing": {"bought": False}, "no invoice": _NO_INVOICE},
        link=_payment,
        whole=_WHOLE,
    ),
    "payment_refunded": MailForm(
        sample=_PAYMENT,
        cases={"partial refund": {"bought": False, "part": True}, "bought nothing": {"bought": False, **_NO_INVOICE}},
        link=_payment,
        whole=_WHOLE,
    ),
    "channel_silent": MailForm(
        sample={**_AGENT, "channel": "Telegram", "since": datetime(2026, 11, 26, 12, tzinfo=UTC)},
        link=lambda values: links.channels(values["agent_id"]),
        call="GET {base}/agents/{agent_id}/explain, PUT {base}/agents/{agent_id}/channels",
        may_be_muted=True,
    ),
    "account_spending_near": MailForm(sample=_TAKEN, link=_all_limited, call="PUT {base}/me/limits"),
    "account_spending_reached": MailForm(sample=_TAKEN, link=_all_limited, call="PUT {base}/me/limits"),
    "spending_near": MailForm(sample=_SPENDING, link=_limited, call="PUT {base}/agents/{agent_id}/limits"),
    "spending_reached": MailForm(sample=_SPENDING, link=_limited, call="PUT {base}/agents/{agent_id}/limits"),
    "key_spending_near": MailForm(sample=_KEY_TAKEN, link=_keys, call="PUT {base}/keys/{key_id}/limits"),
    "key_spending_reached": MailForm(sample=_KEY_TAKEN, link=_keys, call="PUT {base}/keys/{key_id}/limits"),
    "domain_lapsed": MailForm(sample=_DOMAIN, link=_domain, call="PUT {base}/agents/{agent_id}/domain"),
    "domain_lost": MailForm(sample=_DOMAIN, link=_domain, call="PUT {base}/agents/{agent_id}/domain"),
    "persona_taken_down": MailForm(
        sample={**_PERSONA, **_REASON},
        why=Why.AUTHOR,
        link=lambda values: links.persona(values["persona_id"]),
        call="PATCH {base}/personas/{persona_id}, POST {base}/personas/{persona_id}/publish",
        whole=_WHOLE,
    ),
    "article_taken_down": MailForm(
        sample={**_PERSONA, **_REASON, "title": "How owls work at night", "slug": "how-owls-work"},
        why=Why.AUTHOR,
        link=lambda values: links.article(values["persona_id"], values["slug"]),
        call="PATCH {base}/personas/{persona_id}/articles/{slug}",
        whole=_WHOLE,
    ),
    "author_banned": MailForm(
        sample={**_REASON, "names": ["Day Owl", "Night Owl"]},
        cases={"nothing published": {"names": []}},
        why=Why.AUTHOR,
        link=_personas,
        whole=_WHOLE,
    ),
    "author_ban_lifted": MailForm(sample={}, why=Why.AUTHOR, link=_personas, has_support=False),
    # Texts that operators write in the console (status/announcements).
    "announcement": MailForm(sample=_NEWS, why=Why.ACCOUNT, whole=frozenset({"text"}), may_be_muted=True),
    "notice": MailForm(sample=_NEWS, why=Why.ACCOUNT, whole=frozenset({"text"})),
    "data_export_ready": MailForm(sample={"days": 7}, why=Why.ACCOUNT, link=lambda values: links.data()),
    "account_deletion_asked": MailForm(sample=_LEAVING, why=Why.SAID, link=lambda values: links.deletion()),
    "account_deletion_called_off": MailForm(sample=_LEAVING, why=Why.ACCOUNT, link=lambda values: links.account()),
    "account_deleted": MailForm(sample=_LEAVING, why=Why.SAID),
}
