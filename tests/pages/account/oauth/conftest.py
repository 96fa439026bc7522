from __future__ import annotations

from tests.accounts.conftest import program

__all__ = ["program"]
