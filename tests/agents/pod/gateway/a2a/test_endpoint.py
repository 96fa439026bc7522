"""The A2A endpoint as bytes on the wire: card, credentials, versions, malformed calls."""

from __future__ import annotations

import json
import time
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
import requests

from tests.agents.pod.gateway.a2a.conftest import TOKEN
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import KEY, MANAGEMENT_TOKEN, TICKET_KEY, GatewayProcess
from tests.doubles.bridge import BridgeDouble
from tests.patience import Patience

CARDS = ["/.well-known/agent-card.json", "/.well-known/agent.json", "/a2a/.well-known/agent-card.json"]
MESSAGE = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}


def post(
    gateway: GatewayProcess, body: Any, *, version: str | None = "1.0", path: str = "/a2a", token: str = TOKEN
) -> Any:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    if version is not None:
        headers["A2A-Version"] = version
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return requests.post(gateway.public + path, data=raw, headers=headers, timeout=20)


def call(gateway: GatewayProcess, method: str, params: Any = None, *, version: str | None = "1.0") -> Any:
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": {} if params is None else params}
    answer = post(gateway, body, version=version)
    assert answer.status_code == 200
    told = answer.json()
    assert (told["jsonrpc"], told["id"]) == ("2.0", 7)
    return told


@pytest.mark.parametrize("path", CARDS)
def test_the_card_is_public_cached_and_tells_no_secret(peerable: GatewayProcess, path: str) -> None:
    answer = requests.get(peerable.public + path, timeout=5)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    assert answer.headers["Cache-Control"] == "public, max-age=30"
    again = requests.get(peerable.public + path, headers={"If-None-Match": answer.headers["ETag"]}, timeout=5)
    assert (again.status_code, again.content) == (304, b"")
    assert not [secret for secret in (TOKEN, KEY, MANAGEMENT_TOKEN, TICKET_KEY, "Be kind.") if secret in answer.text]


OLD = {"url", "preferredTransport", "protocolVersion", "security"}
ROOT, *OLD_CARDS = CARDS


def card_of(gateway: GatewayProcess, path: str, version: str | None = None) -> Any:
    headers = {} if version is None else {"A2A-Version": version}
    answer = requests.get(gateway.public + path, headers=headers, timeout=5)
    assert answer.headers["Vary"] == "A2A-Version"
    return answer.json()


