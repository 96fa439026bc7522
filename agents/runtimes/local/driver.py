"""The runtime `local`. A worker may be killed at any point here; so each call looks at what exists and continues from
there.
"""

from __future__ import annotations

import dataclasses
import errno
import logging
import random
import secrets
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from agents.cause import Cause
from agents.engines import ENGINES
from agents.pod import processes, removal
from agents.pod.logs import log_files
from agents.pod.logs.reading import Left
from agents.pod.start import BridgeStart, GatewayStart
from agents.runtimes import management
from agents.runtimes.base import Endpoint, Observation, PodSpec, RuntimeFailure, Usage
from agents.runtimes.local import measure, observing, ports, programs
from agents.runtimes.local.following import PodFollower, Tell
from agents.runtimes.local.home import Home, PodRecord, WantedState, make_private
from agents.runtimes.local.ports import HOST
from agents.runtimes.local.programs import Found, PodProgram
from agents.runtimes.local.template import Template

log = logging.getLogger(__name__)

# Seconds until the whole pod is killed. The bridge gives its engine 15 of them.
STOP_SECONDS = 20.0
# A removal waits this long for an orderly end: ORDERLY_SECONDS if the data stays, HASTY_SECONDS if it is removed too.
ORDERLY_SECONDS = 17.0
HASTY_SECONDS = 2.0
# Our programs report at least every REPORT_SECONDS. A program that has not reported for HUNG_SECONDS is killed.
REPORT_SECONDS = 5.0
HUNG_SECONDS = 30.0
KILL_SECONDS = 10.0
# The time limit for measuring the disks of all pods. Disks that are not measured in time are unknown until the next
# measurement.
USAGE_SECONDS = 30.0


