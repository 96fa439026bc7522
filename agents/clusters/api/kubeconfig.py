"""Reads a kubeconfig and keeps only one server, its authority, and a token or a certificate, all of them inside the
text.
A kubeconfig can also name files, programs and proxies. Our workers would read, run and use these, so a kubeconfig that
needs them is refused. Only the current context is read, and only this is stored.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import yaml

MAX_LENGTH = 65_536
MAX_DEPTH = 12
MAX_NAME_LENGTH = 253

_CLUSTER = {"server", "certificate-authority-data", "tls-server-name"}
_USER = {"token", "client-certificate-data", "client-key-data"}
_HARMLESS = {"extensions", "disable-compression"}  # notes of tools, and an option of kubectl only
_FLATTEN = "`kubectl config view --raw --flatten --minify` writes the files' content instead."
_WHY = {
    "certificate-authority": f"Give certificate-authority-data, not the path of a file. {_FLATTEN}",
    "client-certificate": f"Give client-certificate-data, not the path of a file. {_FLATTEN}",
    "client-key": f"Give client-key-data, not the path of a file. {_FLATTEN}",
    "tokenFile": "Give the token itself, not the path of a file (tokenFile).",
    "exec": "Give a token or a certificate, not a program that fetches one (exec).",
    "auth-provider": "Give a token or a certificate, not a program that fetches one (auth-provider).",
    "proxy-url": "Give the address of the API server alone: proxies (proxy-url) are not used.",
    "username": "Give a token or a certificate: API servers take no username and password any more.",
    "password": "Give a token or a certificate: API servers take no username and password any more.",
    "insecure-skip-tls-verify": "Give certificate-authority-data: without it (insecure-skip-tls-verify) anybody in"
    " between can read the token.",
}
_NO_SERVER = "server must be https://host:port, and perhaps a path."
_WORD = re.compile(r"[\x21-\x7e]+")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")
_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*/?")


class BadKubeconfig(ValueError):
    """The kubeconfig is refused. The message gives the reason in fixed words and contains no text from
    the kubeconfig.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubeconfig:
    """The address of a cluster's API server, and our credentials. `*_data` is PEM in base64."""

    server: str
    authority_data: str = ""
    tls_server_name: str = ""
    token: str = field(default="", repr=False)
    certificate_data: str = ""
    key_data: str = field(default="", repr=False)

    def as_dict(self) -> dict[str, Any]:
        """A kubeconfig with only these values, in the form that the official client takes."""
        cluster = {
            "server": self.server,
            "certificate-authority-data": self.authority_data,
            "tls-server-name": self.tls_server_name,
        }
        user = {
            "token": self.token,
            "client-certificate-data": self.certificate_data,
            "client-key-data": self.key_data,
        }
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "cluster", "cluster": _filled(cluster)}],
            "users": [{"name": "user", "user": _filled(user)}],
            "contexts": [{"name": "context", "context": {"cluster": "cluster", "user": "user"}}],
            "current-context": "context",
        }

    def as_text(self) -> str:
        return yaml.safe_dump(self.as_dict(), sort_keys=False)


def read(text: str) -> Kubeconfig:
    """The current context of a kubeconfig (YAML or JSON). Raises Refused."""
    body = _parse(text)
    if not isinstance(body, dict) or not all(body.get(name) for name in ("clusters", "users", "contexts")):
        raise BadKubeconfig("Needs clusters, users and contexts.")
    context = _named(body, "contexts", body.get("current-context"), "current-context")
    cluster = _named(body, "clusters", context.get("cluster"), "the cluster of the current context")
    user = _named(body, "users", context.get("user"), "the user of the current context")
    _check_keys(cluster, taken=_CLUSTER)
    _check_keys(user, taken=_USER)
    found = Kubeconfig(
        server=_server(_text(cluster, "server")),
        authority_data=_pem(cluster, "certificate-authority-data"),
        tls_server_name=_host(_text(cluster, "tls-server-name")),
        token=_token(_text(user, "token").strip()),
        certificate_data=_pem(user, "client-certificate-data"),
        key_data=_pem(user, "client-key-data"),
    )
    if bool(found.certificate_data) != bool(found.key_data):
        raise BadKubeconfig("Give client-certificate-data and client-key-data together.")
    if not found.token and not found.key_data:
        raise BadKubeconfig("The user needs a token, or client-certificate-data and client-key-data.")
    return found


