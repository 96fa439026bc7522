"""The web server: a slow, disconnecting or odd client does no harm to other clients."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from config.serving.bodies import MAX_BYTES
from config.serving.wsgi import UNREADABLE
from tests.config.serving.application import GRACE_SECONDS, LISTED, UNREAD_SECONDS
from tests.config.serving.front import FrontProcess, is_ended
from tests.patience import Patience

pytestmark = pytest.mark.unmeasured

RUNNING = 2  # as in tests/config/serving/application.py
NOTHING = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that accepts connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        yield server


def slow(path: str = "/echo", length: int = 4000) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{{".encode()


def everything(connection: socket.socket) -> bytes:
    """Everything received until the server closes the connection."""
    said = bytearray()
    while piece := connection.recv(65_536):
        said += piece
    return bytes(said)


def test_slow_bodies_hold_up_nobody_else_and_are_closed(front: FrontProcess) -> None:
    with ExitStack() as stack:
        crowd = [stack.enter_context(front.dial(slow())) for _ in range(300)]
        assert front.get("/health").json() == {"status": "ok"}
        assert front.post("/echo", b"hello").json()["body"] == "hello"
        for connection in crowd:
            said = everything(connection)
            assert said.startswith(b"HTTP/1.1 408 ")
            assert json.loads(said.partition(b"\r\n\r\n")[2])["error"] == "BAD_REQUEST"


def test_a_body_that_trickles_is_closed_however_steadily_it_comes(front: FrontProcess) -> None:
    with front.dial(slow()) as connection:
        connection.settimeout(0.1)
        said, until = b"", time.monotonic() + 20
        while not said and time.monotonic() < until:
            connection.sendall(b" ")
            try:
                said = connection.recv(65_536)
            except TimeoutError:
                continue
    assert said.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("in_chunks", [False, True])
def test_a_body_longer_than_a_mebibyte_is_refused_before_it_is_whole(front: FrontProcess, *, in_chunks: bool) -> None:
    body = b" " * (MAX_BYTES + 1)
    refused = front.post("/echo", iter([body[:1000], body[1000:]]) if in_chunks else body)
    assert refused.status_code == 413
    assert refused.json() == {"error": "BAD_REQUEST", "message": f"body: larger than {MAX_BYTES} bytes"}
    assert refused.headers["Link"] == '<https://x/docs#errors>; rel="help"'
    assert refused.headers["Request-Id"].startswith("req_")


@pytest.mark.sampled
@pytest.mark.parametrize("length", [0, 1, 65_536, MAX_BYTES])
@pytest.mark.parametrize("in_chunks", [False, True])
def test_a_body_arrives_whole_however_its_end_is_told(front: FrontProcess, length: int, *, in_chunks: bool) -> None:
    body = bytes(65 + index % 26 for index in range(length))
    said = front.post("/echo", iter([body[:10], body[10:]]) if in_chunks and length > 10 else body).json()
    assert said["body"] == body.decode()
    assert said["CONTENT_LENGTH"] == str(length)


def test_a_request_whose_client_left_is_never_answered_in_part(front: FrontProcess) -> None:
    with front.dial(b'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"half": '):
        pass
    assert front.post("/echo", b"hello").json()["body"] == "hello"


def test_the_application_sees_the_request_as_it_was_sent(front: FrontProcess) -> None:
    headers = {"X-One": "1", "Content-Type": "text/plain", "Cookie": "a=b", "X_Forwarded_For": "9.9.9.9"}
    said = front.post("/echo?a=%20b", b"hello", **headers).json()
    assert said["REQUEST_METHOD"] == "POST"
    assert said["QUERY_STRING"] == "a=%20b"
    assert (said["HTTP_X_ONE"], said["CONTENT_TYPE"], said["HTTP_COOKIE"]) == ("1", "text/plain", "a=b")
    assert said["REMOTE_ADDR"] == "127.0.0.1"
    assert "HTTP_X_FORWARDED_FOR" not in said


def test_headers_that_come_twice_are_one_with_both_values(front: FrontProcess) -> None:
    with front.dial(b"GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-A: 1\r\nx-a: 2\r\n\r\n") as connection:
        said = json.loads(everything(connection).partition(b"\r\n\r\n")[2])
    assert said["HTTP_X_A"] == "1,2"


def test_what_makes_a_call_safe_is_not_lost_where_it_is_not_ascii(front: FrontProcess) -> None:
    headers = 'Idempotency-Key: ключ\r\nIf-Match: "é"\r\nX-Other: é'
    with front.dial(f"GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n\r\n".encode()) as connection:
        said = json.loads(everything(connection).partition(b"\r\n\r\n")[2])
    assert (said["HTTP_IDEMPOTENCY_KEY"], said["HTTP_IF_MATCH"]) == (UNREADABLE, UNREADABLE)
    assert "HTTP_X_OTHER" not in said


def test_the_process_is_alive_while_every_thread_is_taken(front: FrontProcess, silent: socket.socket) -> None:
    busy = f"GET /busy?port={silent.getsockname()[1]} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
    with ExitStack() as stack:
        callers = [stack.enter_context(front.dial(busy)) for _ in range(RUNNING)]
        asked = [stack.enter_context(silent.accept()[0]) for _ in range(RUNNING)]
        refused = front.get("/echo")
        assert front.get("/health").status_code == 200
        for connection in asked:
            connection.sendall(NOTHING)
        assert all(everything(caller).startswith(b"HTTP/1.1 200 ") for caller in callers)
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
    assert front.get("/echo").status_code == 200


def test_a_large_answer_that_many_get_is_the_same_for_each_and_held_once(front: FrontProcess) -> None:
    assert all(front.get("/listed").content == LISTED for _ in range(3))
    before = front.memory()
    with ExitStack() as stack:
        for _ in range(200):
            reader = stack.enter_context(front.dial(b"GET /listed HTTP/1.1\r\nHost: x\r\n\r\n", buffer=2048))
            assert reader.recv(12) == b"HTTP/1.1 200"
        assert front.get("/listed").content == LISTED
        assert front.memory() - before < 100 * len(LISTED)


def test_a_query_may_hold_letters_of_any_alphabet_unescaped(front: FrontProcess) -> None:
    raw = "GET /echo?q=日本 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
    with front.dial(raw) as connection:
        said = json.loads(everything(connection).partition(b"\r\n\r\n")[2])
    assert said["QUERY_STRING"].encode("latin-1").decode() == "q=日本"


def test_headers_longer_than_32_kib_are_refused(front: FrontProcess) -> None:
    with front.dial(b"GET /echo HTTP/1.1\r\nHost: x\r\nX-A: " + b"a" * 200_000 + b"\r\n\r\n") as connection:
        assert everything(connection).startswith(b"HTTP/1.1 431 ")


def test_a_body_that_came_while_the_process_was_held_up_is_read(front: FrontProcess) -> None:
    with front.dial(b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\n") as connection:
        assert front.get("/health").status_code == 200  # the head of the request was complete
        front.worker().suspend()
        connection.sendall(b"hello")
        time.sleep(GRACE_SECONDS + 0.5)
        front.worker().resume()
        assert everything(connection).startswith(b"HTTP/1.1 200 ")


def test_a_defect_of_the_application_is_a_500_in_the_error_body(front: FrontProcess) -> None:
    answer = front.get("/broken")
    assert (answer.status_code, answer.json()["error"]) == (500, "INTERNAL")


def test_a_stream_comes_piece_by_piece_and_ends_when_its_reader_leaves(front: FrontProcess) -> None:
    with front.dial(b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n") as connection:
        said = b""
        while b"data: 1\n" not in said:
            said += connection.recv(65_536)
    assert front.get("/closed").json() == {"closed": True}


@pytest.mark.parametrize("pause", [0.05, 2], ids=["busy", "silent"])
def test_a_client_that_reads_nothing_is_let_go_whatever_it_sends(front: FrontProcess, pause: float) -> None:
    with front.dial(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n") as connection:
        assert is_ended(connection, pause=pause)


def test_a_client_that_reads_slowly_gets_everything(front: FrontProcess) -> None:
    """The whole transfer takes longer than the time that a client may read nothing."""
    with front.dial(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", buffer=65_536) as connection:
        size, until = 0, time.monotonic() + 3 * UNREAD_SECONDS
        while time.monotonic() < until:
            time.sleep(UNREAD_SECONDS / 4)
            size += len(connection.recv(200_000))
        assert size + len(everything(connection)) > 16_000_000


# Calls that wait for another server.


def waiting_call(account: str, server: socket.socket) -> bytes:
    port = server.getsockname()[1]
    return f"GET /wait?account={account}&port={port} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()


def test_calls_that_wait_leave_the_threads_to_others(front: FrontProcess, silent: socket.socket) -> None:
    with ExitStack() as stack:
        for account in range(RUNNING * 4):
            stack.enter_context(front.dial(waiting_call(f"a{account}", silent)))
            stack.enter_context(silent.accept()[0])
        assert front.get("/echo").status_code == 200


def test_an_account_has_its_share_and_takes_nobody_elses(front: FrontProcess, silent: socket.socket) -> None:
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(front.dial(waiting_call("greedy", silent)))
            stack.enter_context(silent.accept()[0])
        with front.dial(waiting_call("greedy", silent)) as fifth:
            assert everything(fifth).startswith(b"HTTP/1.1 503 ")
        with front.dial(waiting_call("modest", silent)), silent.accept()[0]:
            assert front.get("/echo").status_code == 200


def a_place(front: FrontProcess, silent: socket.socket, stack: ExitStack) -> tuple[socket.socket, socket.socket]:
    """A call that was let in, and its connection to `silent`. A refused call is sent again."""
    patience = Patience(30)
    while not patience.ended():
        caller = stack.enter_context(front.dial(waiting_call("restless", silent)))
        if silent in select.select([caller, silent], [], [], 30)[0]:
            return caller, stack.enter_context(silent.accept()[0])
    raise AssertionError("no place was given back")


def test_who_hangs_up_gives_back_the_place_at_once_and_ends_what_was_asked(
    front: FrontProcess, silent: socket.socket
) -> None:
    with ExitStack() as stack:
        for _ in range(3):
            places = [a_place(front, silent, stack) for _ in range(4)]
            for caller, _ in places:
                caller.close()
            for _, connection in places:
                connection.settimeout(30)
                everything(connection)  # the server closes it: nobody needs it any more
        caller, connection = a_place(front, silent, stack)
        connection.sendall(NOTHING)
        assert everything(caller).startswith(b"HTTP/1.1 200 ")


def test_many_follow_without_a_thread(front: FrontProcess) -> None:
    threads = front.worker().num_threads()
    with ExitStack() as stack:
        for _ in range(100):
            follower = stack.enter_context(closing(front.dial(_asking("/follow"))))
            heard = b""
            while b"data: " not in heard:  # the head of the answer may come alone
                piece = follower.recv(4096)
                assert piece, heard
                heard += piece
        assert front.worker().num_threads() < threads + 20
        assert front.get("/echo").status_code == 200
    assert front.get("/closed").json() == {"closed": True}


def test_chosen_fields_of_health_are_left_to_django(front: FrontProcess) -> None:
    assert front.get("/health?fields=status").json() == {"left": "to Django"}
    assert front.get("/health?probe=1").json() == {"status": "ok"}


def test_many_wait_for_their_answer_without_a_thread(front: FrontProcess) -> None:
    threads = front.worker().num_threads()
    with ExitStack() as stack:
        waiters = []
        for _ in range(30):
            waiters.append(stack.enter_context(closing(front.dial(_asking("/later?seconds=3")))))
            assert front.get("/echo").status_code == 200
        assert front.worker().num_threads() < threads + 20
        for waiter in waiters:
            heard = b""
            while not heard.endswith(b"}"):
                piece = waiter.recv(4096)
                assert piece, heard
                heard += piece
            assert b"content-length: 15\r\n" in heard.lower()


def test_who_hangs_up_does_not_wait(front: FrontProcess) -> None:
    with closing(front.dial(_asking("/later?seconds=600"))):
        assert front.get("/echo").status_code == 200
    assert front.get("/closed").json() == {"closed": True}


def test_followers_leave_no_descriptors_behind(front: FrontProcess) -> None:
    def followed() -> int:
        for _ in range(20):
            with closing(front.dial(_asking("/follow"))) as follower:
                assert follower.recv(12) == b"HTTP/1.1 200"
        patience, count = Patience(10), front.worker().num_fds()
        while not patience.ended() and (now := front.worker().num_fds()) != count:
            time.sleep(0.2)
            count = now
        return count

    before = followed()
    assert followed() < before + 20


def test_who_follows_and_does_not_read_costs_little_and_is_let_go(front: FrontProcess) -> None:
    before = front.memory()
    with ExitStack() as stack:
        lazy = []
        for _ in range(20):
            lazy.append(stack.enter_context(closing(front.dial(_asking("/flood"), buffer=4096))))
            assert lazy[-1].recv(12) == b"HTTP/1.1 200"
        time.sleep(UNREAD_SECONDS / 2)
        assert front.memory() - before < 60 * 2**20
        assert all(is_reset(connection) for connection in lazy)


def is_reset(connection: socket.socket) -> bool:
    """Whether the server closes a connection on which the client reads nothing."""
    patience = Patience(15)
    while not patience.ended():
        time.sleep(0.1)
        if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            return True
    return False


def _asking(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
