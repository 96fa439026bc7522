from __future__ import annotations

from tests.catalog.conftest import author, catalog, community, contents

__all__ = ["author", "catalog", "community", "contents"]
