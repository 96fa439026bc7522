"""Which parser and renderer a request gets.

This is not in `config.api`, because DRF's views import it while they are being imported themselves.
"""

from __future__ import annotations

from typing import Any

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class JsonAlways(BaseContentNegotiation):
    """Answers JSON for any `Accept`: a client that asks for text/html still gets an error that it can read."""

    def select_parser(self, request: Request, parsers: Any) -> BaseParser | None:
        chosen: BaseParser = parsers[0]
        content_type = (request.content_type or "").split(";")[0].strip().lower()
        return chosen if content_type in {"", "application/json"} or content_type.endswith("+json") else None

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type
