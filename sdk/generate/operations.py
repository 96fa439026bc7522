"""Writes one method for each operation of openapi.yaml, as the class `AsyncCalls` of the Python SDK."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

# Other services call these: payment providers and Meta. A client of the API has no use for them.
CALLED_BY_OTHERS = re.compile(r"^createPayment\w*Callback$|WhatsappWebhook$|WhatsappMessages$")
EVENTS = "text/event-stream"
JSON = "application/json"
TYPES = {"integer": "int", "number": "float", "boolean": "bool", "string": "str"}
HEAD = '''"""Every operation of the API, one method each. Generated from openapi.yaml: `make sdk` writes it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Literal

from agentpods._async.connection import AsyncConnection
from agentpods._generated import types
from agentpods._wire.call import ApiCall, in_path, new_key
from agentpods._wire.sse import ServerEvent


class AsyncCalls:
    """Every operation of the API. Names and bodies are those of the API's reference."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
'''


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a method: the code of its type, and the code of the value that goes on the wire."""

    name: str
    type: str
    wire: str = ""
    is_required: bool = False

    @property
    def code(self) -> str:
        return f"{self.name}: {self.type}" if self.is_required else f"{self.name}: {self.type} | None = None"


@dataclass(slots=True)
class ApiOperation:
    """One operation of the document, as far as its method needs it."""

    method: str
    path: str
    id: str
    summary: str
    in_path: list[Argument] = field(default_factory=list)
    query: list[Argument] = field(default_factory=list)
    headers: list[Argument] = field(default_factory=list)
    body: str | None = None
    result: str = "None"
    streams: bool = False
    rows: tuple[str, str] | None = None  # of a list with pages: the field, and the type of a row

    @property
    def name(self) -> str:
        return snake(self.id)


def snake(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()).strip("_")


def module(document: Mapping[str, Any]) -> str:
    """The text of the module."""
    methods = (method for operation in operations(document) for method in _methods(operation))
    return HEAD + "".join("\n" + method for method in methods)


def operations(document: Mapping[str, Any]) -> Iterator[ApiOperation]:
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            if not CALLED_BY_OTHERS.search(told["operationId"]):
                yield _operation(document, path, method.upper(), told)


def _operation(document: Mapping[str, Any], path: str, method: str, told: Mapping[str, Any]) -> ApiOperation:
    found = ApiOperation(method, path, told["operationId"], told.get("summary") or told["operationId"])
    for parameter in told.get("parameters", []):
        _add_parameter(found, parameter)
    order = re.findall(r"\{(\w+)\}", path)
    found.in_path.sort(key=lambda argument: order.index(argument.name))
    if "requestBody" in told:
        found.body = _reference(told["requestBody"]["content"][JSON]["schema"])
    for status, answer in told["responses"].items():
        if status.startswith("2"):
            _add_answer(document, found, answer.get("content", {}))
    return found


def _add_parameter(operation: ApiOperation, parameter: Mapping[str, Any]) -> None:
    name, place = parameter["name"], parameter["in"]
    if name == "Prefer":
        operation.headers.append(Argument("wait", "int", '"Prefer": f"wait={wait}" if wait else None'))
        return
    if name == "Idempotency-Key":
        wire = '"Idempotency-Key": idempotency_key or new_key()'
        operation.headers.append(Argument("idempotency_key", "str", wire))
        return
    argument = f"{snake(name)}_" if keyword.iskeyword(name) else snake(name)
    required = bool(parameter.get("required"))
    code = Argument(argument, _type(parameter["schema"]), f'"{name}": {argument}', required)
    {"path": operation.in_path, "query": operation.query, "header": operation.headers}[place].append(code)


def _type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return f"Literal[{', '.join(repr(value) for value in schema['enum'])}]"
    if "oneOf" in schema:  # a number, or nothing at all
        return _type(schema["oneOf"][0])
    return TYPES[schema["type"]]


def _reference(schema: Mapping[str, Any]) -> str:
    return str(schema["$ref"].rpartition("/")[2])


def _add_answer(document: Mapping[str, Any], operation: ApiOperation, content: Mapping[str, Any]) -> None:
    operation.streams = EVENTS in content
    if JSON not in content:
        operation.result = "bytes" if content else "None"
        return
    name = _reference(content[JSON]["schema"])
    operation.result = f"types.{name}"
    if any(argument.name == "cursor" for argument in operation.query):
        fields = document["components"]["schemas"][name]["properties"]
        ((rows, schema),) = ((key, one) for key, one in fields.items() if one.get("type") == "array")
        operation.rows = (rows, f"types.{_reference(schema['items'])}")


def _methods(operation: ApiOperation) -> Iterator[str]:
    yield _plain(operation)
    if operation.rows:
        yield _pages(operation, *operation.rows)
    if operation.streams:
        yield _stream(operation)


def _plain(operation: ApiOperation) -> str:
    without = [argument for argument in operation.headers if argument.name != "last_event_id"]
    call = _call(operation, without)
    ways = {
        "None": f"await self._connection.reply({call})",
        "bytes": f"return (await self._connection.reply({call})).content",
    }
    whole = f"reply: {operation.result} = (await self._connection.reply({call})).body()\n        return reply"
    return _method(
        f"async def {operation.name}",
        operation,
        operation.query + without,
        operation.result,
        ways.get(operation.result, whole),
    )


def _pages(operation: ApiOperation, rows: str, row: str) -> str:
    query = [argument for argument in operation.query if argument.name != "cursor"]
    body = f'return self._connection.rows({_call(operation, operation.headers, query)}, "{rows}")'
    result = f"AsyncGenerator[{row}, None]"
    return _method(
        f"def {operation.name.replace('list_', 'each_of_', 1)}", operation, query + operation.headers, result, body
    )


def _stream(operation: ApiOperation) -> str:
    body = f"return self._connection.events({_call(operation, operation.headers)})"
    arguments = operation.query + operation.headers
    return _method(f"def stream_{operation.name}", operation, arguments, "AsyncGenerator[ServerEvent, None]", body)


def _method(begin: str, operation: ApiOperation, named: list[Argument], result: str, body: str) -> str:
    given = [
        *operation.in_path,
        *([Argument("body", f"types.{operation.body}", is_required=True)] if operation.body else []),
    ]
    words = ["self", *(argument.code for argument in given), *(["*"] if named else [])]
    words += [argument.code for argument in sorted(named, key=lambda one: not one.is_required)]
    about = f'"""{operation.summary}: `{operation.method} {operation.path}`."""'
    return f"    {begin}({', '.join(words)}) -> {result}:\n        {about}\n        {body}\n"


def _call(operation: ApiOperation, headers: list[Argument], query: list[Argument] | None = None) -> str:
    path = re.sub(r"\{(\w+)\}", r"{in_path(\1)}", operation.path)
    words = [f'"{operation.method}"', f'f"{path}"' if operation.in_path else f'"{path}"']
    for name, arguments in (("query", operation.query if query is None else query), ("headers", headers)):
        if arguments:
            words.append(f"{name}={{{', '.join(argument.wire for argument in arguments)}}}")
    if operation.body:
        words.append("body=body")
    return f"ApiCall({', '.join(words)})"
