"""The engine asks hosts through the egress broker: secrets are added for it, and the list of hosts is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import requests

from tests.agents.pod.gateway.egress.asking import SECRET, rules, secret
from tests.agents.pod.gateway.egress.conftest import Engine
from tests.agents.pod.gateway.process import GatewayProcess
from tests.doubles.certificates import Certificates
from tests.doubles.far_host import BIG_PIECES, PIECE, FarHost

Broker = Callable[..., GatewayProcess]


def refusal(session: requests.Session, url: str) -> str:
    """Why the proxy refuses this `https://` address."""
    with pytest.raises(requests.exceptions.ProxyError) as caught:
        session.get(url, timeout=20)
    return str(caught.value)


def log(gateway: GatewayProcess) -> dict[tuple[str, bool], int]:
    """Host and whether it was refused, with the count."""
    body: dict[str, Any] = {"book": "", "ack": 0, "now": 1e9, "revision": 1, "limits": {}, "day": "2026-11-28"}
    body |= {"spent": {}, "prices": {}, "egress": {"book": "", "ack": 0}}
    rows = gateway.ask("POST", "/spending", json=body).json()["egress"]["rows"]
    return {(row["host"], row["refused"]): row["count"] for row in rows}


def test_the_host_gets_the_secret_that_the_engine_does_not_have(broker: Broker, engine: Engine, far: FarHost) -> None:
    gateway = broker(rules(secret(f"api.localhost:{far.port}")))
    answer = engine(gateway).get(f"https://api.localhost:{far.port}/echo?x=1", timeout=20)
    assert answer.status_code == 200
    assert far.requests[0].values("Authorization") == [f"Bearer {SECRET}"]
    assert (far.requests[0].path, far.requests[0].values("Host")) == ("/echo?x=1", [f"api.localhost:{far.port}"])
    assert SECRET not in answer.text
    assert SECRET not in str(answer.headers)
    assert "[secret]" in answer.text
    assert "[secret]" in answer.headers["X-Repeated"]
    assert "Alt-Svc" not in answer.headers


def test_a_header_that_the_engine_sends_is_replaced(broker: Broker, engine: Engine, far: FarHost) -> None:
    gateway = broker(rules(secret(f"api.localhost:{far.port}", header="X-Api-Key", prefix="")))
    sent = {"X-API-KEY": "placeholder", "X_Api_Key": "other", "Proxy-Evil": "1", "X-Kept": "yes"}
    engine(gateway).post(f"https://api.localhost:{far.port}/echo", data=b"hello", headers=sent, timeout=20)
    request = far.requests[0]
    assert request.values("X-Api-Key") == [SECRET]
    assert request.values("X_Api_Key") == request.values("Proxy-Evil") == request.values("Proxy-Authorization") == []
    assert (request.values("X-Kept"), request.body) == (["yes"], b"hello")


def test_without_a_list_other_hosts_are_reached_without_the_secret(
    broker: Broker, engine: Engine, far: FarHost, world: Certificates
) -> None:
    gateway = broker(rules(secret(f"api.localhost:{far.port}")))
    session = engine(gateway, world.authority.read_text())
    answer = session.get(f"https://one.far.localhost:{far.port}/echo", timeout=20)
    assert answer.status_code == 200
    assert far.requests[0].values("Authorization") == []
    assert SECRET not in answer.text


def test_a_plain_request_never_carries_the_secret(broker: Broker, engine: Engine, plain: FarHost) -> None:
    gateway = broker(rules(secret(f"api.localhost:{plain.port}")))
    answer = engine(gateway).get(f"http://api.localhost:{plain.port}/echo?a=b", timeout=20)
    assert (answer.status_code, plain.requests[0].path) == (200, "/echo?a=b")
    assert plain.requests[0].values("Authorization") == []
    assert plain.requests[0].values("Proxy-Authorization") == []


def test_a_redirect_does_not_carry_the_secret(
    broker: Broker, engine: Engine, far: FarHost, world: Certificates
) -> None:
    gateway = broker(rules(secret(f"api.localhost:{far.port}")))
    session = engine(gateway, world.authority.read_text())
    to = f"https://two.far.localhost:{far.port}/echo"
    answer = session.get(f"https://api.localhost:{far.port}/redirect?to={to}", timeout=20)
    assert (answer.status_code, answer.url) == (200, to)
    assert [bool(one.values("Authorization")) for one in far.requests] == [True, False]


def test_only_hosts_of_the_list_and_of_secrets_are_reached(
    broker: Broker, engine: Engine, far: FarHost, plain: FarHost, world: Certificates
) -> None:
    only = [f"*.far.localhost:{far.port}", f"web.localhost:{plain.port}"]
    gateway = broker(rules(secret(f"api.localhost:{far.port}"), only=only))
    session = engine(gateway, world.authority.read_text())
    for host in ("api.localhost", "x.far.localhost"):
        assert session.get(f"https://{host}:{far.port}/echo", timeout=20).status_code == 200
    assert session.get(f"http://web.localhost:{plain.port}/echo", timeout=20).status_code == 200
    assert "403" in refusal(session, f"https://far.localhost:{far.port}/echo")
    assert "403" in refusal(session, f"https://evil.localhost:{far.port}/echo")
    assert session.get(f"http://evil.localhost:{plain.port}/echo", timeout=20).status_code == 403
    assert session.get(f"http://web.localhost:{plain.port + 1}/echo", timeout=20).status_code == 403
    assert len(far.requests) + len(plain.requests) == 3
    assert log(gateway) == {
        (f"api.localhost:{far.port}", False): 1,
        (f"x.far.localhost:{far.port}", False): 1,
        (f"web.localhost:{plain.port}", False): 1,
        (f"far.localhost:{far.port}", True): 1,
        (f"evil.localhost:{far.port}", True): 1,
        (f"evil.localhost:{plain.port}", True): 1,
        (f"web.localhost:{plain.port + 1}", True): 1,
    }


def test_changes_reach_a_live_gateway_at_once(broker: Broker, engine: Engine, far: FarHost) -> None:
    host = f"api.localhost:{far.port}"
    gateway = broker(rules(secret(host)))
    session = engine(gateway)
    session.get(f"https://{host}/echo", timeout=20)
    assert gateway.configure(egress=rules(secret(host, value="another-secret-0123"))).status_code == 200
    session.get(f"https://{host}/echo", timeout=20)  # over the connection that is open
    assert far.requests[1].values("Authorization") == ["Bearer another-secret-0123"]
    gateway.configure(egress=rules(only=["example.com"]))
    assert session.get(f"https://{host}/echo", timeout=20).status_code == 403
    gateway.configure(egress={})
    assert refusal(engine(gateway), f"https://{host}/echo")
    assert len(far.requests) == 2


def test_what_is_large_passes_both_ways_and_is_counted(broker: Broker, engine: Engine, far: FarHost) -> None:
    gateway = broker(rules(secret(f"api.localhost:{far.port}")))
    session = engine(gateway)
    size = len(PIECE) * BIG_PIECES
    answer = session.get(f"https://api.localhost:{far.port}/big", timeout=60)
    assert answer.content == PIECE * BIG_PIECES
    sent = iter([PIECE] * 300)
    assert session.post(f"https://api.localhost:{far.port}/echo", data=sent, timeout=60).status_code == 200
    assert far.requests[1].size == len(PIECE) * 300
    session.close()
    assert size > 10_000_000


@pytest.mark.parametrize("path", ["/echo", "/packed", "/drip"])
def test_an_answer_that_repeats_the_secret_is_masked(broker: Broker, engine: Engine, far: FarHost, path: str) -> None:
    gateway = broker(rules(secret(f"api.localhost:{far.port}")))
    answer = engine(gateway).get(f"https://api.localhost:{far.port}{path}", timeout=20)
    assert answer.status_code == 200
    assert (SECRET in answer.text, "[secret]" in answer.text) == (False, True)


def test_no_name_of_a_header_and_no_folded_header_repeats_the_secret(
    broker: Broker, engine: Engine, far: FarHost
) -> None:
    gateway = broker(rules(secret(f"api.localhost:{far.port}")))
    headers = engine(gateway).get(f"https://api.localhost:{far.port}/hidden", timeout=20).headers
    shown = "".join(f"{name}{value}" for name, value in headers.items())
    assert SECRET.lower() not in "".join(shown.lower().split())
    assert (headers["X-Folded"], headers["X-Kept"]) == ("[secret]", "a b")


def test_an_answer_that_cannot_be_masked_is_refused(broker: Broker, engine: Engine, far: FarHost) -> None:
    gateway = broker(rules(secret(f"api.localhost:{far.port}")))
    assert engine(gateway).get(f"https://api.localhost:{far.port}/odd", timeout=20).status_code == 502


def test_the_secret_goes_only_to_a_host_that_proves_its_name(
    broker: Broker, engine: Engine, world: Certificates
) -> None:
    for context in (world.server("other.example"), world.server("api.localhost", expired=True),
                    world.server("api.localhost", self_signed=True)):  # fmt: skip
        with FarHost(context) as host:
            gateway = broker(rules(secret(f"api.localhost:{host.port}")))
            answer = engine(gateway).get(f"https://api.localhost:{host.port}/echo", timeout=20)
            assert (answer.status_code, host.requests) == (502, [])
            gateway.stop()


def test_a_host_that_is_not_there_is_told(broker: Broker, engine: Engine) -> None:
    gateway = broker(rules(secret("api.localhost:9"), only=["web.localhost:9"]))
    assert engine(gateway).get("https://api.localhost:9/", timeout=20).status_code == 502
    assert "502" in refusal(engine(gateway), "https://web.localhost:9/")
    assert engine(gateway).get("http://web.localhost:9/", timeout=20).status_code == 502


def test_the_key_proxy_answers_at_the_same_port_as_before(broker: Broker) -> None:
    gateway = broker(rules(secret("api.localhost")))
    assert gateway.call_model("/llm/openai/v1/responses").status_code == 200
    assert requests.get(f"{gateway.llm}/anything", timeout=20).status_code == 404
    assert requests.options(f"{gateway.llm}", timeout=20).status_code in {401, 404, 405}


def test_the_log_of_hosts_is_handed_over_until_it_is_confirmed(broker: Broker, engine: Engine) -> None:
    gateway = broker(rules(only=["example.com"]))
    engine(gateway).get("http://evil.example/", timeout=20)
    body: dict[str, Any] = {"book": "", "ack": 0, "now": 1e9, "revision": 1, "limits": {}, "day": "2026-11-28"}
    body |= {"spent": {}, "prices": {}}
    assert "egress" not in gateway.ask("POST", "/spending", json=body).json()

    def exchange(book: str, ack: int) -> dict[str, Any]:
        told = gateway.ask("POST", "/spending", json={**body, "egress": {"book": book, "ack": ack}}).json()["egress"]
        return dict(told)

    first = exchange("", 0)
    assert [one["host"] for one in first["rows"]] == ["evil.example:80"]
    assert exchange("another", 5) == first
    assert exchange(first["book"], 1) == {"book": first["book"], "number": 1, "rows": [], "walled": False}
    assert json.dumps(first).count("evil") == 1
