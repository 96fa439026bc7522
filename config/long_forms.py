"""How long a form may be."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from config import failures

FORM_BYTES = 65_536
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class LongFormsMiddleware(MiddlewareMixin):
    """Refuse forms longer than 64 KiB unless a member of staff sends them.

    The CSRF check reads the whole form before any view knows who sent it.
    """

    def process_view(self, request: HttpRequest, *_: object) -> HttpResponse | None:
        is_form = request.content_type in FORMS
        is_long = int(request.META.get("CONTENT_LENGTH") or 0) > FORM_BYTES
        if not is_form or not is_long or getattr(request.user, "is_staff", False):
            return None
        return failures.too_large(request, at_most=FORM_BYTES)
