"""Limits of request bodies: bytes, elements, entries and depth. Counts are checked before the content."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from config.parsing import MAX_BODY_BYTES, MAX_DEPTH
from tests.contract.test_document import operations
from tests.contract.test_errors import UNKNOWN, is_an_error

pytestmark = pytest.mark.unmeasured

Document = dict[str, Any]

KIB = 1024
OPEN_TO_ALL_KIB = 256  # for endpoints that anybody may call
AGENT = {"personaId": "exam-coach", "tier": "tiny"}
RU = {"name": "П", "tagline": "П", "forWho": "П", "does": []}
SERVER = {"name": "s", "command": "c"}


def taken(operation: dict[str, Any]) -> int:
    """The largest body in bytes, according to the document."""
    return KIB * int(re.fullmatch(r"At most (\d+) KiB\.", operation["requestBody"]["description"])[1])  # type: ignore[index]  # else it fails here


def several(document: Document, schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every array, and every object with keys of the caller's choice, in a body with this schema."""
    for reference in [schema, *schema.get("allOf", []), *schema.get("oneOf", []), *schema.get("anyOf", [])]:
        if "$ref" in reference:
            yield from several(document, document["components"]["schemas"][reference["$ref"].split("/")[-1]], path)
    for name, inner in schema.get("properties", {}).items():
        yield from several(document, inner, f"{path}.{name}")
    if "items" in schema:
        yield path, schema
        yield from several(document, schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield path, schema
        yield from several(document, schema["additionalProperties"] or {}, f"{path}.*")


def test_every_list_and_every_map_that_is_sent_is_bounded(document: Document) -> None:
    found: dict[str, dict[str, Any]] = {}
    for method, path, operation in operations(document):
        for content in operation.get("requestBody", {}).get("content", {}).values():
            found |= dict(several(document, content["schema"], f"{method} {path}"))
    assert len(found) > 20
    assert [at for at, schema in found.items() if not {"maxItems", "maxProperties"} & schema.keys()] == []


@pytest.mark.usefixtures("db")
def test_a_body_larger_than_the_document_says_is_413(api: APIClient, client: APIClient, document: Document) -> None:
    for method, path, operation in operations(document):
        # This endpoint checks its secret first.
        if "requestBody" not in operation or path == "/payments/stars/callback":
            continue
        caller = api if operation["security"] == [{}] else client
        body = f'{{"a": "{"a" * taken(operation)}"}}'
        message = is_an_error(
            caller.generic(method, path.format(**UNKNOWN), body, content_type="application/json"), 413, "BAD_REQUEST"
        )
        assert message == f"body: larger than {taken(operation)} bytes", path


def test_what_needs_no_credential_reads_little(document: Document) -> None:
    for method, path, operation in operations(document):
        if "requestBody" in operation and operation["security"] == [{}]:
            assert taken(operation) <= OPEN_TO_ALL_KIB * KIB, f"{method} {path}"


@pytest.mark.usefixtures("db")
def test_a_bad_credential_is_told_before_the_body_is_looked_at(api: APIClient, document: Document) -> None:
    api.credentials(HTTP_AUTHORIZATION="Bearer ak_live_nonsense")
    for method, path, operation in operations(document):
        if "requestBody" in operation and operation["security"] != [{}]:
            for body in ("{", "[" * MAX_BODY_BYTES):
                answer = api.generic(method, path.format(**UNKNOWN), body, content_type="application/json")
                is_an_error(answer, 401, "UNAUTHORIZED")


@pytest.mark.sampled
@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        (
            "/agents",
            {**AGENT, "a2a": {"enabled": True, "peers": [{}] * 340_001}},
            "a2a.peers: has 340001 elements; at most 20",
        ),
        (
            "/agents",
            {**AGENT, "tools": {"enabled": [], "mcpServers": [{}] * 340_001}},
            "tools.mcpServers: has 340001 elements; at most 20",
        ),
        (
            "/agents",
            {**AGENT, "tools": {"enabled": [5] * 340_001, "mcpServers": []}},
            "tools.enabled: has 340001 elements; at most 64",
        ),
        (
            "/agents",
            {**AGENT, "tools": {"enabled": [], "mcpServers": [SERVER | {"args": [{}] * 200_000}]}},
            "tools.mcpServers[0].args: has 200000 elements; at most 64",
        ),
        (
            "/agents",
            {
                **AGENT,
                "tools": {"enabled": [], "mcpServers": [SERVER | {"env": dict.fromkeys(map(str, range(65)), 5)}]},
            },
            "tools.mcpServers[0].env: has 65 entries; at most 64",
        ),
        (
            "/agents",
            {
                **AGENT,
                "tools": {"enabled": [], "mcpServers": [SERVER | {"headers": dict.fromkeys(map(str, range(33)), 5)}]},
            },
            "tools.mcpServers[0].headers: has 33 entries; at most 32",
        ),
        ("/agents", {**AGENT, "channels": [None] * 200_000}, "channels: has 200000 elements; at most 5"),
        ("/personas", {"name": "P", "does": [None] * 200_000}, "does: has 200000 elements; at most 12"),
        ("/personas", {"name": "P", "ru": {**RU, "demo": [{}] * 200_000}}, "ru.demo: has 200000 elements; at most 16"),
        (
            "/personas",
            {"name": "P", "doesExamples": dict.fromkeys(map(str, range(60_000)), 5)},
            "doesExamples: has 60000 entries; at most 12",
        ),
        (
            "/payments/gumroad/callback",
            {"data": dict.fromkeys(map(str, range(6_000)), 5)},
            "data: has 6000 entries; at most 64",
        ),
    ],
)
def test_too_many_are_counted_and_not_looked_at(client: APIClient, path: str, body: Any, message: str) -> None:
    """Listing each of 340,001 wrong elements took 44 s and 1 GB."""
    raw = json.dumps(body, separators=(",", ":"))
    tracemalloc.start()
    try:
        answer = client.generic("POST", path, raw, content_type="application/json")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert is_an_error(answer, 400, "BAD_REQUEST") == message
    assert peak < 64 * 2**20


