"""`?dryRun=true`: every call that writes answers as it would, and nothing at all is changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from django.core import mail
from django.db import connection, transaction
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts import throttling
from accounts.models import IdempotentReply, User
from agents.backups.models import Backup, Kind, Repository, Stage
from agents.models import Agent, Reason
from agents.running import lifecycle
from billing.models import Subscription
from billing.providers.stripe import customers
from catalog import snapshot
from config import dry_run, sql, waiting
from config.redis import client as redis_client
from tests.agents.conftest import PERSONA, MakeAgent, settle, signed_in
from tests.agents.replay.conftest import stored
from tests.billing.conftest import Clock, Pay, tick
from tests.billing.licences import KEY
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.stripe_server import StripeDouble
from webhooks import testing
from webhooks.models import Delivery, State

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]

Document = dict[str, Any]
RECEIVER = "https://203.0.114.7/events"
OWL = {
    "name": "Owl", "tagline": "Company", "forWho": "People", "does": ["Talks"], "category": "social", "tier": "tiny",
    "soul": "You are Owl.",
}  # fmt: skip
ARTICLE = {"title": "Night", "lang": "en", "status": "published", "body": "# Night"}

# What each call sends; None is no body. The names in its path are those of `Things`.
SENDS: dict[str, dict[str, Any] | None] = {
    "createAgent": {"personaId": PERSONA, "tier": "tiny", "webhookUrl": RECEIVER, "domain": "new.example.org",
                    "llmProvider": "openai", "llmKey": "sk-0123456789abcdef"},
    "updateAgent": {"name": "Another"},
    "deleteAgent": None,
    "setAgentA2a": {"enabled": True},
    "deleteAgentBackup": None,
    "restoreAgentBackup": None,
    "setAgentChannels": {"channels": ["web"]},
    "setAgentDomain": {"domain": "other.example.org"},
    "deleteAgentDomain": None,
    "updateAgentLlmKey": {"provider": "openai", "key": "sk-0123456789abcdef"},
    "deleteAgentLlmKey": None,
    "pauseAgent": None,
    "rebuildAgent": None,
    "resumeAgent": None,
    "setAgentLimits": {"usdPerDay": 5, "stopped": True},
    "setAgentReplay": {"recording": False},
    "deleteAgentReplay": None,
    "setAccountLimits": {"usdPerDay": 5, "stopped": True},
    "setAgentEgress": {"allowList": "on", "hosts": ["example.com"]},
    "setAgentEgressSecret": {"hosts": ["example.com"], "header": "X-Key", "value": "0123456789"},
    "deleteAgentEgressSecret": None,
    "setAgentTools": {"enabled": [], "mcpServers": []},
    "setAgentWebhook": {"url": RECEIVER},
    "deleteAgentWebhook": None,
    "endSession": None,
    "setBillingDetails": {"name": "Ann", "country": "DE"},
    "createKey": {"name": "another"},
    "setKeyLimits": {"usdPerDay": 5},
    "deleteKey": None,
    "setAuthor": {"name": "Ann"},
    "createPersona": OWL,
    "updatePersona": {"tagline": "Warm company"},
    "deletePersona": None,
    "publishPersona": None,
    "unpublishPersona": None,
    "createPersonaArticle": {**ARTICLE, "slug": "day"},
    "updatePersonaArticle": {"title": "Late night"},
    "deletePersonaArticle": None,
    "createCryptoOrder": {"agentId": "{spare}", "asset": "usdc", "period": "monthly"},
    "createStarsOrder": {"agentId": "{spare}", "period": "monthly"},
    "createStripeOrder": {"agentId": "{spare}", "period": "annual", "tier": "small"},
    "cancelSubscription": None,
    "createSubscriptionMove": {"agentId": "{spare}"},
    "setSubscriptionNextPlan": {"tier": "tiny"},
    "deleteSubscriptionNextPlan": None,
    "createAgentBackup": None,
    "createAgentTicket": None,
    "redeliverAgentWebhookDelivery": None,
    "testAgentWebhook": None,
    "openStripePortal": None,
    "createSubscription": {"agentId": "{spare}", "period": "monthly", "provider": "gumroad", "licenseKey": KEY},
}  # fmt: skip


COSTS = {"createCryptoOrder": "usd=5.00", "createStarsOrder": "usd=5.00", "createStripeOrder": "usd=90.0"}

# These wait for a pod or a receiver, and `Things` has none. So their dry runs are compared with what is documented.
WAITED = {
    "createAgentBackup": {"backup": {"name": "", "size": 0, "createdAt": ""}},
    "redeliverAgentWebhookDelivery": {"delivery": {"ok": False, "status": None, "attempts": 0, "error": ""}},
    "testAgentWebhook": {"delivery": {"ok": False, "status": None, "attempts": 0, "error": ""}},
}


@dataclass
class Things:
    """One of everything that the calls are about."""

    client: APIClient
    agent: str  # it runs, is paid, and has a domain, a webhook and a backup
    spare: str  # it is stopped
    left: str  # the subscription of a deleted agent
    subscription: str
    persona: str
    key: str
    delivery: str  # it has failed

    def path(self, path: str, operation: str) -> str:
        if path.startswith("/agents"):
            named = self.spare if operation == "resumeAgent" else self.agent
        elif path.startswith("/subscriptions"):
            named = self.left if operation == "createSubscriptionMove" else self.subscription
        else:
            named = self.key if path.startswith("/keys") else self.persona
        backup_or_secret = "TOKEN" if "/egress/" in path else "20260101-000000-000000"
        for name, value in (
            ("id", named),
            ("name", backup_or_secret),
            ("slug", "night"),
            ("delivery", self.delivery),
        ):
            path = path.replace(f"{{{name}}}", value)
        return path.replace("{provider}", "gumroad")

    def body(self, operation: str) -> dict[str, Any]:
        given = SENDS.get(operation) or {}
        return {name: self.spare if value == "{spare}" else value for name, value in given.items()}


@pytest.fixture
def things(clock: Clock, owner: User, make_agent: MakeAgent, pay: Pay, settings: Settings) -> Things:
    settings.BACKUP_STORE = "/kept"
    client = signed_in(owner)
    agent, spare, gone = (settle(make_agent()) for _ in range(3))
    pay(agent, tier="small", price_usd=Decimal(10))
    pay(gone, external_id="two")
    lifecycle.delete(Agent.objects.get(pk=gone.pk), actor="user:x")
    lifecycle.pause(spare, reason=Reason.OWNER, actor="user:x")
    for one in (agent, spare, gone):
        tick(one, clock)
    _back_up(agent)
    persona = client.post("/personas", OWL, format="json").json()["persona"]["id"]
    client.post(f"/personas/{persona}/articles", {**ARTICLE, "slug": "night"}, format="json")
    client.put(f"/agents/{agent.pk}/domain", {"domain": "bot.example.org"}, format="json")
    client.put(f"/agents/{agent.pk}/webhook", {"url": RECEIVER}, format="json")
    token = {"hosts": ["example.com"], "header": "X-Key", "value": "0123456789"}
    client.put(f"/agents/{agent.pk}/egress/secrets/TOKEN", token, format="json")
    key = client.post("/keys", {"name": "one", "scopes": ["operate"]}, format="json").json()["key"]["id"]
    delivery = testing.start(agent, now=timezone.now())
    Delivery.objects.filter(pk=delivery).update(state=State.FAILED, finished_at=timezone.now())
    bought = Subscription.objects.exclude(provider="internal")
    left, subscription = bought.get(agent=gone).pk, bought.get(agent=agent).pk
    return Things(client, agent.pk, spare.pk, left, subscription, persona=persona, key=key, delivery=delivery)


@pytest.fixture
def sold(gumroad: GumroadServer, stripe: StripeDouble, owner: User) -> None:
    """A licence key, and the account's customer at Stripe."""
    gumroad.sell(KEY)
    customers.customer_of(owner, now=timezone.now())


