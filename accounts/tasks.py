"""The Celery tasks of this app."""

from __future__ import annotations

from accounts import code_mail, letters, purge
from config.rule_tasks import timed

send_code = timed("accounts.send_code", code_mail.send)
send_codes = timed("accounts.send_codes", code_mail.send_due)
send_letter = timed("accounts.send_letter", letters.send)
send_letters = timed("accounts.send_letters", letters.send_due)
purge_old = timed("accounts.purge", purge.run)
