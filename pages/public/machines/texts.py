"""The texts of /llms.txt and /llms-full.txt, made from the description of the API (llmstxt.org has the form)."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from config.docs import document
from pages.languages import address
from pages.public.docs.operations import Operation, reference
from pages.public.machines import life

SUMMARY = (
    "Agentpods hosts AI agents. Programs create, configure, pay for and watch agents with the HTTP API that this file "
    "describes; everything that a person can do here, a program can do too."
)


def short() -> str:
    """What a model must know to begin, and where to find the rest."""
    return f"{_beginning()}\n{_links()}"


@functools.cache  # made from the document, which does not change while the process runs
def full() -> str:
    """The same with the whole description of the API and every operation."""
    described = json.loads(document().body)
    told = described["info"]["description"]
    groups = reference().groups.values()
    operations = "\n".join(
        f"\n## {group.name}\n\n" + "\n".join(_operation(one, described) for one in group.operations) for group in groups
    )
    return f"{_beginning()}\n# The API in one page\n\n{told}\n\n# Every operation\n{operations}"


def _beginning() -> str:
    steps = "\n".join(life.written(step, number, _calls()) for number, step in enumerate(life.LIFE, start=1))
    return f"""# Agentpods

> {SUMMARY}

Base address: {address("").rstrip("/")}. Bodies are JSON. Every answer has `Request-Id`; quote it when you ask for help.

## Authenticate

Send `Authorization: Bearer <token>`, where the token is an API key (`ak_live_…`) that a person made for you at
{address("account")}. Without one: `POST /auth/request` with `{{"email": …}}` mails a six-digit code,
`POST /auth/verify` with `{{"email": …, "code": …}}` answers with a session token, and `POST /keys` with
`{{"name": …}}` makes an API key, whose secret is shown once. Catalogs (`/personas`, `/tiers`, `/engines`, `/models`,
`/llm-providers`, `/tools`) need no token.

With MCP: the server is {address("mcp")}, over HTTP, with the same header ({address("guide/how-to/drive-by-mcp/")}).

## The whole life of an agent

Words in braces are values that you have or that an earlier answer gave (`Keep` says where it is). To try a call that
writes, add `?dryRun=true`: it is checked, `Dry-Run-Cost` says what it costs, and nothing is done.

{steps}

## When something is refused

Each refusal has the body `{{"error": CODE, "message": text}}`. `error` is one of a few words,
{address("docs#errors")} has them; `message` names the field, what came, what is allowed, and the next call. After 429
and 503 wait for `Retry-After` seconds. Repeat a `POST` safely with the same `Idempotency-Key`.
"""


def _links() -> str:
    groups = [
        f"- [{one.name}]({address(f'docs/{one.slug}')}): {_count(one.operations)}"
        for one in reference().groups.values()
    ]
    listed = "\n".join(groups)
    return f"""## Documentation

- [OpenAPI 3.1]({address("openapi.json")}): every operation with its fields, examples and errors
- [Everything in one text]({address("llms-full.txt")}): this file, the description of the API, every operation
- [The API in one page]({address("docs")}): rules, waiting, errors, webhooks, paying
- [Guide]({address("guide/")}): tutorials, tasks, reference
- [Status]({address("status")}): whether the platform works now

## Operations

{listed}
"""


def _count(operations: list[Operation]) -> str:
    return ", ".join(f"`{one.method} {one.path}`" for one in operations)


def _calls() -> Mapping[str, tuple[str, str]]:
    every = (one for group in reference().groups.values() for one in group.operations)
    return {one.id: (one.method, one.path) for one in every}


def _operation(shown: Operation, described: Mapping[str, Any]) -> str:
    item = described["paths"].get(shown.path) or described["webhooks"][shown.path]
    told = item[shown.method.lower()].get("description", "")
    fields = [*_fields("Parameters", shown.parameters), *_fields("Body", shown.body)]
    answers = f"Answers: {shown.success}" + (f"; refusals {', '.join(shown.refusals)}" if shown.refusals else "")
    title = f"### {shown.method} {shown.path} ({shown.id})" if shown.examples else f"### {shown.path} ({shown.id})"
    return "\n\n".join(part for part in (title, f"{shown.summary}.", told, *fields, answers) if part) + "\n"


def _fields(title: str, fields: list[Any]) -> Iterator[str]:
    if fields:
        named = (f"`{one.name}` ({one.kind}{', required' if one.required else ''})" for one in fields)
        yield f"{title}: {', '.join(named)}"
