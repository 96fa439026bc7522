"""/account/data: download a file with all data that we have about the person."""

from __future__ import annotations

import math

from django.http import HttpResponse, HttpResponseBase
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.translation import ngettext
from rest_framework.request import Request

from accounts.authentication import caller
from agents import listing
from billing.leaving import exports
from billing.leaving.exports import TooManyExports
from billing.models import DataExport, ExportState
from pages.account import words
from pages.account.account import ON_A_PAGE
from pages.account.base import AccountPageViewSet

PATH = "/account/data"


class DataPage(AccountPageViewSet):
    shown_in_look = True

    def retrieve(self, request: Request) -> HttpResponseBase:
        return self.shown()

    def create(self, request: Request) -> HttpResponseBase:
        """Ask for the file. A worker makes it, and the page shows it by itself when it is ready."""
        try:
            exports.ask(caller(request), lang=self.language.code, now=timezone.now())
        except TooManyExports as refusal:
            return self.shown(problem=_wait(int(refusal.headers["Retry-After"])), status=refusal.status)
        return self.go(PATH)

    def shown(self, *, problem: str = "", status: int = 200) -> HttpResponseBase:
        found = exports.of(caller(self.request), now=timezone.now())
        context = {
            "files": [_line(one) for one in found if one.state == ExportState.MADE and one.size],
            "going_on": any(one.state == ExportState.ASKED for one in found),
            "failed": bool(found) and found[0].state == ExportState.FAILED,
            "days": exports.KEPT.days,
            "agents": listing.page(caller(self.request), limit=ON_A_PAGE).rows,
            "problem": problem,
        }
        return self.page("data.html", context, status=status)


class DataFilePage(AccountPageViewSet):
    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        export = exports.own(caller(request), id, now=timezone.now())
        headers = {
            "Content-Disposition": f'attachment; filename="agentpods-{export.asked_at:%Y-%m-%d}.zip"',
            "Cache-Control": "private, no-store",
        }
        return HttpResponse(export.file, content_type="application/zip", headers=headers)


def _line(export: DataExport) -> dict[str, str]:
    return {
        "id": export.pk,
        "moment": words.moment(export.made_at or export.asked_at),
        "size": filesizeformat(export.size),
        "until": words.day(export.forget_at),
    }


def _wait(seconds: int) -> str:
    hours = math.ceil(seconds / 3600)
    text = ngettext(
        "You have asked for your data often today. Ask again in %(count)d hour.",
        "You have asked for your data often today. Ask again in %(count)d hours.",
        hours,
    )
    return text % {"count": hours}
