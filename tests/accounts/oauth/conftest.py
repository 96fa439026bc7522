from __future__ import annotations

from tests.webhooks.conftest import trusted

__all__ = ["trusted"]
