"""The names that tests of views know the common fixtures' types by."""

from __future__ import annotations

from tests.agents.conftest import GatewayOf as GatewayOf  # noqa: PLC0414 - named here for them
