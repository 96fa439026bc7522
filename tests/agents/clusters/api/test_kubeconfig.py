"""What a kubeconfig may contain: only what is in its own text."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.clusters.api import kubeconfig
from agents.clusters.api.client import Connection
from agents.clusters.api.kubeconfig import BadKubeconfig
from agents.runtimes.base import RuntimeFailure

PEM = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n").decode()


def text(*, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **more: Any) -> str:
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443", **(cluster or {})}}],
        "users": [{"name": "u", "user": {"token": "t0ken"} if user is None else user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "default"}}],
        "current-context": "x",
        "preferences": {},
        **more,
    }
    return yaml.safe_dump(body)


@pytest.mark.parametrize(
    "user",
    [
        {"token": "t0ken"},
        {"client-certificate-data": PEM, "client-key-data": PEM},
        {"token": "2001-13-99", "extensions": []},
    ],
)
def test_a_token_or_a_certificate_in_the_text_is_taken(user: dict[str, Any]) -> None:
    given = {"certificate-authority-data": PEM, "tls-server-name": "api.example", "insecure-skip-tls-verify": False}
    found = kubeconfig.read(text(cluster=given, user=user))
    assert kubeconfig.read(found.as_text()) == found
    assert kubeconfig.read(json.dumps(found.as_dict())) == found


@pytest.mark.parametrize(
    "user",
    [
        {"tokenFile": "/etc/passwd"},
        {"token": "t0ken", "tokenFile": "/etc/passwd"},
        {"token": "", "tokenFile": "/etc/passwd"},
        {"client-certificate": "/etc/passwd", "client-key": "/etc/passwd"},
        {"client-certificate-data": PEM, "client-key": "/etc/passwd"},
        {"token": "t", "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch"}},
        {"token": "t", "auth-provider": {"name": "gcp", "config": {"cmd-path": "/bin/touch /tmp/x"}}},
        {"username": "admin", "password": "admin"},
        {"token": "t", "as": "system:admin"},
        {"token": "t", "Exec": {}},
        {"token": "two words"},
        {"token": "line\nbreak"},
        {"token": ["t"]},
        {"client-certificate-data": PEM},
        {"client-certificate-data": "no base64", "client-key-data": PEM},
        {"client-certificate-data": PEM, "client-key-data": base64.b64encode(b"/etc/passwd").decode()},
        {},
    ],
)
def test_a_user_that_is_more_or_less_than_that_is_refused(user: dict[str, Any]) -> None:
    with pytest.raises(BadKubeconfig):
        kubeconfig.read(text(user=user))


@pytest.mark.parametrize(
    "cluster",
    [
        {"certificate-authority": "/etc/passwd"},
        {"proxy-url": "http://proxy.example:3128"},
        {"insecure-skip-tls-verify": True},
        {"tls-server-name": "a b"},
        {"server": "http://10.0.0.1:6443"},
        {"server": "10.0.0.1:6443"},
        {"server": "file:///etc/passwd"},
        {"server": "unix:///var/run/docker.sock"},
        {"server": "https://"},
        {"server": "https://user:word@10.0.0.1"},
        {"server": "https://10.0.0.1\\@evil.example"},
        {"server": "https://10.0.0.1:port"},
        {"server": "https://10.0.0.1:99999"},
        {"server": "https://10.0.0.1/?x=1"},
        {"server": "https://10.0.0.1/#x"},
        {"server": "https://10.0.0.1\n.example"},
        {"server": "https://[fe80::1%25eth0]:6443"},
        {"server": "https://bücher.example"},
        {"server": "https://10.0.0.1/../../x y"},
        {"server": {"a": "b"}},
    ],
)
def test_a_cluster_that_is_more_than_a_server_and_its_authority_is_refused(cluster: dict[str, Any]) -> None:
    with pytest.raises(BadKubeconfig):
        kubeconfig.read(text(cluster=cluster))


@pytest.mark.parametrize(
    "server",
    ["https://10.0.0.1", "https://[fd00::1]:6443", "https://api.example.com:443/", "https://rancher.example/k8s/c-1"],
)
def test_servers_are_where_they_were(server: str) -> None:
    assert kubeconfig.read(text(cluster={"server": server})).server == server


def test_only_the_current_context_is_judged_and_kept() -> None:
    """People keep all their clusters in one file, and other contexts may use programs and paths."""
    body = yaml.safe_load(text())
    body["clusters"].append({"name": "other", "cluster": {"server": "https://other.example", "proxy-url": "http://x"}})
    body["users"].append({"name": "other", "user": {"exec": {"command": "gcloud"}, "token": "others-t0ken"}})
    body["contexts"].append({"name": "other", "context": {"cluster": "other", "user": "other"}})
    kept = kubeconfig.read(yaml.safe_dump(body)).as_text()
    assert "t0ken" in kept
    assert not any(word in kept for word in ("other", "exec", "proxy", "gcloud"))
    with pytest.raises(BadKubeconfig, match="proxies"):
        kubeconfig.read(yaml.safe_dump({**body, "current-context": "other"}))


@pytest.mark.parametrize(
    "more",
    [
        {"current-context": "nobody"},
        {"current-context": None},
        {"current-context": ["x"]},
        {"contexts": []},
        {"contexts": "x"},
        {"contexts": [{"name": "x", "context": "c"}]},
        {"contexts": [{"name": "x", "context": {"cluster": "c"}}]},
        {"users": [{"name": "u", "user": {"token": "one"}}, {"name": "u", "user": {"token": "two"}}]},
        {"users": [{"name": "u", "user": None}]},
        {"clusters": {"name": "c"}},
    ],
)
def test_a_file_without_one_current_context_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(BadKubeconfig):
        kubeconfig.read(text(**more))


BOMBS = {
    "not YAML": "clusters: [",
    "no map": "- nothing",
    "empty": "",
    "two documents": "a: 1\n---\nb: 2\n",
    "a tag": "!!python/object/apply:os.system [touch /tmp/x]",
    "control characters": "a: \x00\x07",
    "lists": "[" * 60_000,
    "maps": "{a: " * 15_000,
    "block lists": "- " * 30_000,
    "indented": "\n".join(" " * depth + "a:" for depth in range(350)),
    "questions": "? " * 30_000,
    "long": "a: " + "b" * 70_000,
    "many keys": "\n".join(f"k{number}: v" for number in range(6_000)),
    "anchors": "a: &a [x,x]\n" + "\n".join(f"b{n}: [*a,*a,*a,*a]" for n in range(2_000)),
    "laughs": "a: &a0 [x]\n" + "\n".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]" for n in range(1, 500)),
    "merges": "a: &a0 {x: y}\n" + "\n".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 500)),
    "unhashable": "? [a, b]\n: c\n",
    "a long number": f"current-context: {'9' * 60_000}",
    "sixties": "current-context: 1" + ":01" * 20_000,
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_no_text_takes_long_or_fails(bomb: str) -> None:
    began = time.process_time()
    with pytest.raises(BadKubeconfig):
        kubeconfig.read(BOMBS[bomb])
    assert time.process_time() - began < 3


@pytest.mark.parametrize("user", [{"tokenFile": "secret"}, {"exec": {"command": "touch", "args": ["made"]}}])
def test_what_was_stored_before_the_rule_is_not_used(
    user: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_text("t0ken", encoding="utf-8")
    with pytest.raises(RuntimeFailure, match="its kubeconfig cannot be used") as failure:
        Connection("one", text(user=user)).get("/version")
    assert "t0ken" not in str(failure.value)
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


def test_no_credential_is_in_what_is_printed() -> None:
    found = kubeconfig.read(text(user={"token": "t0ken", "client-certificate-data": PEM, "client-key-data": PEM}))
    assert "t0ken" not in repr(found)
    assert repr(found).count(PEM) == 1
