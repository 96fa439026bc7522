"""Reads a gateway's replay as the control plane does, and lets an engine call its model in a turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import requests

from tests.agents.pod.gateway.process import GatewayProcess
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn, echo


class ReplayReader:
    """Exchanges figures, and collects the entries of each new batch."""

    def __init__(self, gateway: GatewayProcess) -> None:
        self.gateway = gateway
        self.book, self.ack = "", 0
        self.entries: list[dict[str, Any]] = []
        self.not_kept: dict[str, int] = {}
        self.now = time.time()

    def ask(self, **other: Any) -> dict[str, Any]:
        self.now += 0.001
        day = time.strftime("%Y-%m-%d", time.gmtime(self.now))
        known = {"book": self.book, "ack": self.ack, "now": self.now, "revision": 1, "day": day, "replay": True}
        news = {**known, "limits": {}, "spent": {}, "prices": {}, **other}
        answer = self.gateway.ask("POST", "/spending", json=news)
        assert answer.status_code == 200, answer.text
        said: dict[str, Any] = answer.json()
        return said

    def exchange(self, **other: Any) -> ReplayReader:
        said = self.ask(**other)
        if (said["book"], said["number"]) != (self.book, self.ack):
            self.entries += said["replay"]["entries"]
            for day, count in said["replay"]["not_kept"].items():
                self.not_kept[day] = self.not_kept.get(day, 0) + count
        self.book, self.ack = said["book"], said["number"]
        return self

    def kinds(self) -> list[str]:
        return [entry["kind"] for entry in self.entries]

    def only(self, kind: str) -> dict[str, Any]:
        (found,) = [entry for entry in self.entries if entry["kind"] == kind]
        return found


def call(gateway: GatewayProcess, **body: Any) -> requests.Response:
    sent = {"model": "gpt-5", "stream": True, "messages": [], **body}
    return gateway.call_model("/llm/openai/v1/chat/completions", json=sent)


def during(bridge: BridgeDouble, do: Callable[[], object]) -> None:
    """Do this in the middle of each turn, as an engine that calls its model."""

    def turn(received: ReceivedTurn) -> Iterable[Event]:
        do()
        yield from echo(received)

    bridge.turn = turn
