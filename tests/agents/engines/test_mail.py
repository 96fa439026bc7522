"""E-mail with a real engine, against a mailbox that speaks IMAP and SMTP: mails come in, answers go out."""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest

from agents.engines import ENGINES
from agents.engines.base import Engine
from agents.pod.turns.failures import HopFailure
from agents.runtimes import management
from tests.agents.engines.conftest import ACCESS, EnginePod
from tests.agents.pod.bridge.process import eventually
from tests.doubles.mailbox import ADDRESS, PASSWORD, MailboxDouble
from tests.doubles.model_server import Mood

pytestmark = [pytest.mark.engines, pytest.mark.parametrize("engine", ["hermes"], indirect=True)]
ENDS = pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
QUIET_SECONDS = 20.0  # hermes looks into the mailbox every 15 seconds
WITHIN = 120


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]


def channels(mailbox: MailboxDouble) -> dict[str, Any]:
    secrets = {
        "emailAddress": ADDRESS,
        "emailPassword": PASSWORD,
        "emailSmtpHost": mailbox.smtp_host,
        "emailImapHost": mailbox.imap_host,
    }
    return {"channels": ["web", "email"], "channel_secrets": secrets}


@pytest.fixture
def talking(pod: EnginePod, mailbox: MailboxDouble) -> EnginePod:
    """A pod that has answered one mail."""
    mailbox.write("from before the agent")
    pod.start(**channels(mailbox))
    eventually(lambda: mailbox.polls > 0, within=WITHIN, what="the first look")
    mailbox.write("My boat is called Nautilus.")
    assert answers(mailbox, 1) == ["pong"]
    return pod


def answers(mailbox: MailboxDouble, number: int) -> list[str]:
    """All texts that people read, after this many answers have come and no more follow."""
    eventually(lambda: len(mailbox.sent) >= number, within=WITHIN, what=f"answer {number}")
    time.sleep(QUIET_SECONDS)
    return [mail.get_body().get_content().strip() for mail in mailbox.sent]  # type: ignore[union-attr]


def questions(pod: EnginePod) -> list[str]:
    return [seen.said[-1][1] for seen in pod.model.turns()]


def silence(pod: EnginePod) -> str | None:
    """The reason for a silent channel, as asked each minute: None if it is heard, "" if the pod is too busy."""
    time.sleep(1)
    endpoint = pod.runtime.endpoint(pod.namespace)
    assert endpoint
    try:
        return management.channels(endpoint, ACCESS, wanted=["web", "email"])["email"]
    except HopFailure:
        return ""


def test_a_mail_is_answered_by_the_model_with_this_soul_and_becomes_read(
    talking: EnginePod, mailbox: MailboxDouble
) -> None:
    assert "Captain Zorblax" in talking.model.turns()[-1].system
    assert questions(talking) == ["[Subject: hello]\n\nMy boat is called Nautilus."]
    answer = mailbox.sent[0]
    assert answer["To"] == "ann@example.org"
    assert answer["Subject"] == "Re: hello"
    assert answer["In-Reply-To"] in mailbox.mails[1].raw.decode()
    assert mailbox.unread == 1  # the mail from before the agent


@ENDS
def test_a_mail_that_arrives_while_the_engine_restarts_is_answered_afterwards_once(
    talking: EnginePod, mailbox: MailboxDouble, end: signal.Signals
) -> None:
    talking.signal_engine(end)
    eventually(lambda: not talking.engine_processes(), what="the end")
    mailbox.write("What is its name?")
    assert answers(mailbox, 2) == ["pong"] * 2
    assert "What is its name?" in questions(talking)[-1]
    assert len(questions(talking)) == 2


@ENDS
def test_a_mail_whose_turn_the_engines_end_cuts_off_is_answered_afterwards_once(
    talking: EnginePod, mailbox: MailboxDouble, end: signal.Signals
) -> None:
    talking.model.mood = Mood.HANGING
    mailbox.write("What is its name?")
    eventually(lambda: len(talking.model.turns()) == 2, within=WITHIN, what="the hanging turn")
    talking.model.mood = Mood.FINE
    talking.signal_engine(end)
    assert answers(mailbox, 2) == ["pong"] * 2
    assert questions(talking)[-1].count("What is its name?") == 1
    assert all("restored" not in str(seen.said) for seen in talking.model.turns())


def test_a_password_that_the_mail_server_refuses_is_told_and_never_shown_and_the_web_works_on(
    pod: EnginePod, mailbox: MailboxDouble
) -> None:
    mailbox.password = "another"
    pod.start(**channels(mailbox))
    said = eventually(lambda: silence(pod), within=WITHIN, what="the refusal")
    assert said == "the mail server refuses the address or its password"
    assert pod.say("hello") == "pong"


def test_a_password_that_is_changed_while_it_runs_is_told(talking: EnginePod, mailbox: MailboxDouble) -> None:
    assert silence(talking) is None
    mailbox.password = "another"
    said = eventually(lambda: silence(talking), within=WITHIN, what="the refusal")
    assert said == "the mail server refuses the address or its password"


def test_a_mail_server_whose_certificate_is_not_its_own_gets_no_password(
    pod: EnginePod, mailbox: MailboxDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    pod.start(**channels(mailbox))
    said = eventually(lambda: silence(pod), within=WITHIN, what="the refusal")
    assert "CERTIFICATE_VERIFY_FAILED" in said
    assert mailbox.polls == 0