def test_the_card_names_address_versions_and_bearer(start_gateway: StartGateway) -> None:
    public = "https://ada-abc123.pods.example"
    gateway = start_gateway(a2a_enabled=True, a2a_token=TOKEN, public_url=public)
    card = card_of(gateway, ROOT)
    assert {offer["url"] for offer in card["supportedInterfaces"]} == {f"{public}/a2a"}
    assert [offer["protocolVersion"] for offer in card["supportedInterfaces"]] == ["1.0", "0.3"]
    assert card["securitySchemes"] == {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
    assert card["securityRequirements"] == [{"schemes": {"bearer": {"list": []}}}]
    required = {"name", "description", "version", "capabilities", "defaultInputModes", "defaultOutputModes", "skills"}
    assert required <= set(card)
    assert set(card["skills"][0]) == {"id", "name", "description", "tags"}


@pytest.mark.parametrize(("path", "version"), [*[(path, None) for path in OLD_CARDS], (ROOT, "0.3"), (ROOT, "0.3.0")])
def test_where_clients_of_the_old_version_look_the_card_has_their_spelling_too(
    peerable: GatewayProcess, path: str, version: str | None
) -> None:
    card = card_of(peerable, path, version)
    assert card["url"] == card["supportedInterfaces"][0]["url"]
    assert (card["protocolVersion"], card["preferredTransport"]) == ("0.3.0", "JSONRPC")
    assert card["security"] == [{"bearer": []}]
    assert card["securitySchemes"]["bearer"]["type"] == "http"


@pytest.mark.parametrize(("path", "version"), [(ROOT, None), (ROOT, "1.0"), (OLD_CARDS[0], "1.0"), (ROOT, "x")])
def test_the_card_of_the_new_version_has_no_other_fields(
    peerable: GatewayProcess, path: str, version: str | None
) -> None:
    assert not OLD & set(card_of(peerable, path, version))


def test_the_card_says_when_it_changed(fresh_peerable: GatewayProcess) -> None:
    def changed() -> float:
        said = requests.get(fresh_peerable.public + ROOT, timeout=5).headers["Last-Modified"]
        return parsedate_to_datetime(said).timestamp()

    before = changed()
    time.sleep(max(0, before + 1 - time.time()))
    fresh_peerable.configure(name="Grace")
    assert changed() > before


@pytest.mark.parametrize("path", ["/a2a", "/a2a/"])
@pytest.mark.parametrize("token", ["", "wrong", MANAGEMENT_TOKEN, KEY])
def test_calls_need_the_agents_token(peerable: GatewayProcess, bridge: BridgeDouble, path: str, token: str) -> None:
    answer = post(peerable, {"jsonrpc": "2.0", "id": 1, "method": "SendMessage"}, path=path, token=token)
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert answer.json()["error"] == "UNAUTHORIZED"
    assert bridge.turns == []


def test_both_spellings_of_the_address_answer_without_a_redirect(peerable: GatewayProcess) -> None:
    for path in ("/a2a", "/a2a/"):
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": MESSAGE}}
        answer = post(peerable, body, path=path)
        assert answer.json()["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_switching_works_at_once_and_without_the_engine(fresh_peerable: GatewayProcess, bridge: BridgeDouble) -> None:
    fresh_peerable.configure(a2a_enabled=False, a2a_token=None)
    off = requests.get(fresh_peerable.public + CARDS[0], headers={"Accept": "application/json"}, timeout=5)
    assert (off.status_code, off.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert post(fresh_peerable, {"jsonrpc": "2.0", "id": 1, "method": "SendMessage"}).status_code == 404
    fresh_peerable.configure(a2a_enabled=True, a2a_token="another-token")
    assert requests.get(fresh_peerable.public + CARDS[0], timeout=5).status_code == 200
    assert post(fresh_peerable, {}, token=TOKEN).status_code == 401
    assert post(fresh_peerable, {}, token="another-token").status_code == 200


def test_tasks_asked_for_under_an_old_token_are_gone_with_it(fresh_peerable: GatewayProcess) -> None:
    task = call(fresh_peerable, "SendMessage", {"message": MESSAGE})["result"]["task"]
    fresh_peerable.configure(a2a_token="another-token")
    body = {"jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": {"id": task["id"]}}
    assert post(fresh_peerable, body, token="another-token").json()["error"]["code"] == -32001


@pytest.mark.parametrize(
    ("version", "method", "code"),
    [
        ("99.0", "SendMessage", -32009),
        ("99.0", "nothing", -32009),
        ("0.2", "message/send", -32009),
        ("x", "SendMessage", -32009),
        (None, "SendMessage", -32009),
        ("", "SendMessage", -32009),
        ("0.3", "SendMessage", -32009),
        ("1.0", "message/send", -32009),
        ("1.0", "nothing", -32601),
        ("1.1", "nothing", -32601),
        (None, "nothing", -32601),
        ("0.3.0", "nothing", -32601),
    ],
)
def test_versions_are_told_apart(peerable: GatewayProcess, version: str | None, method: str, code: int) -> None:
    error = call(peerable, method, {"message": MESSAGE}, version=version)["error"]
    assert error["code"] == code
    assert error["data"][0]["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    assert error["data"][0]["domain"] == "a2a-protocol.org"


def test_a_peer_without_a_version_speaks_the_old_dialect(peerable: GatewayProcess) -> None:
    message = {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hello"}]}
    task = call(peerable, "message/send", {"message": message}, version=None)["result"]
    assert (task["kind"], task["status"]["state"]) == ("task", "completed")
    assert task["artifacts"][0]["parts"] == [{"kind": "text", "text": "you said hello"}]
    assert task["history"][0]["role"] == "user"


def changed(**given: Any) -> dict[str, Any]:
    return {"message": {**MESSAGE, **given}}


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, -32602),
        ({"message": "hi"}, -32602),
        (changed(parts=[]), -32602),
        (changed(messageId=""), -32602),
        (changed(messageId=5), -32602),
        (changed(contextId=5), -32602),
        (changed(contextId="x" * 257), -32602),
        (changed(parts=[{"text": "x" * 70_000}]), -32602),
        (changed(parts=[{"text": "\ud800"}]), -32602),
        (changed(parts=[{"url": "https://example.com/a.png"}]), -32005),
        (changed(parts=[{"text": "look"}, {"raw": "AAAA"}]), -32005),
        (changed(parts=[{"text": "  "}]), -32005),
        (changed(parts=["hi"]), -32005),
        (changed(taskId="nothing"), -32001),
    ],
)
def test_messages_that_cannot_be_read_are_refused(
    peerable: GatewayProcess, bridge: BridgeDouble, params: dict[str, Any], code: int
) -> None:
    assert call(peerable, "SendMessage", params)["error"]["code"] == code
    assert bridge.turns == []


def test_a_message_to_a_finished_task_or_across_contexts_is_refused(peerable: GatewayProcess) -> None:
    task = call(peerable, "SendMessage", {"message": MESSAGE})["result"]["task"]
    again = changed(taskId=task["id"], contextId=task["contextId"])
    assert call(peerable, "SendMessage", again)["error"]["code"] == -32004
    across = changed(taskId=task["id"], contextId="another")
    assert call(peerable, "SendMessage", across)["error"]["code"] == -32602
    assert call(peerable, "SubscribeToTask", {"id": task["id"]})["error"]["code"] == -32004


@pytest.mark.parametrize(
    ("method", "code"),
    [
        ("CreateTaskPushNotificationConfig", -32003),
        ("GetTaskPushNotificationConfig", -32003),
        ("ListTaskPushNotificationConfigs", -32003),
        ("DeleteTaskPushNotificationConfig", -32003),
        ("GetExtendedAgentCard", -32007),
    ],
)
def test_what_the_card_does_not_offer_is_refused_by_name(peerable: GatewayProcess, method: str, code: int) -> None:
    assert call(peerable, method)["error"]["code"] == code


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b'"x"', -32600),
        (b"{}", -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "GetTask"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 5}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "GetTask"}', -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "GetTask"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": []}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {"pageSize": 0.5}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {"pageSize": 101}}', -32602),
    ],
)
def test_malformed_calls_are_json_rpc_errors(peerable: GatewayProcess, raw: bytes, code: int) -> None:
    answer = post(peerable, raw)
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, code)


