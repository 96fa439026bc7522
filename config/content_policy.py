"""A Content-Security-Policy for every answer: it says what a browser may run and load, and where it may show the
answer.

A page that sets its own policy keeps it. The admin gets a policy for Django's pages, whose scripts and styles are all
files. All other answers are data: a browser has nothing to run there.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

HEADER = "Content-Security-Policy"
ADMIN = "/admin/"
OF_THE_ADMIN = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
OF_DATA = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
# For the error page, whose few styles are inside the page, so that it works when static files do not.
OF_A_FAILURE = f"style-src 'unsafe-inline'; {OF_DATA}"


class ContentPolicyMiddleware(MiddlewareMixin):
    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response.headers.setdefault(HEADER, OF_THE_ADMIN if request.path.startswith(ADMIN) else OF_DATA)
        return response
