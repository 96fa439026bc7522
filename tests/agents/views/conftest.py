"""Names for the types of common fixtures, for the tests of views."""

from __future__ import annotations

from tests.agents.conftest import GatewayOf as GatewayOf  # noqa: PLC0414 - exported for these tests