@pytest.mark.parametrize("method", ["message/stream", "tasks/resubscribe"])
def test_clients_of_the_old_version_that_asked_for_a_stream_find_the_error_in_one(
    peerable: GatewayProcess, method: str
) -> None:
    """These clients read only a stream. Clients of version 1.0 read an answer in JSON."""
    answer = post(peerable, {"jsonrpc": "2.0", "id": 7, "method": method, "params": {"id": "nothing"}}, version="0.3")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/event-stream")
    told = json.loads(answer.text.removeprefix("data: "))
    assert (told["id"], told["error"]["code"]) == (7, -32602 if method == "message/stream" else -32001)
    new = post(peerable, {"jsonrpc": "2.0", "id": 7, "method": "SendStreamingMessage"})
    assert new.json()["error"]["code"] == -32602


def test_another_content_type_is_refused(peerable: GatewayProcess) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "text/plain"}
    answer = requests.post(peerable.public + "/a2a", data=b"{}", headers=headers, timeout=5)
    assert answer.json()["error"]["code"] == -32005


def test_a_task_goes_on_when_its_caller_hangs_up(peerable: GatewayProcess, bridge: BridgeDouble) -> None:
    def slow(_: object) -> Any:
        time.sleep(1)
        yield {"type": "done", "reply": "late"}

    bridge.turn = slow
    headers = {"Authorization": f"Bearer {TOKEN}", "A2A-Version": "1.0"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": {"message": MESSAGE}}
    with requests.post(peerable.public + "/a2a", json=body, headers=headers, stream=True, timeout=5) as answer:
        first = json.loads(next(answer.iter_lines(chunk_size=1)).removeprefix(b"data: "))
    task_id = first["result"]["task"]["id"]
    patience = Patience(5)
    task = call(peerable, "GetTask", {"id": task_id})["result"]
    while task["status"]["state"] == "TASK_STATE_WORKING" and not patience.ended():
        time.sleep(0.1)
        task = call(peerable, "GetTask", {"id": task_id})["result"]
    assert (task["status"]["state"], task["artifacts"][0]["parts"]) == ("TASK_STATE_COMPLETED", [{"text": "late"}])


def test_a_late_watcher_sees_the_task_so_far_and_the_rest(peerable: GatewayProcess, bridge: BridgeDouble) -> None:
    def slow(_: object) -> Any:
        yield {"type": "delta", "text": "one"}
        time.sleep(1)
        yield {"type": "delta", "text": " two"}
        yield {"type": "done", "reply": "one two"}

    bridge.turn = slow
    at_once = {"message": MESSAGE, "configuration": {"returnImmediately": True}}
    task_id = call(peerable, "SendMessage", at_once)["result"]["task"]["id"]
    time.sleep(0.4)
    body = {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": task_id}}
    lines = [line for line in post(peerable, body).text.split("\n") if line.startswith("data: ")]
    results = [json.loads(line.removeprefix("data: "))["result"] for line in lines]
    assert results[0]["task"]["artifacts"][0]["parts"] == [{"text": "one"}]
    assert results[1]["artifactUpdate"]["artifact"]["parts"] == [{"text": " two"}]
    assert results[2]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
