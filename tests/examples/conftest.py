from __future__ import annotations

from tests.status.conftest import closed_port

__all__ = ["closed_port"]
