from __future__ import annotations

import socket

import psycopg
import pytest

from config import database


def test_a_server_that_fell_silent_is_not_waited_for_without_end() -> None:
    options = database.parse("postgresql://u@db.example.com/a", pool_size=2)["OPTIONS"]
    assert options["connect_timeout"] == "5"
    assert int(options["tcp_user_timeout"]) < 60_000
    idle, interval, count = (int(options[f"keepalives_{name}"]) for name in ("idle", "interval", "count"))
    assert idle + interval * count < 60


def test_words_of_the_url_go_before_ours() -> None:
    options = database.parse("postgresql://u@db.example.com/a?connect_timeout=30", pool_size=2)["OPTIONS"]
    assert options["connect_timeout"] == "30"


def test_a_server_that_takes_connections_and_says_nothing_is_given_up() -> None:
    """libpq accepts our options; 2 s is its shortest time-out."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://u@127.0.0.1:{silent.getsockname()[1]}/a?connect_timeout=2"
        options = database.parse(url, pool_size=2)["OPTIONS"]
        ours = {name: options[name] for name in database.PATIENCE}
        with pytest.raises(psycopg.errors.ConnectionTimeout):
            psycopg.connect(host="127.0.0.1", port=silent.getsockname()[1], user="u", dbname="a", **ours)
