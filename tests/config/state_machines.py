"""The state machines of this service, and a look through the source for code that assigns their columns."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models import Model

from agents.backups import stages
from agents.backups.models import Backup
from agents.clusters import placement
from agents.clusters.models import Placement
from agents.domains import claims
from agents.models import Agent, AgentQuota, DomainClaim
from agents.running import lifecycle
from agents.watching import quota
from billing import orders, subscriptions
from billing.leaving import closing, exports
from billing.models import AccountDeletion, DataExport, Order, Subscription
from catalog import authoring
from catalog.models import Persona
from config.jobs import row_states
from config.jobs import states as job_states
from config.jobs.models import Job, JobRow
from webhooks import deliveries
from webhooks.models import Delivery

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("accounts", "agents", "billing", "catalog", "config", "pages", "status", "webhooks")
# Calls whose keywords are columns.
CALLS = {"update", "create", "get_or_create", "update_or_create"}
_SET = re.compile(r"(?is)\bUPDATE\s+[\w ]+?\s+SET\s(.*?)(?=\bFROM\b|\bWHERE\b|\bRETURNING\b|\Z)")


@dataclass(frozen=True)
class Machine:
    """`writer` is the only function that assigns the column; `begins` has the states of new rows."""

    model: type[Model]
    column: str
    transitions: Mapping[Any, Set[Any]]
    writer: str
    begins: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.model.__name__}.{self.column}"


MACHINES = (
    Machine(Agent, "status", lifecycle.TRANSITIONS, "agents/running/lifecycle.py _move"),
    Machine(AgentQuota, "status", quota.TRANSITIONS, "agents/watching/quota.py _written"),
    Machine(Backup, "stage", stages.TRANSITIONS, "agents/backups/stages.py move"),
    Machine(Placement, "move", placement.TRANSITIONS, "agents/clusters/placement.py enter"),
    Machine(DomainClaim, "status", claims.TRANSITIONS, "agents/domains/claims.py _move"),
    Machine(Order, "status", orders.TRANSITIONS, "billing/orders.py _move"),
    Machine(Subscription, "status", subscriptions.TRANSITIONS, "billing/subscriptions.py move_to"),
    Machine(DataExport, "state", exports.TRANSITIONS, "billing/leaving/exports.py _move"),
    Machine(AccountDeletion, "stage", closing.TRANSITIONS, "billing/leaving/closing.py _move"),
    Machine(Delivery, "state", deliveries.TRANSITIONS, "webhooks/deliveries.py _move"),
    Machine(Job, "state", job_states.TRANSITIONS, "config/jobs/states.py move"),
    Machine(JobRow, "state", row_states.TRANSITIONS, "config/jobs/row_states.py move"),
    Machine(Persona, "status", authoring.TRANSITIONS, "catalog/authoring.py _move", begins=("draft", "builtin")),
)

# Columns of the agent that are no state of a machine, and the only functions that assign them.
OWNED = {
    "desired": {"agents/running/lifecycle.py _want"},
    "settled_status": {"agents/running/lifecycle.py _move"},
    "paid": {"agents/entitlement.py _set"},
    "entitled_until": {"agents/entitlement.py _set", "agents/entitlement.py give_back"},
    "term_due_at": {
        "billing/dunning.py look_again",
        "agents/running/lifecycle.py delete",
        "agents/entitlement.py give_back",  # in the statement that changes the other times
    },
    "trial_notice_day": {"billing/dunning.py _notice"},
}

# Further code that assigns a column of the same name, and why it may.
ALSO = {
    ("state", "webhooks/outbox.py <module>"): "the outcomes of many pending deliveries, in one statement",
    ("status", "accounts/idempotency.py keep"): "the HTTP status of a reply",
    ("status", "accounts/replies.py keep"): "the HTTP status of a reply",
    ("status", "agents/views/settling.py _body"): "the answer about an agent that is gone",
    ("status", "billing/providers/stripe/cards.py note"): "Stripe's own word",
    ("status", "billing/providers/stripe/disputes.py note"): "Stripe's own word",
    ("status", "catalog/admin.py get_changeform_initial_data"): "the form of a new persona",
    ("status", "catalog/moderation.py take_down_article"): "an article is published or not, as its author likes",
    ("status", "status/watch/automatic.py _reopened"): "an incident goes wherever its writer says, by itself too",
    ("status", "status/watch/automatic.py _tell"): "a copy of the incident's status at that time",
    ("status", "status/watch/automatic.py _works"): "an incident goes wherever its writer says, by itself too",
    ("status", "status/incidents.py tell"): "a copy of the incident's status at that time",
}

# Fields with choices that are no state of a machine.
NO_STATE = {
    *("asset", "category", "group", "home_period", "home_tier", "id", "kind", "lang", "min_tier", "mode"),
    *(
        "network_policies",
        "operation",
        "period",
        "proof",
        "provider",
        "pull_policy",
        "reason",
        "risk",
        "routing",
        "service",
    ),
    *("tier", "type", "why"),
}
# States without a table, and why they need none.
FREE = {
    "Agent.desired": "the owner, an operator or billing may ask for any state at any time",
    "Agent.settled_status": "the last status that was not between two others",
    "Transition.from_status": "what happened",
    "Transition.to_status": "what happened",
    "Pod.phase": "what the cluster shows",
    "InboundMessage.ended": "it ends once",
    "Engine.status": "a fact of the catalog's files",
    "Article.status": "its author publishes it and takes it back",
    "Incident.status": "an operator chooses",
    "IncidentUpdate.status": "what an operator chose",
    "IdempotentReply.status": "an HTTP status",
    "CardSubscription.status": "Stripe's own word",
    "StripeDispute.status": "Stripe's own word",
    "Delivery.error": "why an attempt got no answer",
}


def assigned(columns: Set[str]) -> set[tuple[str, str]]:
    """All code that assigns one of these columns, as (column, `path function`)."""
    found = set()
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        if "migrations" not in path.parts and ROOT / "agents" / "pod" not in path.parents:  # a pod has no database
            found |= set(assigned_in(path.read_text(), columns, name=str(path.relative_to(ROOT))))
    return found


def assigned_in(source: str, columns: Set[str], *, name: str) -> Iterator[tuple[str, str]]:
    yield from _within(ast.parse(source), columns, name=name, function="<module>")


def _within(node: ast.AST, columns: Set[str], *, name: str, function: str) -> Iterator[tuple[str, str]]:
    for child in ast.iter_child_nodes(node):
        inner = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
        yield from ((column, f"{name} {inner}") for column in _columns_of(child) if column in columns)
        yield from _within(child, columns, name=name, function=inner)


def _columns_of(node: ast.AST) -> Iterator[str]:
    """The columns that this node of the syntax tree assigns, without the nodes in it."""
    match node:
        case ast.Attribute(value=ast.Name(id="self")):
            return  # an object of our own: no model changes itself
        case ast.Attribute(attr=column, ctx=ast.Store()):
            yield column
        case ast.Call():
            yield from _columns_of_call(node)
        case ast.Dict(keys=keys, values=values):
            # {"state": ExportState.MADE} is the beginning of an update, {"status": agent.status} is something to show.
            constants = [isinstance(value, ast.Attribute) and ast.unparse(value)[0].isupper() for value in values]
            yield from _words([key for key, constant in zip(keys, constants, strict=True) if key and constant])
        case ast.Constant(value=str(text)):
            yield from _columns_of_sql(text)
        case ast.JoinedStr(values=parts):
            yield from _columns_of_sql("".join(str(part.value) for part in parts if isinstance(part, ast.Constant)))


def _columns_of_call(call: ast.Call) -> Iterator[str]:
    called = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if called in {"setattr", "bulk_update"}:
        yield from _words(call.args)
    if called in CALLS:
        yield from (keyword.arg for keyword in call.keywords if keyword.arg)
    yield from _words([keyword.value for keyword in call.keywords if keyword.arg == "update_fields"])


def _words(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The strings in these nodes."""
    for leaf in (leaf for node in nodes for leaf in ast.walk(node)):
        if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str):
            yield leaf.value


def _columns_of_sql(text: str) -> Iterator[str]:
    for changes in _SET.findall(text):
        yield from re.findall(r"(?:^|,)\s*(\w+)\s*=", changes)
