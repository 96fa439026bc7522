"""The TypeScript client: a program of Node.js makes each call with the SDK, and says how it ended."""

from __future__ import annotations

import base64
import functools
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import yaml

from agentpods import ServerEvent, types, webhooks
from agentpods import errors as raised
from agentpods._wire.call import in_path
from agentpods._wire.settings import TIMEOUT
from sdk.generate import typescript
from sdk.generate.operations import ApiOperation, Argument, operations
from tests.chromium import NODE
from tests.sdk.driving.client import DrivenClient, with_words
from tests.sdk.driving.typescript_groups import groups

DRIVER = "test/driver.ts"
SECONDS = 600  # for all that one test asks of it
BINARY = "arrayBuffer"


def copied(to: Path) -> Path:
    """A copy of the SDK beside its packages. Needs the registry of npm the first time."""
    place = to / "sdk-typescript"
    for name in ("src", "test"):
        shutil.copytree(typescript.SOURCE / name, place / name)
    for name in ("package.json", "tsconfig.json", "tsconfig.test.json"):
        shutil.copy(typescript.SOURCE / name, place / name)
    (place / "node_modules").symlink_to(typescript.packages() / "node_modules")
    return place


class TypescriptProgram:
    """One program of Node.js, which does one thing at a time."""

    def __init__(self, process: subprocess.Popen[str], complaints: Path) -> None:
        self._process, self._complaints = process, complaints

    def asks(self, what: str, **said: Any) -> dict[str, Any]:
        """The answer to one line. Raises what the SDK threw, as the error of the Python SDK with the same name."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"ask": what, **said}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the program ended: {self._complaints.read_text()}"
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            _raise(answer["error"])
        return answer

    def calls(self, of: str, name: str, *given: Any) -> Any:
        """A call of the group `of`: what it returns, or an iterator."""
        answer = self.asks("call", of=of, name=name, given=given)
        return self.read(answer["iterator"]) if "iterator" in answer else answer.get("value")

    def read(self, iterator: int) -> Iterator[Any]:
        try:
            while not (answer := self.asks("next", iterator=iterator)).get("done"):
                yield answer["value"]
        finally:
            self.asks("leave", iterator=iterator)

    def verified(
        self, body: bytes, headers: Mapping[str, str] | Iterable[tuple[str, str]], *, secret: str
    ) -> types.WebhookEvent:
        given = [base64.b64encode(body).decode(), dict(headers), secret]
        event: types.WebhookEvent = self.asks("verified", given=given)["value"]
        return event


class TypescriptCalls:
    """`pods.api` of the TypeScript SDK, which takes methods and paths, with the names of the Python SDK."""

    def __init__(self, program: TypescriptProgram, known: Mapping[str, ApiOperation]) -> None:
        self._program, self._known = program, known

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("each_of_"):
            return self._pages(self._known[name.replace("each_of_", "list_", 1)])
        if name.startswith("stream_"):
            return self._stream(self._known[name.removeprefix("stream_")])
        return self._single(self._known[name])

    def _single(self, operation: ApiOperation) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            init = _init(operation, given, named)
            answer = self._program.asks("operation", of=operation.method, name=operation.path, given=[init])
            return base64.b64decode(answer["value"]) if "parseAs" in init else answer.get("value")

        return call

    def _pages(self, operation: ApiOperation) -> Callable[..., Iterator[Any]]:
        assert operation.rows
        field = operation.rows[0]

        def call(*given: Any, **named: Any) -> Iterator[Any]:
            wanted = [_init(operation, given, named), field]
            begun = self._program.asks("pages", of=operation.method, name=operation.path, given=wanted)
            return self._program.read(begun["iterator"])

        return call

    def _stream(self, operation: ApiOperation) -> Callable[..., Iterator[ServerEvent]]:
        def call(*given: Any, **named: Any) -> Iterator[ServerEvent]:
            init = _init(operation, given, named)
            path = operation.path.format(**{name: in_path(one) for name, one in init["params"]["path"].items()})
            body = [init["body"]] if "body" in init else []
            begun = self._program.asks("stream", of=operation.method, name=path, given=body)
            return (ServerEvent(**event) for event in self._program.read(begun["iterator"]))

        return call


def _init(operation: ApiOperation, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """What openapi-fetch takes beside the path."""
    arguments = [*operation.in_path, *([Argument("body", "", is_required=True)] if operation.body else [])]
    values = {**dict(zip((one.name for one in arguments), given, strict=True)), **named}
    params: dict[str, Any] = {}
    for place, those in (("path", operation.in_path), ("query", operation.query), ("header", operation.headers)):
        params[place] = {_on_wire(one): values[one.name] for one in those if values.get(one.name) is not None}
    if wait := params["header"].pop("Prefer", None):
        params["header"]["Prefer"] = f"wait={wait}"
    init = {"params": params, **({"body": values["body"]} if operation.body else {})}
    return {**init, "parseAs": BINARY} if operation.result == "bytes" else init


def _on_wire(argument: Argument) -> str:
    """The name on the wire: `from` of the argument `from_`."""
    return argument.wire.split('"')[1]


def _raise(error: dict[str, Any]) -> NoReturn:
    message, status = error["message"], int(error.get("status", 0))
    match error["name"]:
        case "ApiError":
            asked = "" if error["retryAfter"] is None else str(error["retryAfter"])
            headers = {"request-id": error["requestId"] or "", "retry-after": asked}
            raise raised.refusal(status, {"error": error["error"], "message": message}, headers, secret="")
        case "NotSettledError":
            raise raised.NotSettledError(message, agent={"status": error["settled"]})
        case "NotGenuineError":
            raise webhooks.NotGenuineError(message)
        case "TypeError":
            raise ValueError(message)
        case name:
            raise getattr(raised, name, AssertionError)(message)


@contextmanager
def started(sdk: Path, url: str, key: str, *, timeout: float = TIMEOUT, max_retries: int = 3) -> Iterator[DrivenClient]:
    """The SDK of this copy calls the service with this key."""
    environment = {"PATH": os.environ["PATH"], "AGENTPODS_URL": url, "AGENTPODS_API_KEY": key}
    options = {"timeout": timeout, "maxRetries": max_retries}
    complaints = sdk / "complaints"
    with (
        complaints.open("a") as log,
        subprocess.Popen(
            [str(NODE), DRIVER, json.dumps(options)],
            cwd=sdk,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        latest = threading.Timer(SECONDS, process.kill)
        latest.start()
        program = TypescriptProgram(process, complaints)
        try:
            yield with_words({"api": TypescriptCalls(program, _known()), **groups(program.calls)}, program.verified)
        finally:
            latest.cancel()
            process.kill()


@functools.cache
def document() -> dict[str, Any]:
    """openapi.yaml."""
    told: dict[str, Any] = yaml.load((typescript.ROOT / "openapi.yaml").read_bytes(), Loader=yaml.CSafeLoader)
    return told


def _known() -> dict[str, ApiOperation]:
    """The operations by the names of their methods in Python."""
    return {one.name: one for one in operations(document())}
