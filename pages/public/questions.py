"""Questions of new visitors, with answers that follow the settings."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext, ngettext

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
                "No. Choose a persona, and create the agent in your browser. If you prefer the API, it takes three"
                " calls: the page of each persona shows them ready to copy."
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
                " separate program, the gateway, adds the key to each call to the provider."
            ),
        ),
        Question(
            gettext("What happens when the free days are over?"),
            ngettext(
                "An agent that nobody pays for is stopped. %(kept)d day later it is deleted with its data. We send"
                " reminders before that.",
                "An agent that nobody pays for is stopped. %(kept)d days later it is deleted with its data. We send"
                " reminders before that.",
                trial.kept_days,
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
                " Our operators check what is published."
            ),
        ),
    ]
