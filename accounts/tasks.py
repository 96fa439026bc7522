"""The Celery tasks of this app."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from accounts import code_mail, letters, purge


@shared_task(name="accounts.send_code")
def send_code(code_id: str) -> None:
    code_mail.send(code_id, now=timezone.now())


@shared_task(name="accounts.send_codes")
def send_codes() -> None:
    code_mail.send_due(now=timezone.now())


@shared_task(name="accounts.send_letter")
def send_letter(letter_id: str) -> None:
    letters.send(letter_id, now=timezone.now())


@shared_task(name="accounts.send_letters")
def send_letters() -> None:
    letters.send_due(now=timezone.now())


@shared_task(name="accounts.purge")
def purge_old() -> None:
    purge.run(now=timezone.now())
