"""A hostile engine tries to get round the broker's rules, and to make it fall over."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest

from agents.pod.gateway.egress import authority
from agents.pod.gateway.egress import broker as broker_module
from tests.agents.pod.gateway.egress.asking import SECRET, rules, secret
from tests.agents.pod.gateway.egress.conftest import Engine
from tests.agents.pod.gateway.process import LLM_TOKEN, TICKET_KEY, GatewayProcess
from tests.doubles.certificates import Certificates
from tests.doubles.far_host import FarHost

Broker = Callable[..., GatewayProcess]
PORT = 1  # stands for the host's
TOKEN = base64.b64encode(f"pod:{LLM_TOKEN}".encode()).decode()


def opened(gateway: GatewayProcess) -> socket.socket:
    return socket.create_connection(("127.0.0.1", gateway.start.llm_port), timeout=20)


def exchange(gateway: GatewayProcess, raw: bytes) -> bytes:
    """All that comes back."""
    with opened(gateway) as connection, suppress(ConnectionError):
        connection.sendall(raw)
        return b"".join(iter(lambda: connection.recv(65536), b""))
    return b""


def head_of(target: str, *lines: str, token: str = TOKEN) -> bytes:
    return "\r\n".join([f"CONNECT {target} HTTP/1.1", f"Proxy-Authorization: Basic {token}", *lines, "", ""]).encode()


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def begun(gateway: GatewayProcess, target: str) -> bytes:
    """The answer to CONNECT."""
    with opened(gateway) as connection:
        connection.sendall(head_of(target))
        return connection.recv(65536)


def tunnel(gateway: GatewayProcess, target: str) -> socket.socket:
    """A connection through which this host answers."""
    connection = opened(gateway)
    connection.sendall(head_of(target))
    assert status_of(connection.recv(65536)) == 200
    return connection


def inside(connection: socket.socket, name: str) -> ssl.SSLSocket:
    """TLS as the engine speaks it."""
    context = ssl.create_default_context(cadata=authority.certificate_of(TICKET_KEY))
    return context.wrap_socket(connection, server_hostname=name)


def said(connection: ssl.SSLSocket, raw: bytes) -> bytes:
    connection.sendall(raw)
    with suppress(ConnectionError, TimeoutError):
        return b"".join(iter(lambda: connection.recv(65536), b""))
    return b""


@pytest.mark.parametrize("token", ["", "eA==", base64.b64encode(b"pod:wrong").decode(), "!!!", "w6k6w6k=", TOKEN + "x"])
def test_without_the_pods_token_nothing_is_reached(broker: Broker, plain: FarHost, token: str) -> None:
    gateway = broker(rules(only=[f"web.localhost:{plain.port}"]))
    answer = exchange(gateway, head_of(f"web.localhost:{plain.port}", token=token))
    assert (status_of(answer), b"Proxy-Authenticate: Basic" in answer) == (407, True)
    raw = f"GET http://web.localhost:{plain.port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert status_of(exchange(gateway, raw.encode())) == 407
    assert plain.requests == []


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "a.localhost",
        "10.0.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:169.254.169.254]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "224.0.0.1",
        "255.255.255.255",
    ],
)
def test_addresses_that_are_not_public_are_never_dialled(broker: Broker, plain: FarHost, host: str) -> None:
    gateway = broker(rules(secret("api.localhost"), networks=[]), peer_networks=["127.0.0.0/8", "::1/128"])
    assert status_of(exchange(gateway, head_of(f"{host}:{plain.port}"))) == 403
    raw = f"GET http://{host}:{plain.port}/ HTTP/1.1\r\nHost: x\r\n"
    raw += f"Proxy-Authorization: Basic {TOKEN}\r\nConnection: close\r\n\r\n"
    assert status_of(exchange(gateway, raw.encode())) == 403
    assert plain.requests == []


def test_a_secrets_host_at_a_private_address_is_not_asked(broker: Broker, engine: Engine, far: FarHost) -> None:
    gateway = broker(rules(secret(f"api.localhost:{far.port}"), networks=[]))
    assert engine(gateway).get(f"https://api.localhost:{far.port}/", timeout=20).status_code == 403
    assert far.requests == []


@pytest.mark.parametrize(
    "target", ["127.1:443", "0x7f000001:443", "2130706433:443", "web.localhost", "u@web.localhost:443", "w%65b:443",
               "web.localhost:443:443", "bücher.example:443", "*.localhost:443", "/etc/passwd", "http://a.b/"],
)  # fmt: skip
def test_odd_spellings_are_refused(broker: Broker, target: str) -> None:
    gateway = broker(rules(only=["*.far.localhost"]))
    assert status_of(exchange(gateway, head_of(target))) in {400, 403}


def test_a_trailing_dot_and_another_case_are_the_same_host(broker: Broker, plain: FarHost) -> None:
    gateway = broker(rules(only=[f"web.localhost:{plain.port}"]))
    with tunnel(gateway, f"WEB.LocalHost.:{plain.port}") as connection:
        connection.sendall(b"GET /in HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert status_of(connection.recv(65536)) == 200
    assert [one.path for one in plain.requests] == ["/in"]


@pytest.mark.parametrize("only", [["example.com"], [f"web.localhost:{PORT}"]])
def test_a_tunnel_ends_when_its_host_is_not_allowed_any_more_or_was_not_checked(
    broker: Broker, only: list[str]
) -> None:
    with FarHost() as host:
        gateway = broker(rules(secret("api.localhost")))
        with tunnel(gateway, f"web.localhost:{host.port}") as connection:
            connection.sendall(b"GET /one HTTP/1.1\r\nHost: x\r\n\r\n")
            assert status_of(connection.recv(65536)) == 200
            gateway.configure(egress=rules(only=[entry.replace(str(PORT), str(host.port)) for entry in only]))
            time.sleep(2)
            with suppress(OSError):
                connection.sendall(b"GET /two HTTP/1.1\r\nHost: x\r\n\r\n")
            time.sleep(0.5)
        assert [one.path for one in host.requests] == ["/one"]


def test_an_allowed_name_does_not_open_others_at_the_same_address(
    broker: Broker, far: FarHost, world: Certificates
) -> None:
    gateway = broker(rules(only=[f"one.far.localhost:{far.port}"]))
    context = ssl.create_default_context(cafile=str(world.authority))
    good = tunnel(gateway, f"one.far.localhost:{far.port}")
    with context.wrap_socket(good, server_hostname="one.far.localhost") as tls:
        assert status_of(said(tls, b"GET /good HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")) == 200
    with tunnel(gateway, f"one.far.localhost:{far.port}") as connection, pytest.raises(OSError, match=r".*"):
        context.wrap_socket(connection, server_hostname="two.far.localhost")
    assert [one.path for one in far.requests] == ["/good"]


@pytest.mark.parametrize(
    "raw",
    [
        "GET https://api.github.com/ HTTP/1.1\r\nHost: evil.localhost\r\n\r\n",
        "TRACE / HTTP/1.1\r\nHost: api.localhost\r\n\r\n",
        "CONNECT evil.localhost:443 HTTP/1.1\r\nHost: evil.localhost:443\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: api.localhost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n",
        "GET  HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX-Folded: a\r\n b\r\n\r\n",
    ],
)
def test_odd_requests_inside_of_tls_do_not_reach_the_host(broker: Broker, far: FarHost, raw: str) -> None:
    gateway = broker(rules(secret(f"api.localhost:{far.port}")))
    with inside(tunnel(gateway, f"api.localhost:{far.port}"), "api.localhost") as tls:
        tls.settimeout(3)
        answer = said(tls, raw.encode())
    assert status_of(answer) in {0, 400, 405}
    assert SECRET.encode() not in answer
    assert far.requests == []


def test_another_host_header_inside_of_tls_does_not_take_the_secret_elsewhere(broker: Broker, far: FarHost) -> None:
    gateway = broker(rules(secret(f"api.localhost:{far.port}")))
    with inside(tunnel(gateway, f"api.localhost:{far.port}"), "api.localhost") as tls:
        said(tls, b"GET /echo HTTP/1.1\r\nHost: evil.localhost\r\nConnection: authorization, close\r\n\r\n")
    assert far.requests[0].values("Host") == [f"api.localhost:{far.port}"]
    assert far.requests[0].values("Authorization") == [f"Bearer {SECRET}"]


def test_a_request_cannot_be_hidden_in_the_body_of_another(broker: Broker, far: FarHost, plain: FarHost) -> None:
    gateway = broker(rules(secret(f"api.localhost:{far.port}"), only=[f"web.localhost:{plain.port}"]))
    hidden = b"GET /hidden HTTP/1.1\r\nHost: evil\r\n\r\n"
    raw = f"GET http://web.localhost:{plain.port}/seen HTTP/1.1\r\nHost: evil.localhost\r\n"
    raw += f"Proxy-Authorization: Basic {TOKEN}\r\n\r\n"
    answer = exchange_for(gateway, raw.encode() + hidden, seconds=2)
    assert [(one.path, one.values("Host")) for one in plain.requests] == [("/seen", [f"web.localhost:{plain.port}"])]
    assert b"HTTP/1.1 407" in answer


def exchange_for(gateway: GatewayProcess, raw: bytes, *, seconds: float) -> bytes:
    with opened(gateway) as connection:
        connection.sendall(raw)
        connection.settimeout(seconds)
        found = b""
        with suppress(TimeoutError, ConnectionError):
            while piece := connection.recv(65536):
                found += piece
        return found


@pytest.mark.parametrize(
    "raw",
    [
        b"CONNECT " + b"a" * 40_000,
        b"CONNECT a.b:443 HTTP/1.1\r\n" + b"X: y\r\n" * 10_000,
        b"CONNECT a.b:443 HTTP/1.1\r\nProxy-Authorization: Basic x\r\nProxy-Authorization: Basic y\r\n\r\n",
        b"CONNECT a.b:443 HTTP/1.1\r\n folded: x\r\n\r\n",
        b"CONNECT a.b:443 HTTP/2.0\r\n\r\n",
        b"CONNECT\r\n\r\n" + b"\0" * 100,
        b"\x16\x03\x01" + b"\0" * 100,
        b"PUT ftp://a.b/ HTTP/1.1\r\n\r\n",
        b"GET http://a.b" + b"/" * 100_000 + b" HTTP/1.1\r\n\r\n",
    ],
)
def test_broken_heads_are_refused(broker: Broker, raw: bytes) -> None:
    gateway = broker(rules(only=["a.b"]))
    assert status_of(exchange_for(gateway, raw, seconds=3)) in {0, 400, 407, 414, 431}
    assert gateway.call_model("/llm/openai/v1/responses").status_code == 200


@pytest.fixture
def few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_module, "MOST_OPEN", 8)


def test_there_are_only_so_many_places_and_they_come_free_again(
    few_places: None, broker: Broker, plain: FarHost
) -> None:
    gateway = broker(rules(only=[f"web.localhost:{plain.port}"]), inside=True)
    target = f"web.localhost:{plain.port}"
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(tunnel(gateway, target))
        assert status_of(exchange(gateway, head_of(target))) == 503
        assert gateway.call_model("/llm/openai/v1/responses").status_code == 200
    time.sleep(0.5)
    with tunnel(gateway, target):
        pass


def test_thousands_of_connections_cost_little(broker: Broker, far: FarHost) -> None:
    gateway = broker(rules(only=[f"one.far.localhost:{far.port}"]))
    before = psutil.Process(gateway.pid).memory_info().rss
    with ExitStack() as stack:
        for number in range(900):
            connection = stack.enter_context(opened(gateway))
            connection.sendall(head_of(f"one.far.localhost:{far.port}") if number % 2 else b"CONN")
        time.sleep(2)
        assert gateway.call_model("/llm/openai/v1/responses").status_code == 200
        assert psutil.Process(gateway.pid).memory_info().rss - before < 60 * 2**20
    time.sleep(1)
    with tunnel(gateway, f"one.far.localhost:{far.port}"):
        pass


def test_connections_that_say_nothing_do_not_keep_out_the_calls_of_the_model(broker: Broker, far: FarHost) -> None:
    """There is a place for 512."""
    gateway = broker(rules(only=[f"one.far.localhost:{far.port}"]))
    with ExitStack() as stack:
        for _ in range(700):
            stack.enter_context(opened(gateway)).sendall(b"CONN")
        for _ in range(5):
            assert gateway.call_model("/llm/openai/v1/responses").status_code == 200


def test_half_a_request_to_the_key_proxy_keeps_out_no_call_of_the_model(broker: Broker) -> None:
    for given in (rules(only=["example.com"]), {}):
        gateway = broker(given)
        with ExitStack() as stack:
            for _ in range(600):
                stack.enter_context(opened(gateway)).sendall(b"GET /llm HTTP/1.1\r\nX: ")
            assert gateway.call_model("/llm/openai/v1/responses").status_code == 200


def test_an_answer_that_unpacks_to_a_lot_lets_the_model_be_called(broker: Broker, far: FarHost) -> None:
    gateway = broker(rules(secret(f"api.localhost:{far.port}")))
    with inside(tunnel(gateway, f"api.localhost:{far.port}"), "api.localhost") as tls:
        tls.sendall(b"GET /bomb HTTP/1.1\r\nHost: a\r\n\r\n")
        with ThreadPoolExecutor(1) as threads:
            got = threads.submit(lambda: sum(len(tls.recv(2**20)) for _ in range(200)))
            began, answered = time.monotonic(), 0
            while not got.done() and time.monotonic() - began < 60:
                assert gateway.call_model("/llm/openai/v1/responses").status_code == 200
                answered += 1
            assert got.result() > 0
    assert answered > 3, "otherwise the calls waited for the end of the answer"


def test_a_few_hosts_with_a_secret_are_open_at_once_and_fill_no_memory(broker: Broker, far: FarHost) -> None:
    gateway = broker(rules(secret(f"api.localhost:{far.port}")))
    before = psutil.Process(gateway.pid).memory_info().rss
    with ExitStack() as stack:
        for _ in range(broker_module.MOST_ENDED_HERE):
            tls = stack.enter_context(inside(tunnel(gateway, f"api.localhost:{far.port}"), "api.localhost"))
            tls.sendall(b"GET /big HTTP/1.1\r\nHost: a\r\n\r\n" * 20)
        assert status_of(exchange(gateway, head_of(f"api.localhost:{far.port}"))) == 503
        time.sleep(2)
        assert psutil.Process(gateway.pid).memory_info().rss - before < 160 * 2**20
    until = time.monotonic() + 10
    while status_of(begun(gateway, f"api.localhost:{far.port}")) != 200:
        assert time.monotonic() < until, "the places are not free again"
        time.sleep(0.2)


def test_a_reader_that_takes_nothing_fills_no_memory(broker: Broker, far: FarHost) -> None:
    gateway = broker(rules(secret(f"api.localhost:{far.port}")))
    before = psutil.Process(gateway.pid).memory_info().rss
    with ExitStack() as stack:
        for _ in range(10):
            tls = stack.enter_context(inside(tunnel(gateway, f"api.localhost:{far.port}"), "api.localhost"))
            tls.sendall(b"GET /big HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(3)
        assert psutil.Process(gateway.pid).memory_info().rss - before < 50 * 2**20


def test_many_requests_at_once_are_all_answered(broker: Broker, engine: Engine, far: FarHost) -> None:
    gateway = broker(rules(secret(f"api.localhost:{far.port}")))
    sessions = [engine(gateway) for _ in range(32)]

    def ask(number: int) -> str:
        answer = sessions[number].get(f"https://api.localhost:{far.port}/echo?{number}", timeout=60)
        return str(answer.json()["path"])

    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(ask, range(32))) == [f"/echo?{number}" for number in range(32)]


def test_the_secret_is_in_no_file_and_no_log_of_the_gateway(broker: Broker, engine: Engine, far: FarHost) -> None:
    gateway = broker(rules(secret(f"api.localhost:{far.port}")))
    session = engine(gateway)
    for path in ("/echo", "/odd", "/redirect?to=/x"):
        session.get(f"https://api.localhost:{far.port}{path}", timeout=20)
    gateway.ask("GET", "/health")
    for file in Path(gateway.run_dir).rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file
        assert not file.name.startswith("leaf-")
    assert SECRET not in json.dumps(gateway.ask("GET", "/logs").text)
    environment = psutil.Process(gateway.pid).environ()
    assert SECRET not in str(environment)


def test_a_certificate_of_another_agents_authority_is_not_trusted(broker: Broker, far: FarHost) -> None:
    gateway = broker(rules(secret(f"api.localhost:{far.port}")))
    context = ssl.create_default_context(cadata=authority.certificate_of("another-ticket-key"))
    with tunnel(gateway, f"api.localhost:{far.port}") as connection, pytest.raises(ssl.SSLError):
        context.wrap_socket(connection, server_hostname="api.localhost")
