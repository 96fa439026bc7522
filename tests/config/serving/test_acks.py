"""How much of an answer has arrived: measured at the server's own connection, whoever else holds a copy of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Iterator
from unittest.mock import Mock

import pytest

from config.serving import unread
from config.serving.acks import Arrivals


@pytest.fixture
def connection() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The server's and the client's side."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        ours, _ = server.accept()
        with ours, client:
            yield ours, client


def address(client: socket.socket) -> str:
    host, port = client.getsockname()
    return f"{host}:{port}"


def test_a_stream_goes_on_when_the_copy_by_which_it_was_found_is_closed(
    connection: tuple[socket.socket, socket.socket],
) -> None:
    async def work() -> None:
        copy = os.dup(connection[0].fileno())
        arrivals = await Arrivals.of(address(connection[1]))
        os.close(copy)
        assert arrivals is not None
        await arrivals.room_for(b"x" * 100)

    asyncio.run(work())


def test_a_stream_whose_connection_has_ended_breaks_off(connection: tuple[socket.socket, socket.socket]) -> None:
    async def work() -> None:
        arrivals = await Arrivals.of(address(connection[1]))
        assert arrivals is not None
        connection[0].close()
        with pytest.raises(OSError, match=r"^$|reset|closed"):
            await arrivals.room_for(b"x")
        assert await Arrivals.of(address(connection[1])) is None

    asyncio.run(work())


def test_a_stream_is_found_on_the_descriptor_of_one_that_has_just_ended(
    connection: tuple[socket.socket, socket.socket],
) -> None:
    async def work() -> None:
        ended = await Arrivals.of(address(connection[1]))
        assert ended is not None
        number = connection[0].fileno()
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
            later, _ = server.accept()
            os.dup2(later.fileno(), number)  # the same number, and nobody has closed the first stream yet
            later.close()
            arrivals = await Arrivals.of(address(client))
            assert arrivals is not None
            ended.close()
            await arrivals.room_for(b"x")

    asyncio.run(work())


def test_one_search_is_for_all_connections_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    searches = Mock(wraps=unread.descriptors)
    monkeypatch.setattr(unread, "descriptors", searches)

    async def work(clients: list[socket.socket]) -> None:
        found = [await Arrivals.of(address(client)) for client in clients]
        assert all(found)
        for arrivals in found:
            assert arrivals is not None
            await arrivals.room_for(b"x")
            arrivals.close()

    with contextlib.ExitStack() as opened:
        server = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        clients = []
        for _ in range(50):
            clients.append(opened.enter_context(socket.create_connection(server.getsockname())))
            opened.enter_context(server.accept()[0])
        asyncio.run(work(clients))
    assert searches.call_count == 1
