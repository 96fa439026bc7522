"""Mails to people, for apps that do not import accounts. This module writes a mail; accounts stores and delivers it.

A mail is `templates/emails/<name>.<language>.txt`: lines `Subject:` and `Button:`, an empty line, its text. The line
`[button]` is the place of the link; without that line the link comes at the end. Text and HTML are made from the same
paragraphs, so quoted text is escaped in one place.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from urllib.parse import urlsplit

from django.conf import settings
from django.template import Context, Engine, Template, TemplateDoesNotExist
from django.template.loader import get_template, render_to_string
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language_info, override

from config import links
from config.mail_forms import FORMS, MailForm, Values, Why
from config.operator_settings import operator_settings

FALLBACK = "en"
LINE_LENGTH = 200
IN_A_SUBJECT = 60  # of each value, so that the words after it stay visible
BUTTON = "[button]"

# Characters that end a line, and characters that change the direction of the text after them.
_UNSEEN = {"Cc", "Cs", "Zl", "Zp"}
_TURNING = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}
_LINK = '<a class="link" href="{0}" style="color: #1f5ad8;">{0}</a>'
_NOBODY = re.compile(r"(no|do-?not)[-_.]?reply@", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail in the reader's language, not yet addressed to anybody."""

    subject: str
    text: str
    html: str
    lang: str
    name: str = ""  # of its template


Writer = Callable[[str, Mail], object]
_writers: list[Writer] = []


class WrongValues(TypeError):
    """The values of a mail are not those that its form needs, so its text would have gaps."""


def carried_by(writer: Writer) -> None:
    """Set the function that stores and delivers mails. Called once, when applications start."""
    _writers[:] = [writer]


def write(user_id: str, mail: Mail) -> None:
    """Have the mail delivered to this user when the current transaction commits."""
    (writer,) = _writers
    writer(user_id, mail)


def rendered(name: str, /, *, lang: str, rich: SafeString | None = None, **values: object) -> Mail:
    """The mail of this name in this language, or in English if there is no translation. Raises WrongValues.

    `rich` is the whole text as safe HTML, in place of its paragraphs.
    """
    form = FORMS[name]
    if values.keys() != form.sample.keys():
        raise WrongValues(f"{name}: {sorted(values.keys() ^ form.sample.keys())}")
    script = _script(name, lang) or _script(name, FALLBACK)
    if script is None:
        raise TemplateDoesNotExist(_path(name, FALLBACK))
    with override(script.lang):
        told = {key: _told(value, is_whole=key in form.whole) for key, value in values.items()}
    return script.mail(name, form, told, rich)


def one_line(text: str, *, at_most: int = LINE_LENGTH) -> str:
    """Make text that somebody wrote safe for one line of ours, such as a subject: no line ends, at most `at_most`
    characters.
    """
    seen = ("" if character in _TURNING else _seen(character) for character in text)
    line = " ".join("".join(seen).split())
    return line if len(line) <= at_most else line[: at_most - 1] + "…"


@dataclass(frozen=True, slots=True)
class _Script:
    """A mail template. It is split into parts before any value is inserted, so no value can become a part."""

    lang: str
    lines: dict[str, Template]
    before: Template
    after: Template

    def mail(self, name: str, form: MailForm, values: Values, rich: SafeString | None) -> Mail:
        short = {key: one_line(value, at_most=IN_A_SUBJECT) for key, value in values.items() if isinstance(value, str)}
        subject = one_line(_plain(self.lines["Subject"], {**values, **short}))
        before, after = (_paragraphs(_plain(part, values)) for part in (self.before, self.after))
        parts = {
            "subject": subject,
            "lang": self.lang,
            "dir": "rtl" if get_language_info(self.lang)["bidi"] else "ltr",
            "lead": _plain(self.lines["Figure"], values) if form.figure else "",
            "figure": values[form.figure] if form.figure else "",
            "before": before,
            "button": _plain(self.lines["Button"], values) if form.link else "",
            "url": form.link(values) if form.link else "",
            "after": after,
            "notes": _notes(form, values, self.lang),
        }
        text = render_to_string("emails/letter.txt", parts)
        html = render_to_string("emails/letter.html", {**parts, **_linked(before, after, values, rich)})
        return Mail(subject, re.sub(r"\n{3,}", "\n\n", text).strip() + "\n", html, self.lang, name)


