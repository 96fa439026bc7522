"""A campaign: a service under load, planned faults, an audit, the deletion of everything, and a second audit."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil
from django.db import OperationalError, connection

from tests.config.running import PROGRAMS, Run
from tests.crash import machine_state
from tests.crash.auditor import audit, repeats
from tests.crash.berths import Berths
from tests.crash.client import Calls, CustomerClient
from tests.crash.evidence import Evidence, gather
from tests.crash.faults import Kill, KilledKind, plan
from tests.crash.load import CrashCustomer, wait_until
from tests.crash.promises import Promise
from tests.crash.strikes import Striker
from tests.crash.watch import watch
from tests.doubles.model_server import ModelServer
from tests.doubles.receiver import Receiver, after, status

BERTHS = 4
RECEIVER_SECONDS = 1.5  # so that a kill often hits a worker during a delivery
START_SECONDS = 300.0
INSTALL_SECONDS = 900.0
FILL_SECONDS = 900.0
# Time for a lease, a slow removal, the last retry of a delivery, a restart that waits for a minute.
SETTLE_SECONDS = 240.0
AUDIT_PAUSE_SECONDS = 3.0
END_SECONDS = 15.0
PROGRESS_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    seed: str
    seconds: float
    agents: int
    accounts: int
    keep: bool


@dataclass(slots=True)
class Campaign:
    options: Options
    run: Run
    model: ModelServer
    receiver: Receiver
    calls: Calls
    journal: Path
    customers: list[CrashCustomer] = field(default_factory=list)
    berths: Berths = field(default_factory=lambda: Berths(BERTHS))
    over: threading.Event = field(default_factory=threading.Event)  # set at the end of the load
    closed: threading.Event = field(default_factory=threading.Event)  # set at the end of everything
    findings: list[str] = field(default_factory=list)
    struck: Counter[KilledKind] = field(default_factory=Counter)

    def wage(self) -> None:
        """Run the whole campaign; `findings` then has the problems."""
        say(f"starting the service at {self.run.home}, port {self.run.port}")
        self.run.start(until_up=False)
        self.run.wait(lambda: self.run.status("/health/ready") == 200, seconds=START_SECONDS)
        self._gather_customers()
        watching = threading.Thread(target=self.berths.watch, args=[self.closed], daemon=True)
        watching.start()
        try:
            self._fill()
            self._storm()
            self._settle("after the storm")
            self._talk()
            if self.options.keep:
                self._linger()
            self._part()
        finally:
            self.closed.set()
            watching.join()

    @property
    def promises(self) -> list[Promise]:
        return [promise for customer in self.customers for promise in customer.promises]

    def evidence(self) -> Evidence:
        try:
            return gather(self.run.home, promises=self.promises, receipts=self.receiver.received)
        finally:
            connection.close()  # the server may be another one at the next try

    # Before the faults.

    def _gather_customers(self) -> None:
        base = f"http://127.0.0.1:{self.run.port}"
        share = -(-self.options.agents // self.options.accounts)
        for number in range(self.options.accounts):
            client = CustomerClient(base, f"c{number}", self.calls, address=f"198.51.100.{number % 250 + 1}")
            mail = {"email": f"customer-{number}@example.com"}
            code = client.ask("POST", "/auth/request", mail).body["devCode"]
            client.token = client.ask("POST", "/auth/verify", {**mail, "code": code}).body["token"]
            persona = client.ask("GET", "/personas").body["personas"][0]["id"]
            hook = self.receiver.url
            self.customers.append(CrashCustomer(number, self.options.seed, client, hook, persona, share, self.berths))

    def _fill(self) -> None:
        """Create the first agent alone, because it installs the engine; then all other agents."""
        first, *_ = self.customers
        share, first.share = first.share, 1
        first.fill()
        first.share = share
        self._await_boots(INSTALL_SECONDS, "the first agent")
        began = time.monotonic()
        everybody([customer.fill for customer in self.customers])
        self._await_boots(FILL_SECONDS, "all agents")
        say(f"{len(self.promises)} agents run after {time.monotonic() - began:.0f} s")

    def _await_boots(self, seconds: float, what: str) -> None:
        promised = {promise.agent_id for promise in self.promises}

        def all_run() -> bool:
            agents = self.evidence().agents
            return all(agents[agent_id].status == "running" for agent_id in promised)

        if not promised or not wait_until(all_run, seconds=seconds):
            raise SystemExit(f"{what} did not come up: {self._wrongs() or audit(self.evidence())}")

    # The faults.

    def _storm(self) -> None:
        faults = plan(self.options.seed, self.options.seconds)
        say(f"{self.options.seconds:.0f} s of load with {len(faults)} faults")
        self.calls.began = began = time.monotonic()
        self.calls.failures.clear()
        load = [threading.Thread(target=customer.work, args=[self.over], daemon=True) for customer in self.customers]
        for thread in load:
            thread.start()
        watching = threading.Thread(target=watch, args=[self.run.home, self.over, self.findings], daemon=True)
        watching.start()
        striker = Striker(self.run, self.struck)
        away = list(self._strike_all(striker, faults, began))
        self.over.wait(max(0.0, began + self.options.seconds - time.monotonic()))
        self.over.set()
        say(f"the storm is over; struck {sum(self.struck.values())}: {_counts(self.struck)}")
        for thread in load:
            thread.join()
        self._judge_redis(away)

    def _strike_all(
        self, striker: Striker, faults: list[Kill], began: float
    ) -> Iterator[tuple[float, float, KilledKind]]:
        """Strike at the planned seconds. Yields start, end and kind of the faults where only Redis is away."""
        for fault in faults:
            time.sleep(max(0.0, began + fault.second - time.monotonic()))
            start = time.monotonic() - began
            done = striker.strike(fault)
            say(f"{fault}: {done}")
            with (self.journal / "faults.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps({**asdict(fault), "struck": round(start, 2), "done": done}) + "\n")
            if fault.lasts:
                yield start, time.monotonic() - began, fault.kind

    def _judge_redis(self, away: Iterable[tuple[float, float, KilledKind]]) -> None:
        """A request that is refused while only Redis is away is a finding: Redis may be away without refusals."""
        for start, end, kind in away:
            refused = [sentence for second, sentence in self.calls.failures if start <= second <= end]
            self.findings += [f"redis: refused during {kind}: {sentence}" for sentence in refused]

    # After the faults.

    def _settle(self, when: str) -> None:
        """Audit until there are no findings or the time is over; the last findings stay."""
        began, found = time.monotonic(), ["not audited"]

        def clean() -> bool:
            try:
                found[:] = [*audit(self.evidence()), *self._programs()]
            except OperationalError as error:
                found[:] = [f"database: {error}"]
            return not found

        wait_until(clean, seconds=SETTLE_SECONDS, pause=AUDIT_PAUSE_SECONDS)
        say(f"audit {when}: {len(found)} findings after {time.monotonic() - began:.0f} s")
        self.findings += [f"{when}: {finding}" for finding in found]

    def _programs(self) -> list[str]:
        """Findings about the service's programs: each must run once, below its supervisor."""
        if self.run.process is None:
            return ["the service was not started"]
        missing = PROGRAMS.keys() - self.run.running().keys()
        lost = machine_state.orphans(self.run.home, self.run.process.pid)
        commands = Counter(_title(one) for one in machine_state.program_processes(psutil.Process(self.run.process.pid)))
        twice = [title for title, times in commands.items() if times > 1 and any(m in title for m in PROGRAMS.values())]
        return [
            *(f"program: {name} does not run" for name in sorted(missing)),
            *(f"orphan: {one.pid} {_title(one)} has lost the supervisor" for one in lost),
            *(f"double: {title} runs twice" for title in twice),
        ]

    def _talk(self) -> None:
        """Each customer checks the promises: exactly its agents, as configured, and they answer."""
        everybody([customer.complain for customer in self.customers])
        self.findings += [finding for customer in self.customers for finding in customer.complaints]
        self.findings += self._wrongs()

    def _part(self) -> None:
        """Delete all agents and check that nothing of them stays; then end the service and check the same."""
        everybody([customer.remove_all for customer in self.customers])
        self._settle("after the farewell")
        say(f"calls {_counts(self.calls.outcomes)}; events arrived {len(self.receiver.received)}, "
            f"of them repeated {repeats(self.evidence())}; agents created {len(self.promises)}")  # fmt: skip
        self.run.signal(signal.SIGTERM)
        status = self.run.exit_status(within=END_SECONDS)
        if status != 0:
            self.findings.append(f"end: the service ended with status {status}")
        if not wait_until(lambda: not self.run.everything(), seconds=END_SECONDS, pause=0.2):
            self.findings += [f"end: {one.pid} {_title(one)} is left" for one in self.run.everything()]

    def _linger(self) -> None:
        """Keep everything for a second auditor until Ctrl-C."""
        say(f"kept for you: home {self.run.home}, port {self.run.port}, journals {self.journal}; Ctrl-C goes on")
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            say("going on")

    def _wrongs(self) -> list[str]:
        return [wrong for customer in self.customers for wrong in customer.wrongs]

    def write_journals(self) -> None:
        """Write the knowledge of the outside for other auditors: the promised agents and the received events."""
        with (self.journal / "promises.jsonl").open("w", encoding="utf-8") as file:
            for promise in self.promises:
                file.write(json.dumps({**asdict(promise), "wanted": sorted(promise.wanted)}) + "\n")
        with (self.journal / "receipts.jsonl").open("w", encoding="utf-8") as file:
            for one in list(self.receiver.received):
                body = one.body.decode("utf-8", "replace")
                file.write(json.dumps({"path": one.path, "headers": one.headers, "body": body}) + "\n")


