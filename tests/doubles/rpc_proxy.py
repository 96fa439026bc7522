"""A faulty node: anvil behind a proxy that is down, slow, behind, or on another chain."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import requests

BALANCE_OF = "0x70a08231"


class RpcProxy:
    """A test may change the faults at any time."""

    def __init__(self, upstream: str) -> None:
        self.upstream, self.requests, self.items = upstream, 0, 0
        self.status: int = 200
        self.chain_id: int | None = None
        self.behind = 0  # how many blocks this node is behind
        self.ahead = 0  # how many blocks this node invents on top of the newest
        self.late_final = 0  # how many blocks later than other nodes this node calls a block final
        self.hides = False  # whether every balance is hidden
        self.no_logs = False
        self.no_receipts = False  # whether this node knows no transaction
        self.invents = 0  # invented units of a token, in every balance and as a transfer in every answer
        self.true_balances = False  # if set, invented units are only in transfers, not in balances
        self.max_span = 10**9  # the largest number of blocks in one request for logs
        self.body: bytes | None = None
        self.refuse: str | None = None  # a method that this node answers with an error
        self.fails_after: int | None = None  # the number of requests before the node fails
        self._session = requests.Session()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._session.close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class RpcHandler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                proxy.requests += 1
                calls = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                proxy.items += len(calls)
                body = proxy.body if proxy.body is not None else json.dumps(proxy.answer(calls)).encode()
                late = proxy.fails_after is not None and proxy.requests > proxy.fails_after
                self.send_response(503 if late else proxy.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        return RpcHandler

    def answer(self, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The answers in reverse order, because the order in a batch has no meaning."""
        if self.status != 200:
            return []
        head = int(
            self._post([{"jsonrpc": "2.0", "id": 0, "method": "eth_blockNumber", "params": []}])[0]["result"], 16
        )
        answers = {answer["id"]: answer for answer in self._post([self._seen(call, head) for call in calls])}
        return [self._spoilt(call, answers[call["id"]]) for call in reversed(calls)]

    def _post(self, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        answers: list[dict[str, Any]] = self._session.post(self.upstream, json=calls, timeout=60).json()
        return answers

    def _seen(self, call: dict[str, Any], head: int) -> dict[str, Any]:
        """The call with block names replaced by the numbers of a node that is behind."""
        lags = {"latest": self.behind, "safe": self.behind + 1, "finalized": self.behind + 2 + self.late_final}
        if call["method"] == "eth_getBlockByNumber" and call["params"][0] in lags and self.behind + self.late_final:
            return {**call, "params": [hex(max(0, head - lags[call["params"][0]])), False]}
        return self._made_up(call, head) if self.ahead else call

    def _made_up(self, call: dict[str, Any], head: int) -> dict[str, Any]:
        """The call with invented blocks replaced by the newest real block."""

        def real(block: str) -> str:
            return hex(min(int(block, 16), head)) if block.startswith("0x") else block

        match call["method"], call["params"]:
            case "eth_call", [what, at]:
                return {**call, "params": [what, real(at)]}
            case "eth_getBlockByNumber", [at, whole]:
                return {**call, "params": [real(at), whole]}
            case "eth_getLogs", [where]:
                span = {name: real(where[name]) for name in ("fromBlock", "toBlock")}
                return {**call, "params": [{**where, **span}]}
        return call

    def _spoilt(self, call: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
        if call["method"] == self.refuse:
            return {"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32005, "message": "limit exceeded"}}
        if call["method"] == "eth_getLogs" and _span(call) > self.max_span:
            return {"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32602, "message": "range too large"}}
        if call["method"] == "eth_chainId":
            return {**answer, "result": hex(self.chain_id)} if self.chain_id is not None else answer
        if call["method"] == "eth_getLogs" and self.no_logs:
            return {**answer, "result": []}
        if call["method"] == "eth_getTransactionReceipt" and self.no_receipts:
            return {**answer, "result": None}
        if self.ahead and call["method"] == "eth_getBlockByNumber":
            made_up = hex(int(answer["result"]["number"], 16) + self.ahead)
            return {**answer, "result": {**answer["result"], "number": made_up}}
        if self.invents and call["method"] == "eth_getLogs":
            return {**answer, "result": [*answer["result"], _invented(call["params"][0], self.invents)]}
        return self._inflated(answer) if _asks_balance(call) and not self.true_balances else answer

    def _inflated(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The balance plus the invented units; 0 plus these where balances are hidden."""
        if not self.invents and not self.hides:
            return answer
        there = 0 if self.hides else int(answer["result"], 16)
        return {**answer, "result": f"0x{there + self.invents:064x}"}


def _asks_balance(call: dict[str, Any]) -> bool:
    return bool(call["method"] == "eth_call" and call["params"][0]["data"].startswith(BALANCE_OF))


def _invented(where: dict[str, Any], amount: int) -> dict[str, Any]:
    """An invented transfer to the first requested receiver, in the newest requested block."""
    topic, _, receivers = where["topics"]
    return {
        "address": where["address"][0],
        "topics": [topic, "0x" + "11" * 32, receivers[0]],
        "data": f"0x{amount:064x}",
        "blockNumber": where["toBlock"],
        "blockHash": "0x" + "22" * 32,
        "transactionHash": "0x" + "33" * 32,
        "logIndex": "0x0",
        "removed": False,
    }


def _span(call: dict[str, Any]) -> int:
    where = call["params"][0]
    return int(where["toBlock"], 16) - int(where["fromBlock"], 16) + 1
