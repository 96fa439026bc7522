"""Settings: each is documented, and a wrong value stops the start."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env
from config.operator_settings.registry import SETTINGS as OPERATORS
from tests.config.conftest import ENVIRONMENT, ROOT, SETTINGS


def test_each_setting_is_documented_and_nothing_else_is() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([A-Z_]+)`", page, re.MULTILINE)) == set(SETTINGS)


def test_the_environments_part_has_what_only_the_environment_sets() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8").partition("\n## At run time\n")
    assert set(re.findall(r"^\| `([A-Z_]+)`", page[0], re.MULTILINE)) == ENVIRONMENT


def test_secrets_are_marked_as_such() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    source = (ROOT / "config" / "settings.py").read_text(encoding="utf-8")
    read_as_secret = set(re.findall(r'env\.secret\(\s*"([A-Z_]+)"', source))
    read_as_secret |= {name for name, setting in OPERATORS.items() if setting.is_credential}
    assert set(re.findall(r"^\| `([A-Z_]+)` \*secret\*", page, re.MULTILINE)) == read_as_secret


@pytest.mark.parametrize(
    ("read", "value", "message"),
    [
        (lambda: env.number("X", 1), "soon", "X='soon' must be a whole number"),
        (lambda: env.number("X", 1, at_least=2), "1", "X=1 must be at least 2"),
        (lambda: env.number("X", 1, at_most=2), "3", "X=3 must be at most 2"),
        (lambda: env.flag("X"), "perhaps", "X='perhaps' must be 1 or 0"),
        (lambda: env.one_of("X", "a", allowed=("a", "b")), "c", "X='c' must be one of a, b"),
        (lambda: env.read_positive("X", env.text("X")), "much", "X='much' must be a number"),
        (lambda: env.read_positive("X", env.text("X")), "-1", "X=-1 must be more than 0"),
        (lambda: env.pairs("X"), "a=1,b", "X: 'b' must look like name=value"),
        (lambda: env.chains("X", env.secret("X")), "eth=https://secret", "X: must name chains by their numbers"),
        (lambda: env.chains("X", env.secret("X")), "1=", "X: must name chains by their numbers"),
        (lambda: env.sockets("X", port=53), "dns.example", "X: 'dns.example' is no IP address, with or without a port"),
        (lambda: env.sockets("X", port=53), "10.0.0.1:x", "X: '10.0.0.1:x' is no IP address, with or without a port"),
        (lambda: env.networks("X"), "10.0.0.1/8", "X: 10.0.0.1/8 has host bits set"),
    ],
)
def test_a_value_that_cannot_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, read: object, value: str, message: str
) -> None:
    monkeypatch.setenv("X", value)
    with pytest.raises(ImproperlyConfigured, match=re.escape(message)):
        read()  # type: ignore[operator]  # one of the lambdas above


def test_an_address_has_a_port_or_gets_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "10.0.0.2, 10.0.0.3:5353,2001:db8::1,[2001:db8::2]:5353")
    found = [("10.0.0.2", 53), ("10.0.0.3", 5353), ("2001:db8::1", 53), ("2001:db8::2", 5353)]
    assert env.sockets("X", port=53) == found


def test_nodes_are_named_by_their_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "1=https://a.example/?key=1, 137 = https://b.example,")
    assert env.chains("X", env.secret("X")) == {1: "https://a.example/?key=1", 137: "https://b.example"}


def test_an_empty_value_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "")
    assert env.text("X", "default") == "default"
    assert env.number("X", 5) == 5
    assert env.flag("X", default=True) is True
    assert env.words("X", "a, b") == ["a", "b"]


def test_a_secret_may_lie_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("hush\n", encoding="utf-8")
    monkeypatch.setenv("X_FILE", str(tmp_path / "key"))
    assert env.secret("X", "default") == "hush"
    monkeypatch.setenv("X_FILE", str(tmp_path / "none"))
    with pytest.raises(ImproperlyConfigured, match="X_FILE"):
        env.secret("X")


def test_generated_secrets_give_way_to_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "secrets.env").write_text("# generated\nX_ONE=file\nX_TWO=file\n", encoding="utf-8")
    monkeypatch.setenv("X_ONE", "environment")
    monkeypatch.setenv("X_TWO", "")
    monkeypatch.delenv("X_TWO")
    env.load(tmp_path / "secrets.env")
    env.load(tmp_path / "none.env")
    assert (env.text("X_ONE"), env.text("X_TWO")) == ("environment", "file")
