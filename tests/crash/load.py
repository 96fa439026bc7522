"""The customers' load: each account creates, pauses, resumes, rebuilds, deletes and configures through the API."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tests.crash.berths import Berths
from tests.crash.client import Answer, CustomerClient, Unanswered
from tests.crash.promises import Promise

PAUSES = (1.0, 5.0)
WEIGHTS = {
    "pause": 2,
    "resume": 5,
    "rebuild": 4,
    "delete": 1,
    "rename": 1,
    "set_clock": 1,
    "speak": 1,
    "give_key": 2,
    "take_key": 1,
    "open_a2a": 1,
    "close_a2a": 1,
}
BOOTING = {"resume", "rebuild"}
CHANGES = WEIGHTS.keys() - {"pause", "resume", "rebuild", "delete"}
ZONES = ["Europe/Riga", "America/Lima", "Asia/Tokyo", "Africa/Lagos"]
LANGS = ["en", "ru"]


@dataclass(frozen=True, slots=True)
class CustomerStep:
    pause: float
    verb: str
    choice: int


def script(seed: str, account: int) -> Iterator[CustomerStep]:
    """The endless steps of this account. Which agent a step concerns depends on the agents at that time."""
    dice = random.Random(f"load of {seed}, account {account}")
    while True:
        verb = dice.choices(list(WEIGHTS), weights=list(WEIGHTS.values()))[0]
        yield CustomerStep(dice.uniform(*PAUSES), verb, dice.randrange(10_000))


@dataclass(slots=True)
class CrashCustomer:
    """One account. `share` is the number of agents that it keeps."""

    number: int
    seed: str
    client: CustomerClient
    hook_url: str
    persona: str
    share: int
    berths: Berths
    promises: list[Promise] = field(default_factory=list)
    wrongs: list[str] = field(default_factory=list)  # answers that should not have happened
    complaints: list[str] = field(default_factory=list)
    made: int = 0

    @property
    def live(self) -> list[Promise]:
        return [promise for promise in self.promises if not promise.deleted]

    def work(self, over: threading.Event) -> None:
        """Take steps until `over` is set; the last step is completed."""
        for step in script(self.seed, self.number):
            if over.wait(step.pause):
                return
            self._guarded(partial(self._take, step))

    def fill(self) -> None:
        """Create agents up to the share, as fast as there are berths."""
        while len(self.live) < self.share and not self.wrongs:
            self._guarded(partial(self._create, wait=True))

    def remove_all(self) -> None:
        for promise in self.live:
            self._guarded(partial(self._delete, promise))

    def complain(self) -> None:
        """Find all differences from the promises."""
        found = self.complaints
        listed = {agent["id"]: agent for agent in self.client.ask("GET", "/agents").body["agents"]}
        expected = {promise.agent_id for promise in self.live}
        found += [f"list: {agent_id} of {self.client.account} is missing" for agent_id in expected - listed.keys()]
        found += [
            f"list: {agent_id} is {self.client.account}'s without being created"
            for agent_id in listed.keys() - expected
        ]
        for promise in self.live:
            found += _differences(promise, listed.get(promise.agent_id, {}))
            if listed.get(promise.agent_id, {}).get("status") == "running":
                found += self._conversation(promise)

    def _conversation(self, promise: Promise) -> list[str]:
        """A running agent with a key must answer; without a key its reply must be empty."""
        answer = self.client.ask("POST", f"/agents/{promise.agent_id}/chat", {"message": "Are you there?"})
        wanted = "pong" if promise.settings.get("llmProvider") else ""
        if answer.status != 200 or answer.body["reply"] != wanted:
            return [f"chat: {promise.agent_id} answered {answer.status} {answer.body}, not {wanted!r}"]
        return []

    def _guarded(self, act: Callable[[], object]) -> None:
        try:
            act()
        except Unanswered as error:
            self.wrongs.append(f"answer: {error}")

    def _take(self, step: CustomerStep) -> None:
        """Take the step; where it needs a berth and none is free, rename the agent instead."""
        if len(self.live) < self.share and self._create(wait=False):
            return
        if not self.live:
            return
        verb, promise = self._aim(step)
        if verb == "delete":
            self._delete(promise)
        elif verb not in {"pause", *BOOTING} or not self._move(promise, verb):
            self._configure(promise, step if verb in CHANGES else replace(step, verb="rename"))

    def _aim(self, step: CustomerStep) -> tuple[str, Promise]:
        """Choose the agent, so that most agents run (starting is slow): at most one rests at a time."""
        promise = self.live[step.choice % len(self.live)]
        resting = [one for one in self.live if one.wanted == {"stopped"}]
        if resting and step.verb in {"pause", "resume"}:
            return "resume", resting[step.choice % len(resting)]
        if step.verb == "delete" and len(self.live) < self.share:
            return "rename", promise
        return step.verb, promise

    def _create(self, *, wait: bool) -> bool:
        """Create an agent. Returns whether there was a berth for it."""
        name = f"{self.client.account}-{self.made}"
        url = f"{self.hook_url}/{name}"
        wanted = {"personaId": self.persona, "tier": "tiny", "name": name, "webhookUrl": url}
        with self.berths.boarding(wait=wait) as berth:
            if berth is None:
                return False
            answer = self.client.ask("POST", "/agents", wanted, key=f"{self.seed}-{name}")
            self.made += 1
            if answer.status != 200:
                self._wrong("POST /agents", answer)
                return True
            agent = answer.body["agent"]
            path = "/" + url.split("/", 3)[3]
            self.promises.append(
                Promise(agent["id"], self.client.account, path, answer.body["webhookSecret"], settings={"name": name})
            )
            berth.taken_by(agent["id"], self.client)
            return True

    def _move(self, promise: Promise, verb: str) -> bool:
        """Ask for the move. Returns False if it needs a berth and none is free."""
        if verb not in BOOTING:
            self._ask_move(promise, verb)
            return True
        with self.berths.boarding(wait=False) as berth:
            if berth is not None and self._ask_move(promise, verb):
                berth.taken_by(promise.agent_id, self.client)
            return berth is not None

    def _ask_move(self, promise: Promise, verb: str) -> bool:
        answer = self.client.ask("POST", f"/agents/{promise.agent_id}/{verb}")
        if answer.status == 200:
            promise.acknowledge(verb)
        elif answer.status == 409:
            promise.refused(verb, unsure=answer.unsure)
        else:
            self._wrong(f"{verb} {promise.agent_id}", answer)
        return answer.status == 200 or answer.unsure

    def _delete(self, promise: Promise) -> None:
        answer = self.client.ask("DELETE", f"/agents/{promise.agent_id}")
        if answer.status == 204 or (answer.status == 404 and answer.unsure):
            promise.acknowledge("delete")
        else:
            self._wrong(f"delete {promise.agent_id}", answer)

    def _configure(self, promise: Promise, step: CustomerStep) -> None:
        method, path, body, shown = _change(step)
        answer = self.client.ask(method, f"/agents/{promise.agent_id}{path}", body)
        if answer.status in {200, 204}:
            promise.settings.update(shown)
        else:
            self._wrong(f"{method} {promise.agent_id}{path}", answer)

    def _wrong(self, what: str, answer: Answer) -> None:
        self.wrongs.append(f"answer: {what} of {self.client.account} was {answer.status}: {answer.body}")


def _change(step: CustomerStep) -> tuple[str, str, Any, dict[str, Any]]:
    """The request of a configuring step, and the agent's fields after it."""
    number = step.choice
    plain: dict[str, dict[str, Any]] = {
        "rename": {"name": f"Name {number}"},
        "set_clock": {"timezone": ZONES[number % len(ZONES)]},
        "speak": {"lang": LANGS[number % len(LANGS)], "extraSoul": f"Say {number} when you are asked."},
    }
    if body := plain.get(step.verb):
        return "PATCH", "", body, body
    if step.verb == "give_key":
        return "PATCH", "/llm-key", {"provider": "openai", "key": f"sk-crash-{number}"}, {"llmProvider": "openai"}
    if step.verb == "take_key":
        return "DELETE", "/llm-key", None, {"llmProvider": None}
    enabled = ["a2a"] if step.verb == "open_a2a" else []
    return "PUT", "/tools", {"enabled": enabled, "mcpServers": []}, {}


def _differences(promise: Promise, shown: dict[str, Any]) -> list[str]:
    return [
        f"setting: {name} of {promise.agent_id} is {shown.get(name)!r}, acknowledged was {value!r}"
        for name, value in promise.settings.items()
        if shown and shown.get(name) != value
    ]


def wait_until(true: Callable[[], object], *, seconds: float, pause: float = 1.0) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True
