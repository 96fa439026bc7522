"""What each client does with a service that hangs, lies, cuts off, floods, or asks for patience."""

from __future__ import annotations

import errno
import gzip
import hmac
import json
import os
import time
from pathlib import Path

import pytest

from agentpods import Agentpods, ChatDelta, ChatEvent, errors, webhooks
from agentpods._wire.files import new_file
from agentpods._wire.sse import StreamReader
from tests.doubles.receiver import Behaviour, hang, raw, status
from tests.sdk.conftest import Hostile, Meets, streamed

AGENT = json.dumps({"agent": {"id": "agt_1", "status": "running"}}).encode()
JSON = "Content-Type: application/json"


def ok(body: bytes = AGENT, *headers: str) -> Behaviour:
    return status(200, JSON, *headers, body=body)


def test_a_service_that_hangs_is_left_and_the_key_is_not_told(hostile: Hostile, meets: Meets) -> None:
    hostile.answers(hang)
    with meets(seconds=0.3) as pods, pytest.raises(errors.NoAnswerError) as slow:
        pods.agents.get("agt_1")
    assert hostile.key not in f"{slow.value!r} {slow.value.__cause__!r}"


def test_an_answer_that_never_ends_is_left(hostile: Hostile, meets: Meets) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{"
    hostile.answers(raw(head, *[b" "] * 10_000, pause=0.05))
    began = time.monotonic()
    with meets(seconds=0.5) as pods, pytest.raises(errors.NoAnswerError):
        pods.agents.get("agt_1")
    assert time.monotonic() - began < 20


def test_answers_that_are_none_are_errors_of_ours(hostile: Hostile, meets: Meets) -> None:
    lies = [
        (b"<html>", errors.UnexpectedAnswerError),
        (b"[" * 100_000, errors.UnexpectedAnswerError),
        (b"\xff\xfe", errors.UnexpectedAnswerError),
        (b"[]", errors.UnexpectedAnswerError),
    ]
    with meets() as pods:
        for body, kind in lies:
            hostile.answers(status(200, JSON, body=body))
            with pytest.raises(kind):
                pods.agents.get("agt_1")
        hostile.answers(raw(b"SSH-2.0-OpenSSH\r\n"))
        with pytest.raises(errors.NoAnswerError):
            pods.agents.get("agt_1")
        hostile.answers(status(302, "Location: http://127.0.0.1:1/"))
        with pytest.raises(errors.BadRequestError):  # redirects are not followed: the key would go with them
            pods.agents.get("agt_1")


def test_a_bomb_is_not_unpacked_whole(hostile: Hostile, meets: Meets) -> None:
    bomb = gzip.compress(b" " * (80 * 1024 * 1024), 1)
    head = f"HTTP/1.1 200 OK\r\n{JSON}\r\nContent-Encoding: gzip\r\nContent-Length: {len(bomb)}\r\n\r\n"
    # The connection stays open: Node.js 24.19 ends the whole program if it closes before everything is read
    # (nodejs/undici#5360).
    hostile.answers(raw(head.encode() + bomb, pause=60))
    with meets(seconds=60) as pods, pytest.raises(errors.UnexpectedAnswerError, match="bytes"):
        pods.agents.get("agt_1")


def test_a_message_that_repeats_the_key_does_not_show_it(hostile: Hostile, meets: Meets) -> None:
    body = json.dumps({"error": hostile.key, "message": f"Bearer {hostile.key} is wrong"}).encode()
    hostile.answers(status(401, JSON, f"Request-Id: {hostile.key}", body=body))
    with meets() as pods, pytest.raises(errors.UnauthorizedError) as refused:
        pods.agents.get("agt_1")
    assert hostile.key not in f"{refused.value} {refused.value.__dict__}"
    cut = json.dumps({"error": "x" * 60 + hostile.key, "message": "x" * 1_980 + hostile.key}).encode()
    hostile.answers(status(401, JSON, body=cut))
    with meets() as pods, pytest.raises(errors.UnauthorizedError) as refused:
        pods.agents.get("agt_1")
    assert "ak_live" not in str(refused.value)


def test_what_is_safe_to_repeat_is_repeated_and_what_is_not_is_not(hostile: Hostile, meets: Meets) -> None:
    busy, limited = status(503, JSON, "Retry-After: 0"), status(429, JSON, "Retry-After: 0")
    with meets(retries=3) as pods:
        hostile.answers(busy, raw(b""), limited, ok())
        assert pods.agents.get("agt_1")["id"] == "agt_1"
        hostile.received.clear()
        hostile.answers(busy, ok(json.dumps({"agent": {}, "webhookSecret": None}).encode()))
        pods.agents.create(personaId="p", tier="tiny")
        first, second = (one.header("Idempotency-Key") for one in hostile.received)
        assert first == second is not None
        hostile.received.clear()
        hostile.answers(busy)
        with pytest.raises(errors.ServerError):
            pods.agents.chat("agt_1", "hi")  # the turn may have been
        assert len(hostile.received) == 1
        hostile.answers(status(429, "Retry-After: 3600"))
        with pytest.raises(errors.RateLimitedError) as limit:
            pods.agents.get("agt_1")
        assert limit.value.retry_after == 3600
        hostile.answers(busy, status(404))
        pods.agents.delete("agt_1")  # the first attempt may have deleted it
        hostile.answers(limited, status(404))
        with pytest.raises(errors.NotFoundError):
            pods.agents.delete("agt_1")  # nobody has deleted it


def test_pages_that_lead_in_a_circle_end(hostile: Hostile, meets: Meets) -> None:
    link = 'Link: <http://elsewhere.example/agents?cursor=c1>; rel="next"'
    hostile.answers(ok(b'{"agents": [{"id": "agt_1"}]}', link))
    with meets() as pods, pytest.raises(errors.UnexpectedAnswerError, match="read already"):
        list(pods.agents.list())
    assert [one.path for one in hostile.received] == ["/agents", "/agents?cursor=c1"]


def test_a_turn_that_is_cut_off_is_no_reply(hostile: Hostile, meets: Meets) -> None:
    delta = 'event: delta\ndata: {"text": "grüß"}\n\n'.encode()
    seen: list[ChatEvent] = []
    with meets() as pods:
        hostile.answers(raw(*streamed(delta[:-5], delta[-5:])))
        with pytest.raises(errors.StreamCutError):
            seen.extend(pods.agents.stream("agt_1", "hi"))
        for event in pods.agents.stream("agt_1", "hi"):
            seen.append(event)
            break
        hostile.answers(raw(*streamed(b'event: error\ndata: {"error": "INTERNAL", "message": "model: gone"}\n\n')))
        with pytest.raises(errors.ServerError, match="model: gone"):
            list(pods.agents.stream("agt_1", "hi"))
    assert seen == [ChatDelta("grüß")] * 2


def test_a_log_is_followed_over_broken_connections(hostile: Hostile, meets: Meets) -> None:
    state = b'event: state\ndata: {"status": "running", "live": true}\n\n'
    lines = [f'event: log\nid: c{number}\ndata: {{"text": "{number}"}}\n\n'.encode() for number in range(3)]
    end = b'event: end\ndata: {"message": "deleted"}\n\n'
    first, second = raw(*streamed(state, lines[0])), raw(*streamed(state, lines[1], lines[2], end))
    hostile.answers(first, second)
    with meets() as pods:
        names = [(event.name, event.id) for event in pods.agents.follow_logs("agt_1")]
    assert names == [("state", None), ("log", "c0"), ("log", "c1"), ("log", "c2"), ("end", "c2")]
    assert [one.header("Last-Event-ID") for one in hostile.received] == [None, "c0"]
    hostile.answers(status(429, "Retry-After: 1e300"))
    with meets() as pods, pytest.raises(errors.RateLimitedError):
        next(pods.agents.follow_logs("agt_1"))


def test_events_are_read_however_they_are_cut() -> None:
    wire = 'id: 1\r\nevent: a\r\ndata: {"t":\r\ndata: "x\u2028é"}\r\n\r\n: beat\n\ndata: {"n": 2}\n\n'.encode()
    for size in (1, 2, 3, 7, len(wire)):
        reader = StreamReader()
        pieces = [wire[at : at + size] for at in range(0, len(wire), size)]
        found = [(one.name, one.data, one.id) for piece in pieces for one in reader.feed(piece)]
        assert found == [("a", {"t": "x\u2028é"}, "1"), ("message", {"n": 2}, "1")]
    with pytest.raises(errors.UnexpectedAnswerError, match="characters"):
        StreamReader().feed(b"data:" + b"x" * 17_000_000)


def test_a_backup_appears_whole_or_not_at_all(hostile: Hostile, tmp_path: Path) -> None:
    there = tmp_path / "b.tar.gz"
    with hostile.client() as pods:
        hostile.answers(raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"))
        with pytest.raises(errors.NoAnswerError):
            pods.backups.download("agt_1", "b", there)
        assert list(tmp_path.iterdir()) == []
        hostile.answers(status(200, body=b"whole"))
        assert pods.backups.download("agt_1", "b", there) == 5
        assert (there.read_bytes(), there.stat().st_mode & 0o777) == (b"whole", 0o600)
        with pytest.raises(FileExistsError):
            pods.backups.download("agt_1", "b", there)


def test_a_file_is_kept_where_there_are_no_hard_links_and_another_write_of_it_takes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError(errno.EPERM, "as on exFAT")

    there = tmp_path / "b.tar.gz"
    with new_file(there) as first:
        first.write(b"first")
        with new_file(there) as second:
            second.write(b"second")
        there.unlink()
    assert there.read_bytes() == b"first"
    there.unlink()
    monkeypatch.setattr(os, "link", no_links)
    with new_file(there) as file:
        file.write(b"whole")
    assert (there.read_bytes(), there.stat().st_mode & 0o777, len(list(tmp_path.iterdir()))) == (b"whole", 0o600, 1)
    there.unlink()
    with pytest.raises(FileExistsError), new_file(there):
        there.write_bytes(b"of another program")
    assert there.read_bytes() == b"of another program"


def test_ids_and_settings_that_would_lead_astray_are_refused(hostile: Hostile, meets: Meets) -> None:
    with meets() as pods:
        for odd in ("", ".", ".."):
            with pytest.raises(ValueError, match="no id"):
                pods.agents.get(odd)
        hostile.answers(ok())
        pods.agents.get("a/../../keys?x#y")
        assert hostile.received[-1].path == "/agents/a%2F..%2F..%2Fkeys%3Fx%23y"
    for url in (
        "ftp://x",
        "http://user:word@x",
        "x",
        "http://x?y",
        "http://x:99999",
        "http://x:y",
        "http://[",
        "http://\x01",
    ):
        with pytest.raises(ValueError, match="base_url"):
            Agentpods(url, "ak_live_x")
    with pytest.raises(ValueError, match="api_key") as refused:
        Agentpods("http://x", "ak_live_a\nb")
    assert "ak_live" not in str(refused.value)


def test_only_what_is_signed_is_an_event(meets: Meets) -> None:
    body, secret = b'{"id": "evt_1", "type": "test"}', "whsec_x"
    right = "sha256=" + hmac.new(secret.encode(), body, "sha256").hexdigest()
    name, delivery = "X-Service-Signature", {"X-Service-Delivery": "evt_1"}
    headers = {name: right, **delivery}
    with meets() as pods:
        for genuine in (headers, list(headers.items()), {f"{name}-Previous": right, name: "sha256=0", **delivery}):
            assert pods.verified(body, genuine, secret=secret)["id"] == "evt_1"
        odd: list[dict[str, str]] = [{}, {name: "é" * 70}, {name: ""}, {name: right.removeprefix("sha256=")}]
        odd += [{name: right.upper()}, {name: right[:-1]}, {name: "sha256="}]
        odd += [{name: right, "X-Service-Delivery": "evt_2"}]
        for wrong in odd:
            with pytest.raises(webhooks.NotGenuineError):
                pods.verified(body, delivery | wrong, secret=secret)
        for changed, of in ((body + b" ", secret), (body, "whsec_y")):
            with pytest.raises(webhooks.NotGenuineError):
                pods.verified(changed, headers, secret=of)
        with pytest.raises(ValueError, match="empty"):
            pods.verified(body, headers, secret="")
