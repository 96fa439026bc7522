"""How a peer is asked and how its answers are read, and peers that are slow, endless, lying or not there."""

from __future__ import annotations

import hashlib
import hmac
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from tests.agents.pod.bridge.process import eventually
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.peers.conftest import PEER_TOKEN, ask, failure, said, use, with_peers
from tests.agents.pod.gateway.process import GatewayProcess
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn
from tests.doubles.peer import Json, PeerCall, PeerDouble, Raw, completed, dripping, endless, informational

OLD_CARD = {"name": "Bob", "protocolVersion": "0.3.0", "preferredTransport": "JSONRPC"}


def test_the_first_message_says_one_hop_and_a_conversation_goes_on(asking: GatewayProcess, peer: PeerDouble) -> None:
    conversation = ask(asking, "one")["conversation"]
    ask(asking, "two", conversation=conversation)
    first, second = (call.params["message"] for call in peer.calls)
    assert first["metadata"] == {"agentpods/hops": 1}
    assert ("contextId" in first, second["contextId"]) == (False, "talk-1")
    assert [call.version for call in peer.calls] == ["1.0", "1.0"]


def test_a_peer_of_the_old_version_is_spoken_to_in_it(asking: GatewayProcess, peer: PeerDouble) -> None:
    peer.card = {**OLD_CARD, "url": f"{peer.url}/rpc"}
    status = {"state": "completed", "message": {"parts": [{"kind": "text", "text": "aye"}]}}
    peer.answer = lambda _: {"result": {"kind": "task", "id": "t", "contextId": "c", "status": status}}
    _forget(asking, peer)
    assert ask(asking)["reply"] == "aye"
    call = peer.calls[-1]
    assert (call.method, call.version) == ("message/send", "0.3")
    assert call.params["message"]["parts"] == [{"kind": "text", "text": "hello"}]
    _forget(asking, peer)


def test_a_task_that_goes_on_is_asked_for_until_it_is_over(asking: GatewayProcess, peer: PeerDouble) -> None:
    working: Json = {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}

    def answer(call: PeerCall) -> Json:
        if call.method == "SendMessage":
            return {"result": {"task": working}}
        return {"result": completed("at last")["task"] if len(peer.calls) > 2 else working}

    peer.answer = answer
    assert ask(asking)["reply"] == "at last"
    assert [call.method for call in peer.calls] == ["SendMessage", "GetTask", "GetTask"]


@pytest.mark.parametrize(
    ("parts", "reply"),
    [
        ([{"text": "a"}, {"text": "b"}], "a\nb"),
        ([{"data": {"depth": 7}}], '{"depth": 7}'),
        ([{"raw": "AAAA", "filename": "x.png", "mediaType": "image/png"}], "[a file: x.png, image/png]"),
        ([{"file": {"name": "x.png", "mimeType": "image/png"}}], "[a file: x.png, image/png]"),
        ([{"url": "http://x"}], "[a file: without a name, of an unknown kind]"),
        ([{"text": "\ud800"}], "?"),
        (["nothing", None, {"text": 5}, {"text": "still"}], None),
    ],
)
def test_parts_of_every_kind_become_text(
    asking: GatewayProcess, peer: PeerDouble, parts: list[Any], reply: str | None
) -> None:
    peer.answer = lambda _: {"result": {"message": {"role": "ROLE_AGENT", "parts": parts}}}
    heard = ask(asking)["reply"]
    assert heard == reply if reply else heard.endswith("still")


def test_a_long_reply_is_cut_and_says_so(asking: GatewayProcess, peer: PeerDouble) -> None:
    peer.answer = lambda _: {"result": completed("x" * 100_000)}
    heard = ask(asking)
    assert (len(heard["reply"]), heard["cut"]) == (32_000, True)


def _raw(pieces: Iterable[bytes], status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Raw:
    return Raw(iter(pieces), status, headers)


_NESTED = b'{"result": {"task": ' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}}"
_DEEP_DATA = b'{"result": {"message": {"parts": [{"data":' + b"[" * 900 + b"]" * 900 + b"}]}}}"
_LOCATION = (("Location", "http://169.254.169.254/"),)
# The answer of a peer, and a word of the text that the model gets.
NO_ANSWERS: dict[str, tuple[Callable[[], Json | Raw], str]] = {
    "no json": (lambda: _raw([b"{"]), "not JSON"),
    "brackets": (lambda: _raw([b"[" * 200_000]), "not JSON"),
    "a list": (lambda: _raw([b"[]"]), "not a JSON object"),
    "nested": (lambda: _raw([_NESTED]), "neither a task"),
    "endless": (lambda: _raw(endless()), "more than"),
    "flooding": (lambda: _raw(informational(), 0), "broke off"),
    "elsewhere": (lambda: _raw([b""], 302, _LOCATION), "redirects"),
    "elsewhere with body": (lambda: _raw([b""], 307, _LOCATION), "redirects"),
    "refused": (lambda: _raw([b"no"], 401), "refused our token"),
    "broken": (lambda: _raw([b"no"], 500), "answered 500"),
    "packed": (lambda: _raw([b"\x1f\x8b"], headers=(("Content-Encoding", "gzip"),)), "not JSON"),
    "an error": (lambda: {"error": {"code": -32004, "message": "not  that\nway"}}, "it refused: not that way"),
    "an odd error": (lambda: {"error": ["odd"]}, "it refused"),
    "nothing": (lambda: {"result": None}, "neither a task"),
    "no state": (lambda: {"result": {"task": {"status": []}}}, "neither a task"),
    "failed": (lambda: {"result": {"task": {"status": {"state": "TASK_STATE_FAILED"}}}}, "ended as failed"),
}


