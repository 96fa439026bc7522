"""The demo signs in once on a machine, so that many runs do not meet the limit of sign-ins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from accounts import sessions
from accounts.models import User
from agentpods import Agentpods
from examples.kept_session import KeptSession


@pytest.mark.django_db(transaction=True)
def test_a_session_serves_all_runs_until_it_ends(live_server: LiveServer, tmp_path: Path) -> None:
    path, user = tmp_path / "home" / "sessions.json", User.objects.create(email="demo@example.com")
    token = sessions.start(user, attribution=None, now=timezone.now())[1]
    assert KeptSession(path).account(live_server.url) is None
    KeptSession(path).keep("http://another.example", "st_live_another")
    KeptSession(path).keep(live_server.url, token)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["sessions.json"]
    for _ in range(12):
        account = KeptSession(path).account(live_server.url)
        assert account is not None
        with account:
            assert account.api.get_account()["user"]["email"] == "demo@example.com"
    with Agentpods(live_server.url, token) as last:
        last.api.end_session()
    assert KeptSession(path).account(live_server.url) is None


@pytest.mark.parametrize("broken", ["", "[]", '{"http://x": 5}', "[" * 90_000, "\x00"])
def test_a_broken_file_is_no_session(tmp_path: Path, broken: Any) -> None:
    path = tmp_path / "sessions.json"
    path.write_text(broken)
    assert KeptSession(path).account("http://x") is None