def test_a_message_stays_short_whatever_came(client: APIClient) -> None:
    bodies = [
        {"name": "P", "k" * 60_000: "\0"},
        {"name": "P", "k" * 60_000: {"x" * 60_000: "\0"}},
        {"name": "P", "doesExamples": {"k" * 60_000: 5}},
        {"name": "P", "tags": ["a" * 60_000]},
    ]
    for body in bodies:
        answer = client.post("/personas", body, format="json")
        assert len(is_an_error(answer, 400, "BAD_REQUEST")) < 2_000
    peers = [{"name": "n" * 400_000, "url": "https://a.example"}] * 2
    answer = client.post("/agents", {**AGENT, "a2a": {"enabled": True, "peers": peers}}, format="json")
    assert len(is_an_error(answer, 400, "BAD_REQUEST")) < 2_000


@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1])
def test_a_body_has_at_most_sixty_four_levels(client: APIClient, depth: int) -> None:
    inner = depth - 1  # the body itself is one level
    for raw in (
        f'{{"name":"P","x":{"[" * inner}{"]" * inner}}}',
        '{"name":"P","x":' + '{"a":' * inner + "1" + "}" * depth,
    ):
        answer = client.generic("POST", "/personas", raw, content_type="application/json")
        if depth <= MAX_DEPTH:
            assert answer.status_code == 200
        else:
            assert is_an_error(answer, 400, "BAD_REQUEST").startswith("body: nested too deeply: more than 64 levels")


@pytest.mark.sampled
@pytest.mark.parametrize("piece", ["[", '{"a":'])
def test_a_deep_body_is_refused_whatever_limit_of_recursion_a_library_left(piece: str) -> None:
    """With Python's own parser and a limit raised a hundredfold, such a body ended the process instead of the call."""
    code = (
        "import django, io, sys, threading; django.setup()\n"
        "from config.parsing import StrictJSONParser\n"
        "from rest_framework.exceptions import ParseError\n"
        "sys.setrecursionlimit(1_000_000)\n"
        "def read():\n"
        "    for depth in (1_000, 1_024, 30_000, 150_000):\n"
        "        try:\n"
        f"            StrictJSONParser().parse(io.BytesIO({piece!r}.encode() * depth))\n"
        "        except ParseError as error:\n"
        "            print(error)\n"
        "thread = threading.Thread(target=read); thread.start(); thread.join(); print('alive')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "alive"), done.stderr
    assert done.stdout.count("body: n") == 4
