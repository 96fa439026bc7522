"""The auditor can be trusted because it finds problems: each test damages a world that had no findings."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from datetime import timedelta
from typing import Any

import psutil
import pytest
from django.utils import timezone

from accounts.models import IdempotentReply
from agents.models import Agent, Desired, Status, Transition
from tests.agents.pod.bridge.process import eventually
from tests.crash import machine_state
from tests.crash.conftest import AuditedHome
from tests.crash.watch import doubles
from tests.ports import free_port
from webhooks.models import Delivery, Event, State

pytestmark = [pytest.mark.sampled, pytest.mark.unmeasured, pytest.mark.usefixtures("world")]


def row(world: AuditedHome, **values: Any) -> None:
    Agent.objects.filter(pk=world.agent.pk).update(**values)


def test_an_agent_past_its_deadline_is_found(world: AuditedHome) -> None:
    row(world, status=Status.PROVISIONING, deadline_at=timezone.now() - timedelta(seconds=1))
    assert world.finds("deadline:", world.agent.pk)


def test_an_agent_that_is_not_as_wanted_is_found(world: AuditedHome) -> None:
    row(world, desired=Desired.STOPPED)
    assert world.finds("unsettled:", world.agent.pk, "wanted stopped")


def test_a_lease_that_nobody_gave_back_is_found(world: AuditedHome) -> None:
    row(world, lease_until=timezone.now())
    assert world.finds("unsettled:", world.agent.pk, "leased")


def test_an_illegal_move_is_found(world: AuditedHome) -> None:
    row(world, status=Status.PROVISIONING)
    for come_from, to in (("running", "stopped"), ("stopped", "running")):
        at = timezone.now()
        Transition.objects.create(
            agent=world.agent, from_status=come_from, to_status=to, reason="resume", actor="test", at=at
        )
    assert world.finds("timeline:", world.agent.pk, "from stopped to running")


def test_a_gap_in_a_timeline_is_found(world: AuditedHome) -> None:
    Transition.objects.filter(agent=world.agent, to_status="running").update(from_status="failed")
    assert world.finds("timeline:", world.agent.pk, "leaves failed while it is provisioning")


def test_a_reservation_that_was_left_is_found(world: AuditedHome) -> None:
    now = timezone.now()
    IdempotentReply.objects.create(
        user=world.agent.user, method="POST", path="/agents", key="k", fingerprint="", created_at=now, reserved_at=now
    )
    assert world.finds("reservation:", "POST /agents", "k")


def test_an_event_that_was_never_written_is_found(world: AuditedHome) -> None:
    Event.objects.filter(type="agent.running").delete()
    assert world.finds("event lost:", world.agent.pk, "agent.running", "not written")


def test_an_event_that_was_written_twice_is_found(world: AuditedHome) -> None:
    event = Event.objects.get(type="agent.running")
    event.pk = "evt_twin"
    event.save(force_insert=True)
    assert world.finds("event doubled:", world.agent.pk, "agent.running")


def test_an_event_that_never_arrived_is_found(world: AuditedHome) -> None:
    world.receipts.clear()
    assert world.finds("event lost:", world.agent.pk, "never arrived")


def test_a_delivery_that_was_given_up_is_found(world: AuditedHome) -> None:
    Delivery.objects.update(state=State.FAILED)
    assert world.finds("event lost:", world.agent.pk, "failed")


def test_an_event_that_arrives_again_with_its_own_id_is_no_finding(world: AuditedHome) -> None:
    world.deliver()
    assert world.audit() == []


def test_a_repeat_with_other_bytes_is_found(world: AuditedHome) -> None:
    world.receipts.append(dataclasses.replace(world.receipts[0], body=b"{}"))
    assert world.finds("event changed:", world.agent.pk)


def test_an_event_that_nobody_wrote_is_found(world: AuditedHome) -> None:
    world.receipts.append(dataclasses.replace(world.receipts[0], headers=[("X-Service-Delivery", "evt_none")]))
    assert world.finds("event unknown:", "/hook/a")


def test_an_event_at_anothers_address_is_found(world: AuditedHome) -> None:
    world.receipts.append(dataclasses.replace(world.receipts[0], path="/hook/b"))
    assert world.finds("event astray:", world.agent.pk, "/hook/b")


def test_an_event_with_anothers_signature_is_found(world: AuditedHome) -> None:
    world.promises[0].hook_secret = "another"
    assert world.finds("event unsigned:", world.agent.pk)


def test_events_that_tell_two_stories_are_found(world: AuditedHome) -> None:
    event = Event.objects.get(type="agent.running")
    Event.objects.filter(pk=event.pk).update(body=event.body.replace('"from":"provisioning"', '"from":"failed"'))
    assert world.finds("event:", world.agent.pk, "comes from failed")


def test_an_agent_that_nobody_was_told_of_is_found(world: AuditedHome) -> None:
    world.promises[0].agent_id = "agt_promised"
    assert world.finds("double:", world.agent.pk)
    assert world.finds("promise:", "agt_promised", "is not there")


def test_an_acknowledged_stop_that_was_forgotten_is_found(world: AuditedHome) -> None:
    world.promises[0].acknowledge("pause")
    assert world.finds("promise:", world.agent.pk, "should be stopped")


def test_a_process_of_an_earlier_pod_is_found(world: AuditedHome) -> None:
    pid = world.start("gateway", f"pod-{world.agent.suffix}-0")
    assert world.finds("orphan:", f"gateway {pid}", world.agent.pk)


def test_a_second_gateway_is_found(world: AuditedHome) -> None:
    world.start("gateway", world.agent.namespace)
    assert world.finds("double:", world.agent.pk, "2 of gateway")


def test_a_second_bridge_is_found_while_it_storms_whatever_its_generation(world: AuditedHome) -> None:
    assert doubles(world.home) == set()
    pid = world.start("bridge", f"pod-{world.agent.suffix}-2")
    found = eventually(lambda: doubles(world.home), within=10, what="the second bridge")
    ((what, pids),) = found
    assert what == f"bridge of pod-{world.agent.suffix}"
    assert pid in pids


def test_an_engine_without_its_bridge_is_found(world: AuditedHome) -> None:
    pid = world.start("engine", world.agent.namespace)
    assert world.finds("orphan:", f"engine {pid}", world.agent.pk)


@pytest.mark.parametrize("role", [machine_state.GATEWAY, machine_state.BRIDGE])
def test_a_program_that_is_missing_is_found(world: AuditedHome, role: str) -> None:
    world.end(role)
    assert world.finds("missing:", world.agent.pk, role)


def test_a_missing_engine_is_found(world: AuditedHome) -> None:
    world.end(machine_state.ENGINE)
    assert world.finds("missing:", world.agent.pk, "without an engine")


def test_a_hung_program_is_found(world: AuditedHome) -> None:
    (gateway,) = (one for one in machine_state.pod_processes(world.home) if one.role == machine_state.GATEWAY)
    os.kill(gateway.pid, signal.SIGSTOP)
    assert world.finds("hung:", world.agent.pk, "gateway")


def test_the_directory_of_a_deleted_agents_pod_is_found(world: AuditedHome) -> None:
    world.write_pod("pod-nobody-1", {})
    assert world.finds("directory:", "pods/pod-nobody-1", "no agent has it")


def test_the_data_of_a_deleted_agent_is_found(world: AuditedHome) -> None:
    world.promise_port("agt_gone", free_port())
    assert world.finds("directory:", "data/agt_gone")
    assert world.finds("port:", "agt_gone.port")


@pytest.mark.parametrize("place", ["data/.agt_x.port.77.tmp", "pods/stray", "pods/{namespace}/.pod.json.77.tmp"])
def test_a_file_that_belongs_to_nothing_is_found(world: AuditedHome, place: str) -> None:
    path = world.home / place.format(namespace=world.agent.namespace)
    path.write_text("")
    assert world.finds("file:", path.name)


def test_a_lock_that_was_left_is_found(world: AuditedHome) -> None:
    (world.home / "locks").mkdir()
    (world.home / "locks" / "pod-nobody-1.lock").touch()
    assert world.finds("file:", "locks/pod-nobody-1.lock")


def test_a_port_with_two_owners_is_found(world: AuditedHome) -> None:
    world.promise_port("agt_gone", world.record["public_port"])
    assert world.finds("port:", str(world.record["public_port"]), "2 times")


def test_a_port_on_which_nobody_listens_is_found(world: AuditedHome) -> None:
    world.end(machine_state.GATEWAY)
    assert world.finds("port:", world.agent.pk, "nobody listens")


def test_a_listener_that_was_given_no_port_is_found(world: AuditedHome) -> None:
    port = free_port()
    world.start("bridge", world.agent.namespace, ports=[port])
    assert world.finds("port:", world.agent.namespace, str(port), "not given")


def test_a_pod_that_missed_its_configuration_is_found(world: AuditedHome) -> None:
    row(world, spec_revision=2)
    assert world.finds("configuration:", world.agent.pk, "revision 2")


def test_a_program_that_escaped_its_supervisor_is_found(world: AuditedHome) -> None:
    marks = {"AGENTPODS_HOME": str(world.home)}
    with subprocess.Popen([sys.executable, "-ISc", "import time; time.sleep(300)"], env=marks) as lost:
        above = psutil.Process().ppid()
        assert lost.pid not in {one.pid for one in machine_state.orphans(world.home, above)}
        assert lost.pid in {one.pid for one in machine_state.orphans(world.home, lost.pid + 100_000)}
        lost.kill()
