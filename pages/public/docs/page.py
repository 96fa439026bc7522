"""/docs, and /docs/{group} with the operations of one group.

The content is English, the frame is in the reader's language.
"""

from __future__ import annotations

import functools
from typing import Any

from django.http import HttpResponseBase
from rest_framework.request import Request

from config.errors import NotFound
from pages.languages import LANGUAGES, address
from pages.public.base import PublicPageViewSet, answer, framed, preferred
from pages.public.docs.operations import reference
from pages.public.printing import Printed, printed


class NoSuchGroup(NotFound):
    def __init__(self) -> None:
        super().__init__("no such page: /docs lists them")


class DocsViewSet(PublicPageViewSet):
    def retrieve(self, request: Request, group: str = "") -> HttpResponseBase:
        if group and group not in reference().groups:
            raise NoSuchGroup
        language = preferred(request)
        headers = {"Content-Language": "en", "Vary": "Accept-Encoding, Accept-Language"}
        return answer(request, _printed(group, language.code), headers)


@functools.cache  # a dozen groups in each language
def _printed(group: str, language: str) -> Printed:
    template = "docs/group.html" if group else "docs/index.html"
    path = f"docs/{group}" if group else "docs"
    return printed(framed(template, lambda _: _content(group), path, LANGUAGES[language]))


def _content(group: str) -> dict[str, Any]:
    shown = reference()
    return {
        "canonical": address(f"docs/{group}" if group else "docs"),
        "alternates": [],
        "reference": shown,
        "groups": list(shown.groups.values()),
        "group": shown.groups.get(group),
    }
