"""The mails of this app, from templates/emails/, in the reader's language."""

from __future__ import annotations

from accounts.mailing import SubjectInLine
from config import outgoing_mail


def sign_in_code(email: str, *, code: str, lang: str, minutes: int) -> SubjectInLine:
    """The mail with a sign-in code. The code is not in the subject, which lock screens and mail logs show."""
    mail = outgoing_mail.rendered("sign_in_code", lang=lang, code=code, email=email, minutes=minutes)
    message = SubjectInLine(
        subject=mail.subject,
        body=mail.text,
        to=[email],
        headers={"Auto-Submitted": "auto-generated", "Content-Language": mail.lang},
    )
    message.attach_alternative(mail.html, "text/html")
    return message
