"""The database servers of a test run: its own PostgreSQL and Redis, and nothing outside this machine."""

import socket

import pytest
from django.db import connection
from pytest_socket import SocketConnectBlockedError


def test_tests_have_a_database_of_their_own(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("select current_database()")
        assert str(cursor.fetchone()[0]).startswith("test_")


def test_tests_reach_nothing_but_this_machine() -> None:
    with pytest.raises(SocketConnectBlockedError):
        socket.create_connection(("192.0.2.1", 80), timeout=1)
