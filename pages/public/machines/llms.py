"""/llms.txt and /llms-full.txt: what the service is and how to use it, for language models."""

from __future__ import annotations

import functools

from django.http import HttpResponseBase
from rest_framework.request import Request

from pages.public.base import PublicPageViewSet, answer
from pages.public.machines import texts
from pages.public.printing import Printed, printed

KIND = "text/plain; charset=utf-8"  # browsers download text/markdown


class LlmsViewSet(PublicPageViewSet):
    def retrieve(self, request: Request) -> HttpResponseBase:
        return answer(request, _short(), {}, kind=KIND)

    def full(self, request: Request) -> HttpResponseBase:
        return answer(request, _full(), {}, kind=KIND)


@functools.cache
def _short() -> Printed:
    return printed(texts.short())


@functools.cache
def _full() -> Printed:
    return printed(texts.full())
