"""/guide/…: the files of the built guide. Its scripts search and switch colours; every page reads well without them."""

from __future__ import annotations

import base64
import functools
import hashlib
import mimetypes
import re
from pathlib import Path

from django.conf import settings
from django.http import HttpResponseBase, HttpResponseRedirect
from rest_framework.request import Request

from config.errors import NotFound
from pages.public.base import PublicPageViewSet, answer
from pages.public.printing import Printed, printed

KEPT = 256  # files in memory, the whole guide
INDEX = "index.html"
# The content policy of a page. It also names the digests of the few scripts in the page. The search has its own styles,
# whose digest is that of one version of zensical; a test in a browser notices another version.
POLICY = (
    "default-src 'none'; script-src 'self'{scripts}; "
    "style-src 'self' 'sha256-NwSx/R2V/U4jnW0Tq5pQ53Y/rzPVJ4dqE7D6UTA/J1k='; img-src 'self' data:; connect-src 'self'; "
    "worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


class NoSuchGuidePage(NotFound):
    message = "no such page: /guide/ leads to all of them, once `make guide` or `make run` has built them"


class GuideViewSet(PublicPageViewSet):
    def start(self, request: Request) -> HttpResponseBase:
        """Links in the guide are relative, so its first page needs the slash."""
        return HttpResponseRedirect("/guide/")

    def retrieve(self, request: Request, file: str = "") -> HttpResponseBase:
        path = _place(file)
        if path.is_dir() and file and not file.endswith("/"):
            return HttpResponseRedirect(f"/guide/{file}/")
        if path.is_dir():
            path /= INDEX
        if not path.is_file():
            raise NoSuchGuidePage
        shown, policy = _read(path, path.stat().st_mtime_ns)
        return answer(request, shown, {"Content-Security-Policy": policy}, kind=_kind(path))


def _place(file: str) -> Path:
    """Where it lies, in the guide and nowhere else. Raises NoSuchGuidePage."""
    root = Path(settings.GUIDE_ROOT).resolve()
    try:
        path = (root / file).resolve(strict=True)
    except (OSError, ValueError):  # not there, too long, or with a NUL
        raise NoSuchGuidePage from None
    if not path.is_relative_to(root):
        raise NoSuchGuidePage
    return path


@functools.lru_cache(KEPT)
def _read(path: Path, changed: int) -> tuple[Printed, str]:
    """The file as it was last changed, and the policy that lets its own scripts run and no others."""
    body = path.read_bytes()
    scripts = sorted({base64.b64encode(hashlib.sha256(one).digest()).decode() for one in _SCRIPT.findall(body)})
    return printed(body), POLICY.format(scripts="".join(f" 'sha256-{one}'" for one in scripts))


def _kind(path: Path) -> str:
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