def _back_up(agent: Agent) -> None:
    now = timezone.now()
    Repository.objects.create(agent=agent, password="x", made_at=now)  # a test's
    Backup.objects.create(
        agent=agent, name="20260101-000000-000000", kind=Kind.NIGHTLY, namespace=agent.namespace, generation=1,
        actor="nights", stage=Stage.DONE, asked_at=now, taken_at=now, ended_at=now, snapshot="abc", size=5_000_000,
    )  # fmt: skip


def writing(document: Document, *, tried: bool) -> Iterator[tuple[str, str, str]]:
    """Method, path and name of the calls that write and can, or cannot, be tried."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            named = {parameter["name"] for parameter in operation.get("parameters", [])}
            if method != "get" and (dry_run.PARAMETER in named) is tried:
                yield method.upper(), path, operation["operationId"]


def everything() -> dict[str, Any]:
    """A digest of each table, what waits for the commit, mails, and what is in Redis but counts of calls."""
    tables = connection.introspection.table_names()
    digest = "md5(string_agg(t::text, ',' ORDER BY t::text))"
    each = (f"SELECT '{one}', {digest} FROM \"{one}\" t" for one in tables)
    found: dict[str, Any] = dict(sql.rows(" UNION ALL ".join(each), []))
    names = {key for key in redis_client().keys("*") if b"throttle" not in key}
    return {**found, "on commit": len(connection.run_on_commit), "mails": len(mail.outbox), "redis": names}


def shape(answer: Any) -> Any:
    """The names and types in a body."""
    if isinstance(answer, dict):
        return {name: shape(value) for name, value in answer.items()}
    return [shape(one) for one in answer] if isinstance(answer, list) else type(answer).__name__


def call(things: Things, method: str, path: str, body: Any, **headers: str) -> Any:
    return things.client.generic(method, path, json.dumps(body), "application/json", headers=headers)


@pytest.mark.usefixtures("coins", "telegram", "sold")
def test_each_call_that_writes_can_be_tried_and_changes_nothing(document: Document, things: Things) -> None:
    assert {name for _, _, name in writing(document, tried=True)} == set(SENDS)
    before = everything()
    for method, path, name in writing(document, tried=True):
        at, body = things.path(path, name), things.body(name)
        dry = call(things, method, f"{at}?dryRun=true", body)
        assert dry.status_code in {200, 204}, (name, dry.content)
        assert (dry["Dry-Run"], dry["Dry-Run-Cost"][:8]) == ("true", COSTS.get(name, "usd=0.00")), name
        after = everything()
        assert {key for key in after if after[key] != before[key]} == set(), name
        if name in WAITED:
            assert shape(dry.json()) == shape(WAITED[name]), name
            continue
        with transaction.atomic():
            real = call(things, method, at, body)
            transaction.set_rollback(True)
        assert (real.status_code, real.has_header("Dry-Run")) == (dry.status_code, False), (name, real.content)
        assert real.status_code == 204 or shape(dry.json()) == shape(real.json()), name


MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")
# They need a pod, a place of backups, a query, a published persona, an order or an invoice: `Things` has none.
NOT_READ = {
    "checkDomain", "getAgentBackup", "getAgentMemory", "getCryptoOrder", "getInvoice", "getInvoicePdf", "getPersona",
    "getPersonaArticle", "getStarsOrder", "getStripeOrder", "getSubscriptionQuote", "verifyWhatsappWebhook",
}  # fmt: skip


def moments(body: Any) -> Iterator[str]:
    """The times in an answer, whatever they are called."""
    if isinstance(body, str):
        yield from MOMENT.findall(body) if MOMENT.fullmatch(body) else ()
    elif isinstance(body, dict | list):
        for value in body.values() if isinstance(body, dict) else body:
            yield from moments(value)


@pytest.mark.usefixtures("coins", "telegram", "sold")
def test_each_time_in_each_answer_is_utc_and_ends_with_z(document: Document, things: Things) -> None:
    stored(Agent.objects.get(pk=things.agent), 1)
    found = {}
    for path, methods in document["paths"].items():
        if "get" in methods and "{" not in path.replace("{id}", "").replace("{name}", "").replace("{slug}", ""):
            name = methods["get"]["operationId"]
            answer = things.client.get(things.path(path, name))
            is_json = answer.headers.get("Content-Type", "").startswith("application/json")
            found[name] = answer.status_code, list(moments(answer.json())) if is_json else []
    for method, path, name in writing(document, tried=True):
        dry = call(things, method, f"{things.path(path, name)}?dryRun=true", things.body(name))
        found[name] = dry.status_code, list(moments(dry.json())) if dry.content else []
    assert {name for name, (status, _) in found.items() if status >= 400} == NOT_READ
    assert [name for name, (_, times) in found.items() if not all(time.endswith("Z") for time in times)] == []
    assert {"setAgentEgressSecret", "getAgentEgress", "listAgentReplay"} <= {name for name in found if found[name][1]}
    assert sum(bool(times) for _, times in found.values()) > 30


def test_a_dry_run_says_what_an_agent_would_cost_and_what_was_not_checked(things: Things) -> None:
    answer = call(things, "POST", "/agents?dryRun=true", SENDS["createAgent"])
    assert answer["Dry-Run-Cost"] == "usd=0.00, monthly=5.00"
    assert answer["Dry-Run-Skipped"] == "webhookUrl (DNS), domain (DNS), llmKey (its provider)"


def test_what_would_be_refused_is_refused_in_the_same_words(things: Things) -> None:
    wrong: tuple[tuple[str, str, Any], ...] = (
        ("POST", "/agents", {"personaId": PERSONA, "tier": "huge"}),
        ("POST", "/agents", {"personaId": PERSONA, "tier": "tiny", "webhookUrl": "http://127.0.0.1/"}),
        ("POST", f"/agents/{things.agent}/backups/none/restore", {}),
        ("PUT", f"/agents/{things.agent}/tools", {"enabled": ["nothing"], "mcpServers": []}),
        ("DELETE", "/agents/agt_none", {}),
        ("POST", "/agents", []),
    )
    for method, path, body in wrong:
        answers = [call(things, method, f"{path}{query}", body) for query in ("", "?dryRun=true")]
        assert answers[0].status_code >= 400
        assert answers[0].content == answers[1].content
    stale = {"If-Match": '"somebody-else-was-here"'}
    assert call(things, "POST", f"/agents/{things.agent}/pause?dryRun=true", {}, **stale).status_code == 412


def test_what_somebody_may_have_meant_as_a_dry_run_is_never_done(things: Things) -> None:
    before = everything()
    queries = ("dryRun", "dryRun=", "dryRun=1", "dryRun=True", "dryRun=yes", "dryRun=true&dryRun=false", "dry_run=true",
               "dryrun=true", "dryRun[]=true", "DRY-RUN=true", f"dryRun={'x' * 5_000}", "dryRun=true%00",
               "dryRun%20=true", "dryRun%00=true", "+dryRun=true", "x=1&amp;dryRun=true")  # fmt: skip
    for query in queries:
        for at, method in ((f"/agents/{things.agent}", "DELETE"), ("/keys", "POST")):
            answer = call(things, method, f"{at}?{query}", {"name": "one"})
            assert (answer.status_code, "dryRun" in answer.json()["message"]) == (400, True), query
            assert len(answer.json()["message"]) < 200
    assert everything() == before
    assert call(things, "POST", "/keys?dryRun=false", {"name": "one"}).status_code == 200
    assert things.client.get("/keys?dryRun=nonsense").status_code == 200


@pytest.mark.parametrize("name", ["dryRun", "dry_run", "dryrun", "dry-run"])
def test_a_dry_run_that_is_asked_for_in_the_body_is_refused_not_ignored(things: Things, name: str) -> None:
    before = everything()
    for at, method in (
        (f"/agents/{things.agent}/pause", "POST"),
        ("/keys", "POST"),
        (f"/agents/{things.agent}", "PATCH"),
    ):
        answer = call(things, method, at, {"name": "one", name: True})
        words = f"{name}: stands in the address, not in the body: ?dryRun=true"
        assert (answer.status_code, answer.json()["message"]) == (400, words)
    assert everything() == before


def test_a_call_that_is_nothing_without_its_effect_refuses(document: Document, things: Things) -> None:
    before = everything()
    refusing = list(writing(document, tried=False))
    assert len(refusing) == 10
    for method, path, name in refusing:
        answer = call(things, method, f"{things.path(path, name)}?dryRun=true", {})
        told = answer.json()["message"]
        assert answer.status_code == 400 or name == "createPaymentStarsCallback", (name, told)
        assert told.startswith("dryRun: this call cannot be tried") or answer.status_code == 401, name
    assert everything() == before


def test_a_key_of_idempotency_that_would_be_refused_is_refused(things: Things) -> None:
    headers = {"Idempotency-Key": "x" * 256}
    refused = call(things, "POST", "/agents?dryRun=true", {"personaId": PERSONA, "tier": "tiny"}, **headers)
    assert (refused.status_code, refused.json()["message"][:16]) == (400, "Idempotency-Key:")


def test_no_key_of_idempotency_is_kept(things: Things) -> None:
    body = {"personaId": PERSONA, "tier": "tiny"}
    dry = call(things, "POST", "/agents?dryRun=true", body, **{"Idempotency-Key": "once", "Prefer": "wait=60"})
    assert (dry.status_code, dry.streaming, IdempotentReply.objects.count()) == (200, False, 0)
    assert things.client.get(f"/agents/{dry.json()['agent']['id']}").status_code == 404


def test_a_persona_that_was_published_for_a_try_is_seen_by_nobody(things: Things) -> None:
    def publish_and_look() -> None:
        things.client.post(f"/personas/{things.persona}/publish")
        assert things.persona not in snapshot._holder.look().personas

    dry_run.tried(publish_and_look)
    assert things.client.get(f"/personas/{things.persona}").status_code == 404


def test_nobody_is_asked_during_a_dry_run() -> None:
    with pytest.raises(dry_run.NoDryRun):
        dry_run.tried(lambda: waiting.turns.take("usr_1").__enter__())


@pytest.mark.sampled
def test_a_dry_run_is_no_way_around_a_limit(things: Things) -> None:
    path, seen = f"/subscriptions/{things.subscription}/next-plan?dryRun=true", set()
    for _ in range(200):
        seen.add(call(things, "PUT", path, {"tier": "tiny"}).status_code)
        if 429 in seen:
            break
    throttling.forget_local()
    assert seen == {200, 429}