@lru_cache
def _script(name: str, lang: str) -> _Script | None:
    if not lang.isalpha():
        return None
    try:
        source: str = get_template(_path(name, lang)).template.source  # type: ignore[attr-defined]  # Django's own
    except TemplateDoesNotExist:
        return None
    head, _, body = source.partition("\n\n")
    before, _, after = body.partition(BUTTON)
    lines = dict(line.split(": ", 1) for line in head.splitlines())
    compiled = Engine.get_default().from_string
    return _Script(lang, {key: compiled(text) for key, text in lines.items()}, compiled(before), compiled(after))


def _notes(form: MailForm, values: Values, lang: str) -> list[dict[str, str]]:
    """The small print: the API call, the support address, why the mail came, and where to turn such mails off."""
    frame = _script("frame", lang)
    if frame is None:
        raise TemplateDoesNotExist(_path("frame", lang))
    site, support = urlsplit(settings.BASE_URL).netloc, operator_settings.SUPPORT_EMAIL
    found = []
    if form.call:
        call = form.call.format(base=settings.BASE_URL, **values)
        found.append({"text": _plain(frame.lines["Call"], {}), "call": call})
    if form.has_support and not _NOBODY.match(support):
        found.append({"text": _plain(frame.lines["Support"], {}), "email": support})
    if form.why is not Why.SAID:
        found.append({"text": _plain(frame.lines[form.why], {"site": site})})
    if form.may_be_muted:
        found.append({"text": _plain(frame.lines["Mute"], {}), "url": links.mails()})
    return found


def _linked(before: list[str], after: list[str], values: Values, rich: SafeString | None) -> dict[str, object]:
    """The same paragraphs as HTML. Only addresses that we inserted become links."""
    if rich is not None:
        return {"before": [], "after": [], "rich": rich}
    ours = [url for key, url in values.items() if key.endswith("_url") and str(url).startswith(("https:", "http:"))]
    return {"before": [_html(text, ours) for text in before], "after": [_html(text, ours) for text in after]}


def _html(paragraph: str, ours: list[str]) -> SafeString:
    html = format_html("{}", paragraph)
    for url in ours:
        html = mark_safe(  # noqa: S308 - both sides are escaped
            html.replace(format_html("{}", url), format_html(_LINK, url))
        )
    return mark_safe(html.replace("\n", "<br>"))  # noqa: S308 - escaped above


def _plain(template: Template, values: Values) -> str:
    site = {"base_url": settings.BASE_URL}
    return template.render(Context({**values, **site}, autoescape=False)).strip()


def _paragraphs(text: str) -> list[str]:
    return [paragraph.strip() for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()]


def _told(value: object, *, is_whole: bool) -> object:
    """The value as the mail shows it. Text of others is made safe; times and lazy texts are in the mail's language."""
    if isinstance(value, datetime):
        return f"{date_format(value, 'DATE_FORMAT')}, {value:%H:%M} UTC"
    if isinstance(value, Promise):
        return str(value)
    if isinstance(value, list):
        return [_told(one, is_whole=is_whole) for one in value]
    if not isinstance(value, str):
        return value
    if not is_whole:
        return one_line(value)
    text = value.replace("\r\n", "\n")
    return "".join(one if one == "\n" else _seen(one) for one in text if one not in _TURNING)


def _seen(character: str) -> str:
    return " " if unicodedata.category(character) in _UNSEEN else character


def _path(name: str, language: str) -> str:
    return f"emails/{name}.{language}.txt"
