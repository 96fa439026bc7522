"""The auditor: turns evidence into findings, each a sentence with the rule and the agent. It trusts nobody."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

from agents.models import Agent
from tests.crash.evidence import Evidence, all_events
from tests.crash.machine_state import BRIDGE, ENGINE, GATEWAY, SeenProcess

Findings = Iterator[str]

# The life cycle in docs/spec.md, written a second time on purpose.
LEGAL = {
    "provisioning": {"running", "failed", "stopped", "deleted"},
    "running": {"provisioning", "stopped", "failed", "deleted"},
    "stopped": {"provisioning", "deleted"},
    "failed": {"provisioning", "running", "stopped", "deleted"},
    "deleted": set[str](),
}
TOLD = {"running", "stopped", "failed", "deleted"}
INNER_PORTS = ("management_port", "llm_port", "bridge_port")


def audit(evidence: Evidence) -> list[str]:
    """Everything that is wrong once the service has come to rest."""
    return [finding for rule in RULES for finding in rule(evidence)]


# The database alone.


def unsettled(evidence: Evidence) -> Findings:
    for agent in evidence.agents.values():
        if agent.status == "provisioning" and agent.deadline_at and agent.deadline_at < evidence.now:
            yield f"deadline: {agent.pk} is provisioning past {agent.deadline_at:%H:%M:%S}"
        if agent.status == "failed" and agent.desired == "running":
            yield f"failed: {agent.pk} ended failed, {agent.cause}: {agent.cause_message}"
        elif agent.status != agent.desired:
            yield f"unsettled: {agent.pk} is {agent.status}, wanted {agent.desired}"
        if agent.reconcile_at or agent.lease_until:
            yield f"unsettled: {agent.pk} is due {agent.reconcile_at} and leased until {agent.lease_until}"


def illegal_timelines(evidence: Evidence) -> Findings:
    for agent in evidence.agents.values():
        rows = evidence.timelines.get(agent.pk, [])
        if not rows or rows[0].note != "created" or rows[0].to_status != "provisioning":
            yield f"timeline: {agent.pk} does not begin with its creation"
            continue
        yield from (f"timeline: {agent.pk} was created twice" for row in rows[1:] if row.note == "created")
        for before, row in pairwise(rows):
            if row.from_status != before.to_status:
                yield f"timeline: {agent.pk} leaves {row.from_status} while it is {before.to_status}, at {row.at}"
            if row.to_status != row.from_status and row.to_status not in LEGAL[row.from_status]:
                yield f"timeline: {agent.pk} moves from {row.from_status} to {row.to_status}, at {row.at}"
        if rows[-1].to_status != agent.status:
            yield f"timeline: {agent.pk} is {agent.status}, its timeline ends {rows[-1].to_status}"


def reservations(evidence: Evidence) -> Findings:
    for row in evidence.reservations:
        yield f"reservation: {row.method} {row.path} with key {row.key} was never answered"


# Events, and their arrival at the receiver.


def events_of_moves(evidence: Evidence) -> Findings:
    """Each change of status that owners hear of has one event, and each event has such a change."""
    for agent in evidence.agents.values():
        moves = Counter(
            (f"agent.{row.to_status}", row.at)
            for row in evidence.timelines.get(agent.pk, [])
            if row.to_status != row.from_status and row.to_status in TOLD
        )
        told = Counter(
            (event.type, event.created_at)
            for event in evidence.events.get(agent.pk, [])
            if event.type.startswith("agent.")
        )
        for (name, at), times in (moves - told).items():
            yield f"event lost: {agent.pk} moved at {at}, {times} {name} was not written"
        for (name, at), times in (told - moves).items():
            yield f"event doubled: {agent.pk} has {times} {name} of {at} without a move"


def deliveries(evidence: Evidence) -> Findings:
    hooked = {promise.agent_id for promise in evidence.promises}
    for event in all_events(evidence):
        delivery = evidence.deliveries.get(event.pk)
        if delivery is None:
            if event.agent_id in hooked:
                yield f"event lost: {event.type} {event.pk} of {event.agent_id} has no delivery"
        elif delivery.state != "delivered":
            yield f"event lost: {event.type} {event.pk} of {event.agent_id} is {delivery.state} {delivery.error}"
        elif delivery.lease_until is not None:
            yield f"delivery: {event.pk} of {event.agent_id} is delivered and still leased"


def receipts(evidence: Evidence) -> Findings:
    """Each event arrives signed, at its agent's own address, byte for byte as written, also when repeated."""
    owners = {promise.agent_id: promise for promise in evidence.promises}
    written = {event.pk: event for event in all_events(evidence)}
    arrived = set()
    for receipt in evidence.receipts:
        event = written.get(receipt.header("X-Service-Delivery") or "")
        if event is None:
            yield f"event unknown: {receipt.path} got {receipt.body[:200]!r}, which no row knows"
            continue
        arrived.add(event.pk)
        promise = owners.get(event.agent_id)
        if receipt.body != event.body.encode():
            yield f"event changed: {event.pk} of {event.agent_id} arrived with other bytes than it was written with"
        if promise and receipt.path != promise.hook_path:
            yield f"event astray: {event.pk} of {event.agent_id} arrived at {receipt.path}"
        if promise and receipt.header("X-Service-Signature") != _signature(receipt.body, promise.hook_secret):
            yield f"event unsigned: {event.pk} of {event.agent_id} is not signed with its hook's secret"
    for event in written.values():
        if event.agent_id in owners and event.pk not in arrived:
            yield f"event lost: {event.type} {event.pk} of {event.agent_id} never arrived"