class _PlainLoader(yaml.BaseLoader):
    """Reads YAML in which every value becomes a text, a list or a map. Aliases and deep nesting are refused."""

    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise BadKubeconfig("Aliases (`*name`) are not supported.")
        if self._depth == MAX_DEPTH:
            raise BadKubeconfig("Nested too deeply.")
        self._depth += 1
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node


def _parse(text: str) -> Any:
    if len(text) > MAX_LENGTH:
        raise BadKubeconfig(
            f"At most {MAX_LENGTH} characters; `kubectl config view --raw --flatten --minify` is shorter."
        )
    try:
        return yaml.load(text, _PlainLoader)  # noqa: S506 # creates texts, lists and maps only
    except yaml.YAMLError as error:
        raise BadKubeconfig("Not YAML.") from error


def _named(body: dict[str, Any], kind: str, name: object, role: str) -> dict[str, Any]:
    """The only entry with this name. `kind` is `clusters`, `users` or `contexts`. Raises Refused."""
    entries = body[kind] if isinstance(body[kind], list) else []
    found = [entry for entry in entries if isinstance(entry, dict) and name and entry.get("name") == name]
    inner = found[0].get(kind.removesuffix("s")) if len(found) == 1 else None
    if not isinstance(inner, dict):
        raise BadKubeconfig(f"Among {kind}, exactly one must have the name of {role}.")
    return inner


def _check_keys(given: dict[str, Any], *, taken: set[str]) -> None:
    for name, value in given.items():
        if name in taken or name in _HARMLESS or (name == "insecure-skip-tls-verify" and value == "false"):
            continue
        allowed = ", ".join(sorted(taken))
        raise BadKubeconfig(_WHY.get(name, f"There is a key that is not taken; those that are: {allowed}."))


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise BadKubeconfig(f"{name} must be a text.")
    return value


def _server(text: str) -> str:
    """Check and return `https://host`, perhaps with a port and a path. Raises Refused."""
    try:
        url = urlsplit(text) if _WORD.fullmatch(text) else urlsplit("")
        host, port = url.hostname or "", url.port
        literal = f"[{_ipv6(host)}]" if ":" in host else _host(host)
    except ValueError as error:
        raise BadKubeconfig(_NO_SERVER) from error
    authority = literal if port is None else f"{literal}:{port}"
    is_plain = url.netloc.lower() == authority and not url.query and not url.fragment and _PATH.fullmatch(url.path)
    if url.scheme != "https" or not host or not is_plain:
        raise BadKubeconfig(_NO_SERVER)
    return f"https://{authority}{url.path}"


def _ipv6(text: str) -> str:
    """The address without a zone. A zone would mean something on one machine only, so it is refused."""
    address = ipaddress.IPv6Address(text)
    if address.scope_id is not None:
        raise BadKubeconfig(_NO_SERVER)
    return str(address)


def _host(text: str) -> str:
    if text and (len(text) > MAX_NAME_LENGTH or not _HOST.fullmatch(text)):
        raise BadKubeconfig("tls-server-name must be a host's name.")
    return text


def _token(text: str) -> str:
    if text and not _WORD.fullmatch(text):
        raise BadKubeconfig("token must be one word of plain letters, digits and signs.")
    return text


def _pem(given: dict[str, Any], name: str) -> str:
    """The base64 text on one line. Raises Refused."""
    text = "".join(_text(given, name).split())
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadKubeconfig(f"{name} must be base64.") from error
    if content and b"-----BEGIN " not in content:
        raise BadKubeconfig(f"{name} must be a PEM file in base64.")
    return text


def _filled(values: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}