class LocalRuntime:
    def __init__(
        self, *, home: Path, engine_cache: Path, keep_pods: bool = False, restic: str = "", tell: Tell | None = None
    ) -> None:
        """`tell` is called with an agent's id, in a thread of its own, when a pod that this process has started or
        asked to stop has come up or has ended.
        """
        self.home = Home(home.resolve())
        self._engine_cache = engine_cache
        self._restic = restic
        self._keep_pods = keep_pods
        self._template = Template()
        self._follower = PodFollower(tell) if tell else None

    def warm_up(self) -> None:
        """Prepare what the first pod would wait for."""
        self._template.begin(programs.environment_of_all(keep=self._keep_pods))

    # The methods of the Runtime contract.

    def deploy(self, spec: PodSpec) -> None:
        if spec.engine not in ENGINES:
            raise RuntimeFailure(f"there is no engine {spec.engine!r}", cause=Cause.ENGINE, permanent=True)
        try:
            self._deploy(spec)
        except OSError as error:
            if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                raise RuntimeFailure(f"the machine's disk is full: {error.strerror}", cause=Cause.DISK_FULL) from error
            raise

    def _deploy(self, spec: PodSpec) -> None:
        with self.home.lock(spec.namespace):
            record = self.home.record(spec.namespace)
            # Programs without a record may use other ports, because another version started them. The new record would
            # not lead to them.
            if record.wanted is WantedState.STOPPED if record else self._programs(spec.namespace):
                self._end(spec.namespace, seconds=HASTY_SECONDS)
            record = self._promise_ports(spec, record)
            self._start_missing(spec, record)

    def configure(self, spec: PodSpec) -> None:
        endpoint = self.endpoint(spec.namespace)
        if endpoint is None:
            raise RuntimeFailure("the pod has no address", cause=Cause.NO_ADDRESS)
        management.configure(endpoint, spec.access, config=spec.config, secrets=spec.secrets)

    def repair(self, spec: PodSpec) -> list[str]:
        """Nothing to do: no other program changes our processes and directories. A pod that is not as wanted is
        deployed again.
        """
        return []

    def told(self, namespace: str, put_back: list[str]) -> None:
        """Nothing to do, because `repair` restores nothing."""

    def secure(self, namespace: str) -> None:
        """Nothing to do: the agent's files are never inside its pod's directory."""

    def unroute(self, namespace: str, domain: str) -> None:
        """Nothing to do: the router asks the database which hostnames are in use."""

    def expect_data(self, spec: PodSpec) -> None:
        """Nothing to do: only `deploy` starts pods here, and its specification contains this."""

    def stop(self, namespace: str) -> None:
        if not self.home.run_dir(namespace).is_dir():
            return
        with self.home.lock(namespace):
            record = self.home.record(namespace)
            if record is None:
                self._kill(namespace)
                return
            if record.wanted is not WantedState.STOPPED:
                record = dataclasses.replace(record, wanted=WantedState.STOPPED, asked_at=time.time())
                self.home.save(namespace, record)
            if time.time() - record.asked_at > STOP_SECONDS:
                self._kill(namespace)
                return
            asked = self._programs(namespace)
            processes.send(asked, signal.SIGTERM)
            if self._follower:
                self._follower.until_ended(record.agent_id, asked)

    def delete(self, namespace: str, *, agent_id: str, data: bool) -> None:
        with self.home.lock(namespace) as lock_file:
            self._end(namespace, seconds=HASTY_SECONDS if data else ORDERLY_SECONDS)
            if data:
                removal.remove(self.home.data_dir(agent_id))
                self.home.forget_port(agent_id)
            removal.remove(self.home.run_dir(namespace))
            lock_file.unlink(missing_ok=True)

    def observe(self, suffix: str | None = None) -> dict[str, Observation]:
        names = [name for name in self.home.namespaces() if suffix is None or name.startswith(f"pod-{suffix}-")]
        found = programs.find(self.home.root) if names else {}
        return {name: self._look(name, found) for name in names if self.home.run_dir(name).is_dir()}

    def usage(self) -> dict[str, Usage]:
        """Memory and disk of all pods. The order is random and the time limited, so that a pod with a million files
        does not keep the others from being measured.
        """
        self.home.forget_locks()
        found, table = programs.find(self.home.root), measure.ProcessTable(self.home.root)
        until = time.monotonic() + USAGE_SECONDS
        names = self.home.namespaces()
        random.shuffle(names)
        return {name: usage for name in names if (usage := self._usage_of(name, found, table, until))}

    def _usage_of(self, namespace: str, found: Found, table: measure.ProcessTable, until: float) -> Usage | None:
        programs.trim_logs(self.home.run_dir(namespace))
        record = self.home.record(namespace)
        if record is None:
            return None
        bridge = found.get((namespace, PodProgram.BRIDGE))
        memory = measure.memory_of(table.of(namespace, bridge.pid if bridge else None))
        in_time = time.monotonic() < until
        return Usage(
            memory_bytes=memory, disk_bytes=measure.disk_of(self.home.data_dir(record.agent_id)) if in_time else None
        )

    def endpoint(self, namespace: str) -> Endpoint | None:
        record = self.home.record(namespace)
        if record is None:
            return None
        return Endpoint(
            public_url=f"http://{HOST}:{record.public_port}", management_url=f"https://{HOST}:{record.management_port}"
        )

    def left_log(self, namespace: str) -> Left | None:
        return log_files.left_in(self.home.run_dir(namespace) / log_files.DIRECTORY)

    def fleeting_logs(self, limit: int) -> list[str]:
        """None: logs are files here, and stay until their pod is removed."""
        return []

    # Starting a pod.

    def _promise_ports(self, spec: PodSpec, record: PodRecord | None) -> PodRecord:
        """The pod's record, existing or new. It is saved before anything is started, so that no other pod gets its
        ports.
        """
        public = ports.public_port(self.home, spec.agent_id)
        if record and record.wanted is WantedState.RUNNING and not record.ended and record.public_port == public:
            return record
        with self.home.lock("ports"):
            management_port, llm_port, bridge_port, engine_port, side_port = ports.inner_ports(self.home)
            fresh = PodRecord(
                agent_id=spec.agent_id,
                wanted=WantedState.RUNNING,
                asked_at=time.time(),
                ended=False,
                public_port=public,
                management_port=management_port,
                llm_port=llm_port,
                bridge_port=bridge_port,
                bridge_token=secrets.token_urlsafe(32),
                llm_token=secrets.token_urlsafe(32),
                engine_port=engine_port,
                side_port=side_port,
                engine_password=secrets.token_urlsafe(32),
            )
            self.home.save(spec.namespace, fresh)
        return fresh

    def _start_missing(self, spec: PodSpec, record: PodRecord) -> None:
        alive = self._alive(spec.namespace)
        for program in [program for program, process in alive.items() if self._end_hung(program, spec, process)]:
            del alive[program]
        if PodProgram.GATEWAY in alive and self._end_other_gateway(spec, alive[PodProgram.GATEWAY]):
            del alive[PodProgram.GATEWAY]
        missing = [program for program in PodProgram if program not in alive]
        if not missing:
            return
        usable = self._with_free_ports(spec, record, missing)
        run_dir = self.home.run_dir(spec.namespace)
        documents = {PodProgram.GATEWAY: self._gateway_document, PodProgram.BRIDGE: self._bridge_document}
        for program in missing if usable is record else PodProgram:
            # the report of a dead program is no longer true
            (run_dir / programs.REPORTS[program]).unlink(missing_ok=True)
            programs.start(
                program,
                namespace=spec.namespace,
                home=self.home.root,
                run_dir=run_dir,
                document=documents[program](spec, usable),
                keep=self._keep_pods,
                template=self._template,
            )
        if self._follower:
            self._follower.until_up(spec.agent_id, run_dir)

    def _alive(self, namespace: str) -> dict[PodProgram, psutil.Process]:
        found = programs.find(self.home.root)
        return {program: found[namespace, program] for program in PodProgram if (namespace, program) in found}

    def _end_hung(self, program: PodProgram, spec: PodSpec, process: psutil.Process) -> bool:
        """Kill a program that has not reported for a long time. A bridge's engine is killed with it. Returns whether it
        was killed.
        """
        if self._is_silent(spec.namespace, program, process):
            time.sleep(REPORT_SECONDS)  # after a sleep of the whole machine every report is old, so wait for a new one
        if not self._is_silent(spec.namespace, program, process):
            return False
        log.warning("a %s that does not report is ended", program, extra={"namespace": spec.namespace})
        processes.send([*processes.descendants(process), process], signal.SIGKILL)
        psutil.wait_procs([process], timeout=KILL_SECONDS)
        return True

    def _end_other_gateway(self, spec: PodSpec, gateway: psutil.Process) -> bool:
        """End a gateway that has another certificate, or none because its release is old: the control plane no longer
        talks to it. Returns whether it was ended.
        """
        if observing.certificate(self.home.run_dir(spec.namespace)) in {None, spec.identity.fingerprint}:
            return False
        log.info("a gateway with another certificate is ended", extra={"namespace": spec.namespace})
        for number, seconds in ((signal.SIGTERM, HASTY_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
            processes.send([gateway], number)
            psutil.wait_procs([gateway], timeout=seconds)
        return True

    def _is_silent(self, namespace: str, program: PodProgram, process: psutil.Process) -> bool:
        return observing.silence(self.home.run_dir(namespace), program, process) > HUNG_SECONDS

    def _with_free_ports(self, spec: PodSpec, record: PodRecord, missing: list[PodProgram]) -> PodRecord:
        """Give the pod new inner ports if another program listens on one of them; both programs are then restarted. If
        another program has the agent's public port, raise RuntimeFailure. If the pod's own engine took a port of the
        gateway, the whole pod is restarted.
        """
        public = [record.public_port] if PodProgram.GATEWAY in missing else []
        if not ports.come_free(public) and not self._takes(spec.namespace, record.public_port):
            raise RuntimeFailure(
                f"port {record.public_port} of the agent is taken by another program", cause=Cause.PORT
            )
        needed = {
            PodProgram.GATEWAY: [*public, record.management_port, record.llm_port],
            PodProgram.BRIDGE: [record.bridge_port, record.engine_port, record.side_port],
        }
        if ports.come_free([port for program in missing for port in needed[program]]):
            return record
        self._end(spec.namespace, seconds=HASTY_SECONDS)
        return self._promise_ports(spec, dataclasses.replace(record, ended=True))

    def _takes(self, namespace: str, port: int) -> bool:
        """Whether a process of this pod listens on the port."""
        return processes.listen([*self._trees(namespace), *processes.marked(namespace, self.home.root)], port)

    def _gateway_document(self, spec: PodSpec, record: PodRecord) -> bytes:
        return GatewayStart(
            namespace=spec.namespace,
            agent_id=spec.agent_id,
            slug=spec.slug,
            engine=spec.engine,
            public_url=spec.public_url,
            console_url=spec.console_url,
            run_dir=str(self.home.run_dir(spec.namespace)),
            host=HOST,
            public_port=record.public_port,
            management_port=record.management_port,
            llm_port=record.llm_port,
            bridge_url=f"http://{HOST}:{record.bridge_port}",
            bridge_token=record.bridge_token,
            llm_token=record.llm_token,
            engine_url=f"http://{HOST}:{record.engine_port}",
            side_url=f"http://{HOST}:{record.side_port}",
            engine_password=record.engine_password,
            identity=spec.identity,
            config=spec.config,
            secrets=spec.secrets,
        ).dump()

    def _bridge_document(self, spec: PodSpec, record: PodRecord) -> bytes:
        data = self.home.data_dir(spec.agent_id)
        make_private(data)
        return BridgeStart(
            namespace=spec.namespace,
            agent_id=spec.agent_id,
            engine=spec.engine,
            run_dir=str(self.home.run_dir(spec.namespace)),
            data_dir=str(data),
            data_expected=spec.data_expected,
            restore=spec.restore,
            engine_cache=str(self._engine_cache),
            restic=self._restic,
            memory_bytes=spec.limits.memory_bytes,
            host=HOST,
            port=record.bridge_port,
            token=record.bridge_token,
            llm_url=f"http://{HOST}:{record.llm_port}",
            llm_token=record.llm_token,
            engine_port=record.engine_port,
            side_port=record.side_port,
            engine_password=record.engine_password,
            config=spec.config,
        ).dump()

    # Observing pods.

    def _look(self, namespace: str, found: Found) -> Observation:
        record = self.home.record(namespace)
        alive = any((namespace, program) in found for program in PodProgram)
        if record and not record.ended and (not alive or self._is_overdue(record)):
            with suppress(RuntimeFailure):  # another worker has the lock and is working on the pod
                record = self._settle(namespace, record)
        return observing.observe(namespace, self.home.run_dir(namespace), record, found)

    def _is_overdue(self, record: PodRecord) -> bool:
        return record.wanted is WantedState.STOPPED and time.time() - record.asked_at > STOP_SECONDS

    def _settle(self, namespace: str, record: PodRecord) -> PodRecord:
        """Both programs are gone, or must go. Kill everything that the engine may have left, once per pod."""
        with self.home.lock(namespace, wait=False):
            now = self.home.record(namespace)
            alive = self._programs(namespace)
            if now is None or now.ended or (alive and not self._is_overdue(now)):
                return now or record
            self._kill(namespace)
            ended = dataclasses.replace(now, ended=True)
            self.home.save(namespace, ended)
            return ended

    # Ending a pod.

    def _programs(self, namespace: str) -> list[psutil.Process]:
        return list(self._alive(namespace).values())

    def _end(self, namespace: str, *, seconds: float) -> None:
        """Ask the programs to end, wait, and kill the rest. Raises RuntimeFailure if a process cannot be ended."""
        asked = self._programs(namespace)
        processes.send(asked, signal.SIGTERM)
        until = time.monotonic() + seconds
        while any(processes.is_alive(process) for process in asked) and time.monotonic() < until:
            time.sleep(processes.POLL_SECONDS)
        self._kill(namespace)

    def _kill(self, namespace: str) -> None:
        """Kill our two programs with their descendants, then all other processes with this pod's marks."""
        every: list[Callable[[], list[psutil.Process]]] = [
            lambda: self._trees(namespace),
            lambda: processes.marked(namespace, self.home.root),
        ]
        for find in every:
            if left := processes.kill_all(find, seconds=KILL_SECONDS):
                raise RuntimeFailure(f"processes do not end: {[process.pid for process in left]}", cause=Cause.STUCK)

    def _trees(self, namespace: str) -> list[psutil.Process]:
        owners = self._programs(namespace)
        return [*owners, *(child for owner in owners for child in processes.descendants(owner))]