def event_chains(evidence: Evidence) -> Findings:
    """The events of an agent are a chain: each begins with the status where the one before ended, and `deleted` is
    last.

    Provisioning has no event: stopped, failed and deleted may follow provisioning, whatever the event before said.
    """
    for agent_id, events in evidence.events.items():
        stated = "provisioning"
        for event in (one for one in events if one.type.startswith("agent.")):
            said = json.loads(event.body)["data"]
            if stated == "deleted":
                yield f"event: {event.pk} says that {agent_id} is {said['to']} after it was deleted"
            may_interrupt = said["from"] == "provisioning" and said["to"] != "running"
            if said["from"] != stated and not may_interrupt:
                yield f"event: {event.pk} of {agent_id} comes from {said['from']}, the one before said {stated}"
            stated = said["to"]


def _signature(body: bytes, secret: str) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


# Promises to customers.


def promises(evidence: Evidence) -> Findings:
    owned = {promise.agent_id: promise for promise in evidence.promises}
    for promise in owned.values():
        agent = evidence.agents.get(promise.agent_id)
        if agent is None:
            yield f"promise: {promise.agent_id} was created for {promise.account} and is not there"
        elif agent.desired not in promise.wanted:
            yield f"promise: {agent.pk} should be {' or '.join(sorted(promise.wanted))}, it is wanted {agent.desired}"
    if owned:
        for agent_id in evidence.agents.keys() - owned.keys():
            yield f"double: {agent_id} was created though nobody was told so"


# Processes.


def processes(evidence: Evidence) -> Findings:
    """Each running agent has one gateway and one bridge with its engine, in its present pod, and nothing else runs."""
    wanted = {agent.namespace: agent for agent in evidence.agents.values() if agent.status == "running"}
    found: dict[str, list[SeenProcess]] = {}
    for seen in evidence.processes:
        found.setdefault(seen.namespace, []).append(seen)
    for namespace in found.keys() - wanted.keys():
        for seen in found[namespace]:
            yield f"orphan: {seen.role} {seen.pid} of {namespace} runs, {_owner(evidence, namespace)}"
    for namespace, agent in wanted.items():
        yield from _pod(agent, found.get(namespace, []))


def _pod(agent: Agent, seen: list[SeenProcess]) -> Findings:
    for role in (GATEWAY, BRIDGE):
        pids = [one.pid for one in seen if one.role == role]
        if len(pids) != 1:
            yield f"{'double' if pids else 'missing'}: {agent.pk} has {len(pids)} of {role}: {pids}"
    bridges = {one.pid for one in seen if one.role == BRIDGE}
    engines = [one for one in seen if one.role == ENGINE]
    if not engines:
        yield f"missing: {agent.pk} runs without an engine"
    for one in seen:
        if one.stopped:
            yield f"hung: {one.role} {one.pid} of {agent.pk} is stopped by a signal"
        if one.role not in {GATEWAY, BRIDGE} and not one.ancestors & bridges:
            yield f"orphan: {one.role} {one.pid} of {agent.pk} has lost its bridge"


