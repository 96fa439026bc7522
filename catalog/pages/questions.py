"""What visitors ask before they begin, with answers that follow the settings."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext

from catalog import tiers


@dataclass(frozen=True, slots=True)
class Question:
    question: str
    answer: str


def asked() -> list[Question]:
    trial = tiers.trial()
    return [
        Question(
            gettext("Do I have to write code?"),
            gettext(
                "You need three calls to the API, and each page shows them ready to copy. Any coding assistant can make"
                " them for you from the description at /docs."
            ),
        ),
        Question(
            gettext("Who pays for the language model?"),
            gettext(
                "You do, with your own key at a provider such as OpenAI, Anthropic or Google, at their prices. We"
                " charge only for the machine that the agent lives on. Without a key an agent runs but says nothing."
            ),
        ),
        Question(
            gettext("What happens to my key?"),
            gettext(
                "It is stored encrypted and never shown again, not even to you. The agent’s engine never sees it: a"
                " gateway beside it adds the key to each call to the provider."
            ),
        ),
        Question(
            gettext("What happens when the free days are over?"),
            gettext(
                "An agent that nobody pays for is stopped, and deleted with its data %(kept)d days later. Reminders"
                " come before that."
            )
            % {"kept": trial.kept_days},
        ),
        Question(
            gettext("Can I change a persona?"),
            gettext(
                "You can add instructions of your own to an agent at any time. What its author changes later reaches"
                " your agent only when you rebuild it."
            ),
        ),
        Question(
            gettext("Can I publish a persona of my own?"),
            gettext(
                "Yes. Write it, try it as a draft and publish it: it appears here at once, under the name you choose."
                " Operators look at what is published."
            ),
        ),
    ]
