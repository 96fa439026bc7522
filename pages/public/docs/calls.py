"""Example code of a call in curl, Python (requests) and JavaScript (fetch)."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

TIMEOUT_SECONDS = 130  # longer than the slowest call: a turn of an agent
NEVER = object()  # no body


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleCall:
    method: str
    url: str
    query: Mapping[str, Any]
    body: Any  # NEVER if the call has no body
    needs_token: bool
    answers: str | None  # the media type of a successful answer; None if it has no body


@dataclass(frozen=True, slots=True)
class Example:
    label: str
    code: str


def examples(call: ExampleCall) -> list[Example]:
    return [Example("curl", _curl(call)), Example("Python", _python(call)), Example("JavaScript", _javascript(call))]


def _address(call: ExampleCall) -> str:
    return f"{call.url}?{urlencode(call.query)}" if call.query else call.url


def _curl(call: ExampleCall) -> str:
    parts = ["curl" if call.method == "GET" else f"curl -X {call.method}"]
    parts[0] += f" {shlex.quote(_address(call))}"
    if call.needs_token:
        parts.append('-H "Authorization: Bearer $AGENTPODS_TOKEN"')
    if call.body is not NEVER:
        parts.append("-H 'Content-Type: application/json'")
        parts.append(f"-d {shlex.quote(json.dumps(call.body, ensure_ascii=False, indent=2))}")
    if _is_file(call):
        parts.append("-o answer")
    return " \\\n  ".join(parts)


def _python(call: ExampleCall) -> str:
    arguments = [json.dumps(call.url, ensure_ascii=False)]
    if call.needs_token:
        arguments.append('headers={"Authorization": f"Bearer {os.environ[\'AGENTPODS_TOKEN\']}"}')
    if call.query:
        arguments.append(f"params={_literal(call.query)}")
    if call.body is not NEVER:
        arguments.append(f"json={_literal(call.body)}")
    arguments.append(f"timeout={TIMEOUT_SECONDS}")
    listed = "".join(f"    {one},\n" for one in arguments)
    shown = {"application/json": "print(answer.json())", "text/plain": "print(answer.text)"}
    last = shown.get(call.answers or "", "print(answer.status_code)")
    if _is_file(call):
        last = 'pathlib.Path("answer").write_bytes(answer.content)'
    imports = [*(["os"] if call.needs_token else []), *(["pathlib"] if _is_file(call) else [])]
    top = "".join(f"import {name}\n" for name in imports) + ("\n" if imports else "")
    asked = f"answer = requests.{call.method.lower()}(\n{listed})"
    return f"{top}import requests\n\n{asked}\nanswer.raise_for_status()\n{last}"


def _literal(value: Any, margin: str = "    ") -> str:
    """The value as Python code, formatted in the usual way."""
    inner = f"{margin}    "
    if isinstance(value, Mapping) and value:
        rows = [f"{_literal(name)}: {_literal(one, inner)}" for name, one in value.items()]
        return "{\n" + "".join(f"{inner}{row},\n" for row in rows) + f"{margin}}}"
    if isinstance(value, list) and value:
        return f"[{', '.join(_literal(one, margin) for one in value)}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _javascript(call: ExampleCall) -> str:
    options = [f'method: "{call.method}"'] if call.method != "GET" else []
    headers = ["Authorization: `Bearer ${process.env.AGENTPODS_TOKEN}`"] if call.needs_token else []
    if call.body is not NEVER:
        headers.append('"Content-Type": "application/json"')
    if headers:
        options.append(f"headers: {{ {', '.join(headers)} }}")
    if call.body is not NEVER:
        body = json.dumps(call.body, ensure_ascii=False, indent=2).replace("\n", "\n  ")
        options.append(f"body: JSON.stringify({body})")
    listed = "".join(f"  {one},\n" for one in options)
    second = f", {{\n{listed}}}" if options else ""
    shown = {"application/json": "await answer.json()", "text/plain": "await answer.text()"}
    what = shown.get(call.answers or "", "answer.status")
    if _is_file(call):
        what = "await answer.arrayBuffer()"
    return (
        f"const answer = await fetch({json.dumps(_address(call), ensure_ascii=False)}{second});\n"
        "if (!answer.ok) throw new Error(await answer.text());\n"
        f"console.log({what});"
    )


def _is_file(call: ExampleCall) -> bool:
    return call.answers in {"application/gzip", "application/pdf"}