@pytest.mark.parametrize("case", list(NO_ANSWERS))
def test_an_answer_that_is_none_is_a_failure_that_the_model_reads(
    asking: GatewayProcess, peer: PeerDouble, case: str
) -> None:
    answer, word = NO_ANSWERS[case]
    peer.answer = lambda _: answer()
    assert word in failure(asking)


def test_deep_data_is_passed_on_or_a_failure_and_nothing_breaks(asking: GatewayProcess, peer: PeerDouble) -> None:
    peer.answer = lambda _: _raw([_DEEP_DATA])
    use(asking, "send_message", peer="bob", message="hi")
    peer.reset()
    assert ask(asking)["reply"] == "as you say"
    assert "unexpected" not in asking.log


# The contents of a card, and a word of the text that the model gets.
BAD_CARDS: dict[str, tuple[dict[str, Any], str]] = {
    "empty": ({}, "offers no JSON-RPC"),
    "nonsense": ({"supportedInterfaces": "x", "url": 5, "additionalInterfaces": [3]}, "offers no JSON-RPC"),
    "another transport": (
        {"supportedInterfaces": [{"url": "x", "protocolBinding": "GRPC", "protocolVersion": "1.0"}]},
        "offers no JSON-RPC",
    ),
    "metadata service": ({**OLD_CARD, "url": "http://169.254.169.254/latest"}, "not on the public internet"),
    "private": ({**OLD_CARD, "url": "http://10.0.0.1/"}, "not on the public internet"),
    "mapped": ({**OLD_CARD, "url": "http://[::ffff:10.0.0.1]/"}, "not on the public internet"),
    "another scheme": ({**OLD_CARD, "url": "ftp://example.com/"}, "cannot be used"),
    "credentials": ({**OLD_CARD, "url": "http://a:b@127.0.0.1/"}, "cannot be used"),
    "no address": ({**OLD_CARD, "url": "::"}, "cannot be used"),
}


@pytest.mark.parametrize("case", list(BAD_CARDS))
def test_a_card_leads_to_no_address_that_peers_must_not_have(
    asking: GatewayProcess, peer: PeerDouble, case: str
) -> None:
    _forget(asking, peer)
    peer.card, word = BAD_CARDS[case]
    assert word in failure(asking)
    assert peer.calls == []


def test_outside_of_development_a_peer_on_loopback_is_not_dialled(
    start_gateway: StartGateway, peer: PeerDouble
) -> None:
    named = {"name": "bob", "url": peer.url.replace("127.0.0.1", "bob.localhost")}
    here = {"name": "here", "url": peer.url}
    gateway = start_gateway(**{**with_peers(named, here), "peer_networks": []})
    for name in ("bob", "here"):
        assert "not on the public internet" in failure(gateway, peer=name)
    assert peer.card_tokens == []


def test_names_below_localhost_are_this_machine(start_gateway: StartGateway, peer: PeerDouble) -> None:
    """With `make run`, agents have such host names without a name server."""
    gateway = start_gateway(**with_peers({"name": "bob", "url": peer.url.replace("127.0.0.1", "bob.pods.localhost")}))
    assert ask(gateway)["reply"] == "as you say"


def test_few_calls_are_under_way_at_a_time(asking: GatewayProcess, peer: PeerDouble) -> None:
    ask(asking)
    go = threading.Event()

    def answer(_: PeerCall) -> Json:
        go.wait(10)
        return {"result": completed()}

    peer.answer = answer
    with ThreadPoolExecutor(6) as threads:
        asked = [threads.submit(use, asking, "send_message", peer="bob", message="hi") for _ in range(6)]
        refused = [done.result() for done in _first(asked, 2)]
        eventually(lambda: peer.most_at_once == 4, what="four calls at the peer")
        go.set()
        results = [one.result() for one in asked]
    assert all("4 calls to peers are under way" in said(result)["error"] for result in refused)
    assert (sum(not result.is_error for result in results), peer.most_at_once) == (4, 4)


