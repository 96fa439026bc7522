"""Codes of an authenticator app (RFC 6238): six digits, a new code each 30 seconds."""

from __future__ import annotations

from datetime import datetime

import pyotp
import segno
from django.utils.safestring import SafeString, mark_safe

from config.crypto import same

STEP_SECONDS = 30
DRIFT = 1  # steps before and after, for clocks that are not exact and people who type slowly
DIGITS = 6
ISSUER = "Agentpods console"


def new_secret() -> str:
    return pyotp.random_base32()


def address(secret: str, *, email: str) -> str:
    """The address that an app reads from the QR code."""
    return pyotp.TOTP(secret).provisioning_uri(name=email, issuer_name=ISSUER)


def drawing(text: str) -> SafeString:
    """The QR code. It is black on white also in dark mode, because many programs cannot read inverted codes."""
    code = segno.make(text, error="m", micro=False)
    picture = code.svg_inline(border=4, dark="#000", light="#fff", omitsize=True, svgclass="qr", lineclass=None)
    return mark_safe(picture)  # noqa: S308 # only rectangles and lines; the text itself is not in it


def step_of(secret: str, code: str, *, after: int, now: datetime) -> int | None:
    """The time step that this code belongs to, if it is later than `after`. None for a wrong or a used code.

    All steps are compared, each in constant time.
    """
    here = int(now.timestamp()) // STEP_SECONDS
    code_at = pyotp.TOTP(secret, digits=DIGITS, interval=STEP_SECONDS).generate_otp
    fitting = [step for step in range(here - DRIFT, here + DRIFT + 1) if same(code_at(step), code)]
    return next((step for step in fitting if step > after), None)
