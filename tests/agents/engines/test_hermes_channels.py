"""How hermes' report on its channels is read: a connected channel is heard only while its polls succeed."""

from __future__ import annotations

from typing import Any

import pytest

from agents.engines import hermes_channels
from tests.agents.pod.bridge.process import pod_config


@pytest.mark.parametrize(
    ("poll", "said"),
    [
        ({"seconds": 0.2, "failure": None, "refused": False}, None),
        ({"seconds": 59.9, "failure": "Bad Gateway", "refused": False}, None),
        ({"seconds": 60, "failure": None}, "no poll has succeeded for 1 minute: the service does not answer"),
        ({"seconds": 3601.0, "failure": "Timed out"}, "no poll has succeeded for 60 minutes: Timed out"),
        ({"seconds": 3, "failure": None, "refused": True}, "the service refuses the bot's token"),
        (None, None),  # a channel that does not poll
    ],
)
def test_a_connected_channel_is_silent_when_no_poll_has_succeeded_for_a_minute(
    poll: dict[str, Any] | None, said: str | None
) -> None:
    assert (
        hermes_channels.states({"telegram": {"state": "connected", "poll": poll}}, hears_whatsapp=True)["telegram"]
        == said
    )


def test_a_channel_that_is_not_connected_says_why_whatever_its_polls_were() -> None:
    report = {"state": "retrying", "error_message": "no route", "poll": {"seconds": 1, "failure": None}}
    assert hermes_channels.states({"telegram": report}, hears_whatsapp=True)["telegram"] == "no route"


def test_a_mail_server_that_refuses_the_password_is_told_in_its_own_words() -> None:
    poll = {"seconds": 3, "failure": None, "refused": "the mail server refuses the address or its password"}
    said = hermes_channels.states({"email": {"state": "connected", "poll": poll}}, hears_whatsapp=True)["email"]
    assert said == "the mail server refuses the address or its password"


@pytest.mark.parametrize(
    ("given", "host", "port"),
    [
        ("mail.example.com", "mail.example.com", None),
        ("mail.example.com:465", "mail.example.com", "465"),
        ("mail.example.com:", "mail.example.com:", None),
        ("2001:db8::1", "2001:db8::1", None),
    ],
)
def test_a_mail_server_may_be_named_with_its_port(given: str, host: str, port: str | None) -> None:
    secrets = {
        "emailAddress": "me@example.com",
        "emailPassword": "p",
        "emailSmtpHost": given,
        "emailImapHost": "imap.example.com",
    }
    environment = hermes_channels.environment(pod_config(channels=["web", "email"], channel_secrets=secrets))
    assert environment["EMAIL_SMTP_HOST"] == host
    assert environment.get("EMAIL_SMTP_PORT") == port
    assert environment["EMAIL_IMAP_HOST"] == "imap.example.com"
    assert "EMAIL_IMAP_PORT" not in environment


def test_a_bot_of_discord_speaks_where_the_operator_says() -> None:
    given = {"channels": ["web", "discord"], "channel_secrets": {"discordToken": "t"}}
    environment = hermes_channels.environment(pod_config(discord_api_url="http://10.0.0.8:8080/", **given))
    assert environment["POD_DISCORD_URL"] == "http://10.0.0.8:8080"
    assert "POD_DISCORD_URL" not in hermes_channels.environment(pod_config(**given))
