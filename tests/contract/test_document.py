"""The OpenAPI document agrees with the tables of docs/spec.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract import spec

pytestmark = pytest.mark.unmeasured

Document = dict[str, Any]


def operations(document: Document) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


@pytest.mark.parametrize("name", spec.COMPONENTS)
def test_a_resource_has_exactly_the_fields_of_the_specification(document: Document, name: str) -> None:
    always, sometimes = spec.COMPONENTS[name]
    component = document["components"]["schemas"][name]
    assert set(component["properties"]) == always | sometimes
    assert set(component["required"]) == always


def test_a_subscription_is_bought_with_a_key_of_a_provider_that_sells_keys(document: Document) -> None:
    body = document["paths"]["/subscriptions"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    component = document["components"]["schemas"][body["$ref"].rsplit("/", 1)[1]]
    assert component["properties"]["provider"]["enum"] == ["gumroad", "lemonsqueezy"]
    assert set(component["required"]) == {"agentId", "licenseKey", "period", "provider"}


@pytest.mark.parametrize("name", ["StarsOrder", "CryptoOrder", "Subscription", "ApiKey", "AgentTerm"])
def test_a_field_that_is_always_there_is_required_also_where_it_may_be_null(document: Document, name: str) -> None:
    component = document["components"]["schemas"][name]
    assert set(component["required"]) == set(component["properties"])


def test_asking_for_a_code_is_always_answered_with_ok(document: Document) -> None:
    assert document["components"]["schemas"]["Requested"]["required"] == ["ok"]


def test_every_operation_has_a_name_of_its_own_a_summary_a_group_and_a_security_rule(document: Document) -> None:
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(names) == len(set(names))
    for method, path, operation in operations(document):
        at = f"{method} {path}"
        assert re.fullmatch(r"[a-z]+([A-Z][a-z0-9]*)+", operation["operationId"]), at
        assert operation["summary"], at
        assert operation["tags"][0] in {tag["name"] for tag in document["tags"]}, at
        assert operation["security"] in ([{"bearer": []}], [{}]), at


# Providers call these endpoints; they prove their identity in other ways.
CALLBACKS = {
    "/payments/{provider}/callback",
    "/payments/stars/callback",
    "/payments/stripe/callback",
    "/agents/{id}/channels/whatsapp",
}
# Endpoints where a secret in the request itself may be wrong.
SECRETS = {"/auth/verify", "/payments/stars/callback", "/payments/{provider}/callback"}


def _names_an_agent(document: Document, operation: dict[str, Any]) -> bool:
    """Whether the query or the body has an `agentId`, for which there may be no agent."""
    if any(parameter["name"] == "agentId" for parameter in operation.get("parameters", [])):
        return True
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    return "agentId" in document["components"]["schemas"].get(name, {}).get("properties", {})


def test_only_the_public_paths_take_no_credential(document: Document) -> None:
    public = {path for _, path, operation in operations(document) if operation["security"] == [{}]}
    assert (
        public
        == {
            "/auth/request",
            "/auth/verify",
            "/personas",
            "/personas/{id}",
            "/personas/{id}/articles/{slug}",
            "/tiers",
            "/engines",
            "/models",
            "/llm-providers",
            "/tools",
            "/a2a-catalog",
            "/health",
            "/health/ready",
            "/status",
            "/status/incidents",
            "/payment-providers",
            "/crypto",
            "/stars",
        }
        | CALLBACKS
    )


def test_every_operation_says_which_errors_it_gives(document: Document) -> None:
    for method, path, operation in operations(document):
        given, at = set(operation["responses"]), f"{method} {path}"
        assert "500" in given, at
        assert ("401" in given) == (operation["security"] != [{}] or path in SECRETS), at
        acts_on_an_agent = _names_an_agent(document, operation) and path != "/keys"  # there it is a limit of the key
        assert ("404" in given) == ("{" in path or acts_on_an_agent), at
        if "requestBody" in operation:
            assert {"400", "413", "415"} <= given, at
        if any(parameter["in"] == "query" for parameter in operation.get("parameters", [])):
            assert "400" in given, at


def test_success_is_200_but_for_codes_202_and_deletions_204(document: Document) -> None:
    for method, path, operation in operations(document):
        success = [status for status in operation["responses"] if status.startswith("2")]
        wanted = "204" if method == "DELETE" or path == "/auth/logout" else "202" if path == "/auth/request" else "200"
        assert success == [wanted], f"{method} {path}"


def test_every_event_of_the_specification_is_a_webhook(document: Document) -> None:
    assert list(document["webhooks"]) == spec.EVENT_TYPES
    for path in document["webhooks"].values():
        headers = [parameter["name"] for parameter in path["post"]["parameters"]]
        assert headers == ["X-Service-Event", "X-Service-Delivery", "X-Service-Signature"]


def test_the_error_codes_are_the_closed_set(document: Document) -> None:
    assert set(document["components"]["schemas"]["Error"]["properties"]["error"]["enum"]) == spec.CODES


def test_no_reference_leads_nowhere(document: Document) -> None:
    def check(node: Any) -> None:
        if isinstance(node, dict):
            if "$ref" in node:
                _, section, kind, name = node["$ref"].split("/")
                assert name in document[section][kind], node["$ref"]
            for inner in node.values():
                check(inner)
        if isinstance(node, list):
            for inner in node:
                check(inner)

    check(document)


def test_the_document_names_its_version_and_explains_itself(document: Document) -> None:
    assert document["info"]["version"] == "1.0.0"
    assert "## Authentication" in document["info"]["description"]
    assert "## Errors" in document["info"]["description"]
