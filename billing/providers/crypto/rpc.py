"""JSON-RPC calls to EVM nodes: in batches, with several nodes, of which none is trusted blindly.

One node does a piece of work from beginning to end, so that all answers come from the same view of the chain. If a node
fails in the middle, its work is dropped and the next node starts again. Every read names its block.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import orjson
import requests

from billing.providers.crypto.errors import EndpointFailed, Unknown
from config import answers

log = logging.getLogger(__name__)

CONNECT_SECONDS, READ_SECONDS = 3, 10
LONGEST_SECONDS = 60  # for one answer, also if its bytes arrive slowly
LARGEST_BYTES = 32 * 2**20
MAX_BLOCK = 2**53
HASH = re.compile(r"0x[0-9a-fA-F]{64}")
LAG_BLOCKS = 3  # a node may be this far behind the newest block that any node told of

T = TypeVar("T")
Call = tuple[str, list[Any]]


@dataclass(frozen=True, slots=True)
class NodeError:
    """A node's error for one item of a batch."""

    code: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    number: int
    hash: str
    timestamp: int


class Node:
    """One node for one piece of work. `latest` and `final` are read once and do not change."""

    def __init__(self, url: str, session: requests.Session, *, batch: int) -> None:
        self._url, self._session, self._batch = url, session, batch
        self.name = urlsplit(url).hostname or "?"  # only the host: a URL may contain a secret

    def open(self, *, chain_id: int, confirmation: str, depth: int | None, at_least: int) -> None:
        """Ask which chain this is and what its newest block is. Raises EndpointFailed if the node cannot be trusted."""
        tag = "latest" if depth is not None else confirmation
        calls: list[Call] = [
            ("eth_chainId", []),
            ("eth_getBlockByNumber", ["latest", False]),
            ("eth_getBlockByNumber", [tag, False]),
        ]
        chain, latest, final = (self.must(answer) for answer in self.batch(calls))
        if number(chain) != chain_id:
            log.error("an RPC endpoint is of another chain", extra={"endpoint": self.name, "chain": number(chain)})
            raise EndpointFailed(f"chain id {number(chain)} instead of {chain_id}")
        self.latest, marked = block_in(latest), block_in(final)
        if self.latest.number < at_least - LAG_BLOCKS:
            raise EndpointFailed(f"at block {self.latest.number}, while {at_least} is known")
        self.final = marked.number if depth is None else max(0, self.latest.number - depth)
        if self.final > self.latest.number:
            raise EndpointFailed("the final block is newer than the newest block")

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        """One result or Refused per call, in the order of the calls, in as many requests as needed."""
        found: list[Any] = []
        for begin in range(0, len(calls), self._batch):
            found += self._post(calls[begin : begin + self._batch])
        return found

    def must(self, answer: Any) -> Any:
        if isinstance(answer, NodeError):
            raise EndpointFailed(f"error {answer.code}: {answer.message[:200]}")
        return answer

    def _post(self, calls: Sequence[Call]) -> list[Any]:
        until = time.monotonic() + LONGEST_SECONDS
        asked = [
            {"jsonrpc": "2.0", "id": index, "method": method, "params": params}
            for index, (method, params) in enumerate(calls)
        ]
        try:
            with self._session.post(
                self._url, json=asked, timeout=(CONNECT_SECONDS, READ_SECONDS), allow_redirects=False, stream=True
            ) as answer:
                if answer.status_code != 200:
                    raise EndpointFailed(f"status {answer.status_code}")
                body = answers.body_of(answer, at_most=LARGEST_BYTES, until=until, refuse=EndpointFailed)
                given = orjson.loads(body)  # orjson limits the depth of nesting
        except (OSError, ValueError) as error:
            raise EndpointFailed(type(error).__name__) from error
        return _in_order(given, len(calls))


def _in_order(given: Any, count: int) -> list[Any]:
    """Answers may come in any order. Each must be there exactly once."""
    if not isinstance(given, list):
        raise EndpointFailed("not an answer to a batch")
    known: dict[int, Any] = {}
    for item in given:
        if not isinstance(item, dict) or type(item.get("id")) is not int:
            raise EndpointFailed("not an answer to a batch")
        known[item["id"]] = _answer(item)
    if known.keys() != set(range(count)):
        raise EndpointFailed("answers are missing")
    return [known[index] for index in range(count)]


def _answer(item: dict[str, Any]) -> Any:
    error = item.get("error")
    if error is None:
        return item.get("result")
    if not isinstance(error, dict):
        raise EndpointFailed("an error without its fields")
    code = error.get("code")
    return NodeError(code if isinstance(code, int) else 0, str(error.get("message", "")))


def number(value: Any) -> int:
    """The integer in a hexadecimal value, from 0 to 2^256 - 1. Raises EndpointFailed."""
    try:
        found = int(value, 16)
    except (TypeError, ValueError) as error:
        raise EndpointFailed(f"{str(value)[:80]!r} is not a number") from error
    if not 0 <= found < 2**256:
        raise EndpointFailed(f"{str(value)[:80]!r} is too large or negative")
    return found


def block(at: int) -> Call:
    return "eth_getBlockByNumber", [hex(at), False]


def block_in(value: Any) -> Block:
    if not isinstance(value, dict) or not HASH.fullmatch(str(value.get("hash"))):
        raise EndpointFailed("no such block")
    found = Block(number=number(value.get("number")), hash=value["hash"], timestamp=number(value.get("timestamp")))
    if found.number >= MAX_BLOCK:
        raise EndpointFailed(f"block number {found.number} is impossible")
    return found


def ask(
    urls: Sequence[str],
    work: Callable[[Node], T],
    *,
    chain_id: int,
    confirmation: str,
    depth: int | None,
    at_least: int,
    batch: int,
) -> T:
    """Let the first node that can be trusted do the work. Raises Unknown if there is none."""
    for url in urls:
        with requests.Session() as session:
            session.trust_env = False
            node = Node(url, session, batch=batch)
            try:
                node.open(chain_id=chain_id, confirmation=confirmation, depth=depth, at_least=at_least)
                return work(node)
            except EndpointFailed as failure:
                log.warning("an RPC endpoint failed: %s", failure, extra={"endpoint": node.name})
    raise Unknown(f"none of {len(urls)} endpoints gave a usable answer")
