"""hermes' mailbox, without hermes: which mails it fetches, and which mails it leaves alone."""

from __future__ import annotations

import ssl
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.engines import hermes_kept, hermes_mail, hermes_turns
from agents.engines.hermes_mail import Mailbox, Mails
from tests.doubles.certificates import Certificates
from tests.doubles.mailbox import ADDRESS, PASSWORD, MailboxDouble


@pytest.fixture
def double(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MailboxDouble]:
    certificates = Certificates(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.authority))
    with MailboxDouble(certificates.server("localhost")) as double:
        yield double


@pytest.fixture
def mails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mails:
    monkeypatch.setitem(sys.modules, "hermes_kept", hermes_kept)  # the name under which hermes_start.py loads it
    return Mails(hermes_turns, tmp_path)


def poll(double: MailboxDouble, mails: Mails) -> list[bytes]:
    """Look for mails as hermes does. Returns the mails that hermes gets."""
    host, port = double.imap_host.split(":")
    mailbox = Mailbox(mails, host, int(port), 10.0)
    mailbox.login(ADDRESS, PASSWORD)
    mailbox.select("INBOX")
    found = mailbox.uid("search", None, "UNSEEN")[1][0].split()
    fetched = [mailbox.uid("fetch", number, "(RFC822)") for number in found]
    mailbox.logout()
    return [told[0][1] for status, told in fetched if status == "OK"]


def test_a_mail_that_is_too_large_is_left_alone_and_holds_up_no_other(
    double: MailboxDouble, mails: Mails, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hermes_mail, "MAIL_BYTES", 10_000)
    double.write("x" * 20_000)
    double.write("Where is my boat?")
    (fetched,) = poll(double, mails)
    assert b"Where is my boat?" in fetched
    assert double.unread == 1  # the other mail stays unread in the mailbox, for its owner
    assert poll(double, mails) == []


def test_a_mail_server_that_nobody_knows_gets_no_password(
    double: MailboxDouble, mails: Mails, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(ssl.SSLError):
        poll(double, mails)