def _first(asked: list[Any], count: int) -> list[Any]:
    until = time.monotonic() + 10
    while sum(one.done() for one in asked) < count and time.monotonic() < until:
        time.sleep(0.05)
    return [one for one in asked if one.done()]


@pytest.mark.slow
def test_a_call_ends_before_the_turn_that_made_it(
    asking: GatewayProcess, peer: PeerDouble, bridge: BridgeDouble
) -> None:
    """A turn may take 110 s, and each later agent in a chain has 15 s less. Here the fourth agent asks the fifth."""
    peer.answer = lambda _: _raw(dripping())
    bridge.turn = lambda _: [{"type": "done", "reply": failure(asking)}]
    started = time.monotonic()
    assert "within 35 s" in _reply_of(_tell(asking, hops=3))
    assert 34 < time.monotonic() - started < 45


def _tell(gateway: GatewayProcess, *, hops: Any) -> Any:
    """Another agent sends a message to this agent."""
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "go"}], "metadata": {"agentpods/hops": hops}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    headers = {"Authorization": f"Bearer {gateway.start.secrets.a2a_token}", "A2A-Version": "1.0"}
    return requests.post(f"{gateway.public}/a2a", json=body, headers=headers, timeout=60).json()


def _reply_of(answer: Any) -> str:
    text: str = answer["result"]["task"]["artifacts"][0]["parts"][0]["text"]
    return text


@pytest.mark.parametrize(("hops", "next_hop"), [(0, 1), (1, 2), (2.0, 3), ("9", 1), (True, 1), (-3, 1), ([], 1)])
def test_each_agent_of_a_chain_counts_itself(
    asking: GatewayProcess, peer: PeerDouble, bridge: BridgeDouble, hops: Any, next_hop: int
) -> None:
    bridge.turn = lambda _: [{"type": "done", "reply": ask(asking)["reply"]}]
    assert _reply_of(_tell(asking, hops=hops)) == "as you say"
    assert peer.calls[-1].params["message"]["metadata"] == {"agentpods/hops": next_hop}


def test_a_peer_is_told_for_which_limited_keys_it_is_asked_and_strangers_cannot_read_it(
    asking: GatewayProcess, peer: PeerDouble, bridge: BridgeDouble
) -> None:
    key_id, now = "key_0123456789abcdef01234567", time.time()
    key = {"id": key_id, "name": "driver", "now": now, "day": "2026-11-29", "book": "", "ack": 0}
    bridge.turn = lambda _: [{"type": "done", "reply": ask(asking)["reply"]}]
    told = []
    for at, limits in enumerate(({"day": 10**10}, {})):
        state = {**key, "now": now + at, "limits": limits, "spent": {"day": 0, "month": 0}}
        assert asking.ask("POST", "/chat", json={"message": "hi", "api_key": state}).status_code == 200
        told.append(peer.calls[-1].params["message"]["metadata"])
    mark = hmac.new(PEER_TOKEN.encode(), key_id.encode(), hashlib.sha256).hexdigest()
    assert told == [{"agentpods/hops": 1, "agentpods/keys": [mark]}, {"agentpods/hops": 1}]


@pytest.mark.parametrize("hops", [5, 10**400, 1e300])
def test_a_message_that_has_passed_too_many_agents_is_refused(
    asking: GatewayProcess, bridge: BridgeDouble, hops: Any
) -> None:
    assert _tell(asking, hops=hops)["error"]["code"] == -32004
    assert bridge.turns == []


def test_the_last_agent_of_a_chain_asks_nobody(asking: GatewayProcess, peer: PeerDouble, bridge: BridgeDouble) -> None:
    bridge.turn = lambda _: [{"type": "done", "reply": failure(asking)}]
    assert "answer it yourself" in _reply_of(_tell(asking, hops=4))
    assert peer.calls == []


def test_two_agents_that_ask_each_other_for_ever_come_to_an_end(
    start_gateway: StartGateway, asking: GatewayProcess, bridge: BridgeDouble
) -> None:
    """Here both gateways have the same engine, which passes on each message."""
    loop = start_gateway(**with_peers())
    loop.configure(**with_peers({"name": "bob", "url": f"{loop.public}/a2a", "token": "own-token-0123456789"}))

    def pass_on(turn: ReceivedTurn) -> Iterable[Event]:
        result = use(loop, "send_message", peer="bob", message=turn.message)
        yield {"type": "done", "reply": str(said(result))}

    bridge.turn = pass_on
    assert "answer it yourself" in loop.chat("begin").json()["reply"]
    assert len(bridge.turns) == 5


def _forget(gateway: GatewayProcess, peer: PeerDouble) -> None:
    """The gateway remembers a card for some minutes, unless a call failed. So let one call fail."""
    answer, peer.answer = peer.answer, lambda _: {"error": {"message": "again"}}
    failure(gateway)
    peer.answer = answer
    peer.calls.clear()
