from __future__ import annotations

from tests.pages.account.renew.paying import agent, person

__all__ = ["agent", "person"]
