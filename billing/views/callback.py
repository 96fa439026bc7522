"""`POST /payments/{provider}/callback` for licences. Stars and Stripe have modules of their own."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import IO, Any
from urllib.parse import parse_qsl

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from billing import verification
from billing.errors import NoCallback
from billing.providers import registry
from billing.serializers.subscriptions import HintSerializer
from billing.vocabulary import LICENSED, Provider
from config import clock
from config.api import ApiViewSet, ReceivedSerializer
from config.negotiation import JsonAlways
from config.parsing import StrictJSONParser, bounded

FORM = "application/x-www-form-urlencoded"
MAX_FIELDS = 1_000
PROVIDER = OpenApiParameter("provider", OpenApiTypes.STR, OpenApiParameter.PATH, enum=sorted(LICENSED))


class UniqueForm(BaseParser):
    """A form in which each name occurs once. Gumroad calls back with such a form."""

    media_type = FORM

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, str]:
        try:
            return dict(parse_qsl(_signed(stream, parser_context).decode("utf-8"), max_num_fields=MAX_FIELDS))
        except ValueError as error:
            raise ParseError("body: not a form") from error


class SignedJSON(StrictJSONParser):
    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        return super().parse(BytesIO(_signed(stream, parser_context)), media_type, parser_context)


def _signed(stream: IO[Any], parser_context: Mapping[str, Any] | None) -> bytes:
    """The body. Raises Unauthorized if its provider signs what it sends, and the signature is missing or wrong."""
    raw, context = bounded(stream, parser_context), parser_context or {}
    driver = registry.key_seller(context.get("kwargs", {}).get("provider"))
    if driver is not None and driver.signs:
        driver.check_signature(raw, context["request"].headers)
    return raw


class FormsToo(JsonAlways):
    def select_parser(self, request: Request, parsers: Any) -> BaseParser | None:
        if (request.content_type or "").split(";")[0].strip().lower() == FORM:
            return UniqueForm()
        return super().select_parser(request, parsers)


class CallbackViewSet(ApiViewSet):
    authentication_classes = ()
    permission_classes = (AllowAny,)
    parser_classes = (SignedJSON, UniqueForm)
    content_negotiation_class = FormsToo
    serializer_class = HintSerializer
    refusals = {"create": {401}}

    @extend_schema(parameters=[PROVIDER], request=HintSerializer, responses=ReceivedSerializer)
    def create(self, request: Request, provider: str) -> Response:
        """Take a provider's word that something changed.

        For providers of licences. It only has the licence verified at its provider, at once; 200 also for one that we
        do not know. Where the operator has set the secret of Lemon Squeezy's webhook, its words must be signed with it
        (`X-Signature`, 401 otherwise); Gumroad signs nothing.
        """
        driver = registry.key_seller(provider)
        if driver is None:
            raise NoCallback
        word = verification.named(self.valid(request))
        verification.hint(Provider(provider), **word, signed=driver.signs, now=clock.now())
        return Response({"ok": True})
