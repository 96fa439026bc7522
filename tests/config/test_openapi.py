from __future__ import annotations

import pytest

from config.operation_names import name_of


@pytest.mark.parametrize(
    ("method", "path", "many", "name"),
    [
        ("GET", "/agents", True, "listAgents"),
        ("POST", "/agents", False, "createAgent"),
        ("GET", "/agents/{id}", False, "getAgent"),
        ("PATCH", "/agents/{id}", False, "updateAgent"),
        ("DELETE", "/keys/{id}", False, "deleteKey"),
        ("POST", "/agents/{id}/pause", False, "pauseAgent"),
        ("PATCH", "/agents/{id}/llm-key", False, "updateAgentLlmKey"),
        ("PUT", "/agents/{id}/tools", False, "setAgentTools"),
        ("POST", "/agents/{id}/webhook/test", False, "testAgentWebhook"),
        ("GET", "/agents/{id}/liveness", False, "getAgentLiveness"),
        ("POST", "/agents/{id}/backups/{name}/restore", False, "restoreAgentBackup"),
        ("GET", "/agents/{id}/webhook/deliveries", True, "listAgentWebhookDeliveries"),
        ("POST", "/agents/{id}/webhook/deliveries/{event}/redeliver", False, "redeliverAgentWebhookDelivery"),
        ("GET", "/status/incidents", True, "listStatusIncidents"),
    ],
)
def test_an_operation_is_named_verb_first(method: str, path: str, many: bool, name: str) -> None:
    assert name_of(method, path, many=many) == name
