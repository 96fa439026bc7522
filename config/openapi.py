"""How operations are described in `/openapi.json`: ids, error answers, security."""

from __future__ import annotations

from drf_spectacular.openapi import AutoSchema as BaseAutoSchema


class AutoSchema(BaseAutoSchema):
    pass
