"""The mails of accounts, from templates/emails/, in the reader's language."""

from __future__ import annotations

from django.conf import settings
from django.template.loader import render_to_string

from accounts.mailing import SubjectInLine

SUBJECTS = {"en": "Your Agentpods sign-in code", "ru": "Ваш код для входа в Agentpods"}


def sign_in_code(email: str, *, code: str, lang: str, minutes: int) -> SubjectInLine:
    """The mail with a sign-in code. The code is not in the subject: lock screens and mail logs show that."""
    language = lang if lang in SUBJECTS else "en"
    context = {"code": code, "email": email, "minutes": minutes, "base_url": settings.BASE_URL}
    template = f"emails/sign_in_code.{language}"
    mail = SubjectInLine(
        subject=SUBJECTS[language],
        body=render_to_string(f"{template}.txt", context),
        to=[email],
        headers={"Auto-Submitted": "auto-generated", "Content-Language": language},
    )
    mail.attach_alternative(render_to_string(f"{template}.html", context), "text/html")
    return mail
