"""One owner with one agent, and the OpenAPI document of the API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from config import docs
from tests.agents.conftest import bridge, catalog, client, gateway_of, make_agent, owner, running, runtime
from tests.billing.crypto import chain, coins

__all__ = ["bridge", "catalog", "chain", "client", "coins", "gateway_of", "make_agent", "owner", "running", "runtime"]


@pytest.fixture(scope="session")
def document() -> dict[str, Any]:
    """The document that `/openapi.json` serves."""
    schema: dict[str, Any] = json.loads(docs.document().body)
    return schema
