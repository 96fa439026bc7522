"""What hermes' report on its channels is read as: a connected one is heard only while its polls succeed."""

from __future__ import annotations

from typing import Any

import pytest

from agents.engines import hermes_channels


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