def everybody(acts: list[Callable[[], None]]) -> None:
    """Run all of these at the same time."""
    threads = [threading.Thread(target=act, daemon=True) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def prepared(options: Options, run: Run, journal: Path) -> Iterator[Campaign]:
    """A campaign with its model server and receiver; the service ends with the block."""
    with ExitStack() as stack:
        model = stack.enter_context(ModelServer())
        receiver = stack.enter_context(Receiver([after(RECEIVER_SECONDS, status(204))]).listening())
        run.environment |= {
            "LLM_BASE_URLS": f"openai={model.base_url('openai')}",
            "WEBHOOK_ALLOWED_CIDRS": "127.0.0.0/8",
            "TRUSTED_PROXIES": "127.0.0.1/32",  # each customer has its own address
            "MAX_FREE_AGENTS": str(-(-options.agents // options.accounts)),
            "MAX_TRIALS": "0",
        }
        stack.callback(run.end)
        yield Campaign(options, run, model, receiver, Calls(journal / "calls.jsonl"), journal)


def _counts(counter: Counter[str] | Counter[KilledKind]) -> str:
    return ", ".join(f"{name} {times}" for name, times in sorted(counter.items()))


def _title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def say(text: str) -> None:
    sys.stdout.write(f"[{time.strftime('%H:%M:%S')}] {text}\n")
    sys.stdout.flush()