def _owner(evidence: Evidence, namespace: str) -> str:
    for agent in evidence.agents.values():
        if namespace.startswith(f"pod-{agent.suffix}-"):
            return f"but {agent.pk} is {agent.status} as {agent.namespace}"
    return "but no agent has it"


# Directories and ports.


def directories(evidence: Evidence) -> Findings:
    kept = {agent.pk: agent for agent in evidence.agents.values() if agent.status != "deleted"}
    pods = {agent.namespace for agent in kept.values()}
    running = {agent.namespace for agent in kept.values() if agent.status == "running"}
    for namespace in evidence.disk.records.keys() - pods:
        yield f"directory: pods/{namespace} is left, {_owner(evidence, namespace)}"
    for namespace in running - evidence.disk.records.keys():
        yield f"directory: pods/{namespace} is missing, {_owner(evidence, namespace)}"
    for agent_id in evidence.disk.data - kept.keys():
        yield f"directory: data/{agent_id} is left of an agent that is deleted"
    for agent_id in evidence.disk.ports.keys() - kept.keys():
        yield f"port: data/{agent_id}.port is left of an agent that is deleted"
    for name in evidence.disk.locks - pods - {"ports"}:
        yield f"file: locks/{name}.lock is left, {_owner(evidence, name)}"
    yield from (f"file: {path} belongs to nothing" for path in evidence.disk.strays)


def ports(evidence: Evidence) -> Findings:
    """A port has one owner. A running pod listens on its own ports; a pod that does not run listens on none."""
    promised = list(evidence.disk.ports.values())
    for record in evidence.disk.records.values():
        promised += [record[name] for name in INNER_PORTS if name in record]
    yield from (f"port: {port} was given {times} times" for port, times in Counter(promised).items() if times > 1)
    for agent in evidence.agents.values():
        record = evidence.disk.records.get(agent.namespace, {})
        given = {record[name] for name in ("public_port", *INNER_PORTS) if name in record}
        public = record.get("public_port")
        if record and public != evidence.disk.ports.get(agent.pk):
            yield f"port: {agent.pk} is recorded at {public}, its own is {evidence.disk.ports.get(agent.pk)}"
        if agent.status == "running" and (deaf := given - evidence.listening):
            yield f"port: {agent.pk} runs and nobody listens on {sorted(deaf)}"
        if agent.status != "running" and (open_ := given & evidence.listening):
            yield f"port: {agent.pk} is {agent.status} and somebody listens on {sorted(open_)}"
        if agent.status == "running" and agent.endpoint_url != f"http://127.0.0.1:{public}":
            yield f"port: {agent.pk} is told to be at {agent.endpoint_url}, its gateway is at {public}"
    yield from _stray_listeners(evidence)


def _stray_listeners(evidence: Evidence) -> Findings:
    for seen in evidence.processes:
        record = evidence.disk.records.get(seen.namespace, {})
        given = {value for name, value in record.items() if name.endswith("_port")}
        for port in seen.ports - given:
            yield f"port: {seen.role} {seen.pid} of {seen.namespace} listens on {port}, which it was not given"


def revisions(evidence: Evidence) -> Findings:
    """The newest configuration has reached the pod."""
    for agent in evidence.agents.values():
        reported = evidence.reports.get(agent.namespace, [])
        if agent.status == "running" and any(revision != agent.spec_revision for revision in reported):
            yield f"configuration: {agent.pk} is at revision {agent.spec_revision}, its pod at {reported}"


RULES: list[Callable[[Evidence], Findings]] = [
    unsettled,
    illegal_timelines,
    reservations,
    events_of_moves,
    deliveries,
    receipts,
    event_chains,
    promises,
    processes,
    directories,
    ports,
    revisions,
]


def repeats(evidence: Evidence) -> int:
    """How often events arrived again."""
    arrived = [receipt.header("X-Service-Delivery") for receipt in evidence.receipts]
    return len(arrived) - len(set(arrived))
