"""/account/sessions: where a person is signed in, and how to sign out there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.http import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext
from rest_framework.request import Request

from accounts import sessions
from accounts.authentication import caller
from accounts.helping import looks
from accounts.models import Session
from pages.account import words
from pages.account.base import AccountPageViewSet

PATH = "/account/sessions"
SHOWN = 50
LOOKS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    session: Session
    client: str
    began: str
    seen: str
    is_this: bool


class SessionsPage(AccountPageViewSet):
    shown_in_look = True

    def retrieve(self, request: Request) -> HttpResponseBase:
        found = sessions.of(caller(request), most=SHOWN + 1, now=timezone.now())
        lines = [_line(one, this=request.auth) for one in found[:SHOWN]]
        lines.sort(key=lambda line: not line.is_this)
        seen = [words.moment(look.began_at) for look in looks.of(caller(request), most=LOOKS)]
        context = {"lines": lines, "others": len(found) > 1, "more": len(found) > SHOWN, "looks": seen}
        return self.page("sessions.html", context)


class EndSessionPage(AccountPageViewSet):
    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.go(PATH)

    def create(self, request: Request, id: str) -> HttpResponseBase:
        sessions.end_own(caller(request), id)
        return self.go(PATH)


class EndOtherSessionsPage(AccountPageViewSet):
    def retrieve(self, request: Request) -> HttpResponseBase:
        return self.go(PATH)

    def create(self, request: Request) -> HttpResponseBase:
        if isinstance(request.auth, Session):
            sessions.end_others(request.auth)
        return self.go(PATH)


def _line(session: Session, *, this: object) -> SessionRow:
    return SessionRow(
        session=session,
        client=session.client or gettext("Unknown browser or program"),
        began=words.day(session.created_at),
        seen=_when(session.seen_at or session.created_at),
        is_this=isinstance(this, Session) and this.pk == session.pk,
    )


def _when(at: datetime) -> str:
    return f"{words.day(at)}, {at:%H}:00 UTC"
