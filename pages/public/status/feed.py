"""/status/feed.atom: the incidents for feed readers (RFC 4287)."""

from __future__ import annotations

from datetime import datetime
from xml.sax.saxutils import escape, quoteattr

from django.conf import settings
from django.http import HttpResponseBase
from django.utils import timezone, translation
from django.utils.translation import gettext
from rest_framework.request import Request

from pages.languages import Language, address
from pages.public.base import PublicPageViewSet, answer, preferred, varies
from pages.public.plain import line
from pages.public.printing import printed
from pages.public.status import keeping, report
from pages.public.status.page import FEED, PATH
from pages.public.status.report import ShownIncident

KIND = "application/atom+xml; charset=utf-8"
NAMESPACE = "http://www.w3.org/2005/Atom"


class FeedViewSet(PublicPageViewSet):
    def retrieve(self, request: Request, lang: Language | None = None) -> HttpResponseBase:
        language = lang or preferred(request)
        made = keeping.shortly(f"{FEED} {language.code}", lambda: printed(_feed(language)))
        return answer(request, made, {"Content-Language": language.code, "Vary": varies(lang)}, kind=KIND)


def _feed(language: Language) -> str:
    with translation.override(language.code):
        found = report.now(at=timezone.now())
        told = report.shown_incidents(found)
        here = address(FEED, language)
        entries = "".join(_entry(incident, language) for incident in told)
        changed = max((incident.changed_at for incident in told), default=datetime(2026, 1, 1, tzinfo=found.at.tzinfo))
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f'<feed xmlns="{NAMESPACE}" xml:lang="{language.code}">\n'
            f"<id>{escape(here)}</id>\n<title>Agentpods: {escape(gettext('Status'))}</title>\n"
            f"<updated>{_time(changed)}</updated>\n<author><name>Agentpods</name></author>\n"
            f'<link rel="self" type="application/atom+xml" href={quoteattr(here)}/>\n'
            f'<link rel="alternate" type="text/html" href={quoteattr(address(PATH, language))}/>\n'
            f"{entries}</feed>\n"
        )


def _entry(incident: ShownIncident, language: Language) -> str:
    place = f"{address(PATH, language)}#{incident.id}"
    text = "".join(f"<p>{escape(_said(one.at, str(one.stage), one.text))}</p>" for one in incident.told)
    text = text or f"<p>{escape(_said(incident.started_at, str(incident.stage), ''))}</p>"
    return (
        f"<entry>\n<id>{escape(f'{settings.BASE_URL}/{PATH}#{incident.id}')}</id>\n"
        f"<title>{escape(line(incident.title))}</title>\n"
        f"<published>{_time(incident.started_at)}</published>\n<updated>{_time(incident.changed_at)}</updated>\n"
        f'<link rel="alternate" type="text/html" href={quoteattr(place)}/>\n'
        f'<content type="html">{escape(text)}</content>\n</entry>\n'
    )


def _said(at: datetime, stage: str, text: str) -> str:
    return line(f"{at:%Y-%m-%d %H:%M} UTC. {stage}. {text}")


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
