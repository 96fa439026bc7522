"""The endpoint for pods' backups: each pod writes to its own repository, never replaces an object, and has a limit."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest
import time_machine
from aiohttp.test_utils import TestClient, TestServer
from aiohttp.web import Application, Request
from obstore.store import LocalStore

from agents.backups import credentials
from agents.backups.endpoint import app as endpoint
from agents.backups.endpoint import uploads

AGENT, OTHER = "agt_0123456789abcdef01234567", "agt_76543210fedcba9876543210"
Client = TestClient[Request, Application]


def named(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def bearer(agent: str = AGENT, *, may_add: int = 1_000_000) -> dict[str, str]:
    return {"Authorization": f"Bearer {credentials.mint(agent, may_add=may_add)}"}


def serving(store: Path, body: Callable[[Client], Awaitable[None]]) -> None:
    async def run() -> None:
        app = endpoint.BackupEndpoint(LocalStore(store)).app()
        async with TestClient(TestServer(app)) as client:
            await body(client)

    asyncio.run(run())


async def add(client: Client, content: bytes, headers: dict[str, str], *, kind: str = "data", name: str = "") -> int:
    async with client.post(f"/{AGENT}/{kind}/{name or named(content)}", data=content, headers=headers) as answer:
        return answer.status


def test_what_is_added_is_there_whole_in_parts_and_in_the_list(tmp_path: Path) -> None:
    async def body(client: Client) -> None:
        own, content = bearer(), b"a pack of restic's"
        assert await add(client, content, own) == 200
        path = f"/{AGENT}/data/{named(content)}"
        async with client.get(path, headers=own) as whole:
            assert await whole.read() == content
        async with client.get(path, headers={**own, "Range": "bytes=2-5"}) as part:
            assert (part.status, await part.read()) == (206, b"pack")
        async with client.head(path, headers=own) as head:
            assert head.headers["Content-Length"] == str(len(content))
        async with client.get(f"/{AGENT}/data/", headers=own) as listed:
            assert listed.content_type == endpoint.LIST_TYPE
            assert await listed.json(content_type=None) == [{"name": named(content), "size": len(content)}]
        async with client.get(f"/{AGENT}/data/{'0' * 64}", headers=own) as nothing:
            assert nothing.status == 404

    serving(tmp_path, body)
    assert (tmp_path / AGENT / "data" / named(b"a pack of restic's")[:2]).is_dir()  # restic has the same directories


def test_nothing_is_replaced_and_nothing_but_locks_is_taken_away(tmp_path: Path) -> None:
    async def body(client: Client) -> None:
        own = bearer()
        assert await add(client, b"first", own) == 200
        assert await add(client, b"first", own) == 200  # restic sends it again if it got no answer
        assert await add(client, b"second", own, name=named(b"first")) == 400
        assert await add(client, b"lock", own, kind="locks") == 200
        for kind, content, status in (("data", b"first", 403), ("locks", b"lock", 200), ("locks", b"lock", 404)):
            async with client.delete(f"/{AGENT}/{kind}/{named(content)}", headers=own) as answer:
                assert answer.status == status, kind

    serving(tmp_path, body)
    (kept,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert kept.read_bytes() == b"first"


def test_a_pod_reaches_no_repository_but_its_own(tmp_path: Path) -> None:
    async def body(client: Client) -> None:
        for headers, status in (
            (bearer(OTHER), 403),
            ({}, 401),
            ({"Authorization": "Bearer x:y:z"}, 401),
            ({"Authorization": "Basic !!!"}, 401),
        ):
            assert await add(client, b"x", headers) == status
            for path in ("config", "snapshots/", f"keys/{'0' * 64}"):
                async with client.get(f"/{AGENT}/{path}", headers=headers) as answer:
                    assert answer.status == status, path
        for path in (f"/{AGENT}/../{OTHER}/config", f"/{AGENT}/%2e%2e/{OTHER}/config", f"/{AGENT}/data/..%2f..%2fx"):
            async with client.get(path, headers=bearer()) as answer:
                assert answer.status in {403, 404}, path

    serving(tmp_path, body)
    assert not list(tmp_path.iterdir())


def test_config_and_keys_are_the_platforms(tmp_path: Path) -> None:
    async def body(client: Client) -> None:
        assert await add(client, b"a second key", bearer(), kind="keys") == 403
        async with client.post(f"/{AGENT}/config", data=b"x", headers=bearer()) as answer:
            assert answer.status == 405

    serving(tmp_path, body)


def test_a_credential_adds_so_much_and_for_so_long(tmp_path: Path) -> None:
    async def body(client: Client) -> None:
        own = bearer(may_add=10)
        assert await add(client, b"123456", own) == 200
        assert await add(client, b"abcdef", own) == 403
        assert await add(client, b"x", bearer(may_add=0)) == 403
        assert await add(client, b"abcdef", bearer(may_add=10)) == 200
        late = bearer()
        with time_machine.travel("2099-01-01", tick=True):
            assert await add(client, b"late", late) == 401

    serving(tmp_path, body)


def test_an_object_has_a_largest_size_and_says_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "OBJECT_BYTES", 100)

    async def body(client: Client) -> None:
        assert await add(client, b"x" * 101, bearer()) == 413

        async def pieces() -> object:
            yield b"x"

        async with client.post(f"/{AGENT}/data/{named(b'x')}", data=pieces(), headers=bearer()) as answer:
            assert answer.status == 413

    serving(tmp_path, body)


def test_a_slow_body_holds_only_its_own_agents_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "BODY_SECONDS", 0.3)

    async def body(client: Client) -> None:
        async def never() -> object:
            yield b"x"
            await asyncio.sleep(2)

        async def slow() -> int:
            headers = {**bearer(), "Content-Length": "9"}
            try:
                async with client.post(f"/{AGENT}/data/{'0' * 64}", data=never(), headers=headers) as answer:
                    return answer.status
            except aiohttp.ClientError:
                return 0

        others = [asyncio.create_task(slow()) for _ in range(uploads.UPLOADS_EACH * 2)]
        await asyncio.sleep(0.05)
        content = b"of another agent"
        async with asyncio.timeout(2):
            path = f"/{OTHER}/data/{named(content)}"
            async with client.post(path, data=content, headers=bearer(OTHER)) as answer:
                assert answer.status == 200
        assert set(await asyncio.gather(*others)) <= {0, 408}

    serving(tmp_path, body)
