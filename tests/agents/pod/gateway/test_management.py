from __future__ import annotations

import pytest

from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import KEY, GatewayProcess
from tests.doubles.bridge import BridgeDouble
from tests.doubles.provider import ModelVendor


@pytest.mark.parametrize(
    "shown", [None, "", "Bearer ", "Bearer wrong", "Basic x", "bearer management-token-0123456789"]
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/health"), ("PUT", "/config"), ("POST", "/chat"), ("GET", "/x")])
def test_only_the_management_token_opens_it(gateway: GatewayProcess, shown: str | None, method: str, path: str) -> None:
    headers = {} if shown is None else {"Authorization": shown}
    answer = gateway.control_plane().request(method, gateway.management + path, headers=headers, timeout=5)
    assert answer.status_code == 401
    assert answer.json()["error"] == "UNAUTHORIZED"
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_header_that_is_no_text_is_just_a_wrong_token(gateway: GatewayProcess) -> None:
    headers = {"Authorization": b"Bearer \xff\xfe"}
    answer = gateway.control_plane().get(gateway.management + "/health", headers=headers, timeout=5)
    assert answer.status_code == 401


def test_health_tells_revision_key_engine_and_model(fresh: GatewayProcess, bridge: BridgeDouble) -> None:
    body = fresh.ask("GET", "/health").json()
    assert (body["revision"], body["has_key"], body["engine"]) == (1, True, bridge.state())
    assert body["model"] == {"calls": 0, "in_flight": 0, "last_failure": None, "failing": False, "answered": False}


def test_an_answer_of_the_model_is_remembered_for_this_key_alone(start_gateway: StartGateway) -> None:
    gateway = start_gateway()
    assert gateway.call_model().status_code == 200
    assert gateway.ask("GET", "/health").json()["model"]["answered"] is True
    gateway.configure(llm_key="sk-another-0123456789")
    assert gateway.ask("GET", "/health").json()["model"]["answered"] is False


def test_health_says_null_for_an_engine_whose_bridge_is_gone(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.stop()
    assert gateway.ask("GET", "/health").json()["engine"] is None


def test_a_configuration_reaches_the_bridge_and_then_the_secrets_change(
    start_gateway: StartGateway, bridge: BridgeDouble, provider: ModelVendor
) -> None:
    gateway = start_gateway(llm_key=None)
    answer = gateway.configure(llm_key="sk-another-0123456789", soul="Be bold.")
    assert (answer.status_code, answer.json()) == (200, {"revision": 2})
    assert [(config["revision"], config["soul"]) for config in bridge.configs] == [(2, "Be bold.")]
    assert "sk-another" not in str(bridge.configs)
    gateway.call_model()
    assert provider.requests[-1].headers["Authorization"] == "Bearer sk-another-0123456789"


def test_a_bridge_that_refuses_leaves_everything_as_it_was(fresh: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.refuses = 500
    answer = fresh.configure(llm_key=None)
    assert (answer.status_code, answer.json()["error"]) == (503, "INTERNAL")
    assert fresh.ask("GET", "/health").json()["revision"] == 1
    assert fresh.call_model().status_code == 200


def test_a_late_older_revision_changes_nothing(fresh: GatewayProcess, bridge: BridgeDouble) -> None:
    fresh.configure(revision=5, soul="Five.")
    answer = fresh.configure(revision=4, soul="Four.", llm_key=None)
    assert (answer.status_code, answer.json()) == (200, {"revision": 5})
    assert [config["soul"] for config in bridge.configs] == ["Five."]
    assert fresh.ask("GET", "/health").json()["has_key"] is True


def test_a_new_management_token_is_the_only_one_at_once(fresh: GatewayProcess) -> None:
    fresh.configure(management_token="another-management-token")
    assert fresh.ask("GET", "/health").status_code == 401
    assert fresh.ask("GET", "/health", token="another-management-token").status_code == 200


@pytest.mark.parametrize("body", [{}, {"config": {}}, {"config": {"revision": 2}, "secrets": {}}, [], "x"])
def test_an_incomplete_configuration_is_refused_whole(
    gateway: GatewayProcess, bridge: BridgeDouble, body: object
) -> None:
    answer = gateway.ask("PUT", "/config", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"] == "BAD_REQUEST"
    assert bridge.configs == []


def test_unknown_paths_and_methods_answer_in_the_error_body(gateway: GatewayProcess) -> None:
    assert gateway.ask("GET", "/nothing").json()["error"] == "NOT_FOUND"
    answer = gateway.ask("DELETE", "/chat")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert set(answer.json()) == {"error", "message"}


def test_no_answer_names_the_server_or_the_key(gateway: GatewayProcess) -> None:
    answer = gateway.ask("GET", "/health")
    assert "Server" not in answer.headers
    assert KEY not in answer.text
