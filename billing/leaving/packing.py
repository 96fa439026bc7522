"""A person's data as one ZIP file: a JSON file for each list, and a README that explains them."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain

from django.core.serializers.json import DjangoJSONEncoder

from accounts import personal as of_accounts
from accounts.models import User
from agents import personal as of_agents
from billing import personal as of_billing
from catalog import personal as of_catalog
from config.personal import MOST, Row, Section

MAX_BYTES = 50_000_000  # of JSON; the ZIP file is much smaller
IN_MEMORY = 4_000_000

README = """Your data at Agentpods, {email}, as it was on {moment} UTC.

Each file holds one list as JSON. Times are UTC.

profile            your account
sessions           where you are signed in
console-sessions   where you are signed in to the console, if you work here
saved-filters      filters that you saved in the console, if you work here
api-keys           your keys; a key itself is stored nowhere
notes              what our support wrote down about you
seen-by-support    when our support looked at your pages to help you
mails              what we mailed to you in the last 180 days
agents             your agents with their settings; of keys and tokens only their names
backups            where your agents' data, with their conversations, can be downloaded
messages-waiting   what people wrote to your agents and no agent has read yet
timeline, events   what happened to your agents
domains            host names of your own
model-usage        what your agents used of models, by day and model
model-limits       what your agents may spend on their models together
model-usage-by-key what turns that your API keys started took at their models, by day
replay             what your agents did in the last 30 days
egress             which hosts your agents may ask, and the names of secrets for them
egress-hosts       which hosts your agents asked, by day
subscriptions, orders, payments, invoices, billing-details   what you paid, and what stands on invoices
author, personas, persona-translations, articles             what you wrote for the catalog

Conversations are part of an agent's own data. They are in its backups: open the agent's page, then Backups.
"""
CUT = "\nNot everything fitted. These files hold only the newest rows: {names}\n"


def sections(user: User) -> Iterator[Section]:
    return chain(
        of_accounts.exported(user), of_agents.exported(user), of_catalog.exported(user.pk), of_billing.exported(user)
    )


def packed(user: User, *, now: datetime) -> bytes:
    """The ZIP file, limited in rows and bytes. The README says which lists are not complete."""
    cut: list[str] = []
    left = MAX_BYTES
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, found in sections(user):
                lines, whole = _fitting(found, left)
                left -= sum(map(len, lines))
                archive.writestr(f"{name}.json", b"[\n" + b",\n".join(lines) + b"\n]\n")
                if not whole:
                    cut.append(name)
            text = README.format(email=user.email, moment=f"{now:%Y-%m-%d %H:%M}")
            archive.writestr("README.txt", text + (CUT.format(names=", ".join(cut)) if cut else ""))
        file.seek(0)
        return file.read()


def _fitting(found: Iterable[Row], left: int) -> tuple[list[bytes], bool]:
    """As many rows as fit into `left` bytes, one line of JSON each, and whether these are all rows."""
    lines: list[bytes] = []
    for row in found:
        line = json.dumps(row, cls=DjangoJSONEncoder, ensure_ascii=False).encode()
        if len(lines) >= MOST or len(line) > left:
            return lines, False
        lines.append(line)
        left -= len(line)
    return lines, True
