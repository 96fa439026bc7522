"""/account/agents/{id}/channels: where people can talk to the agent."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpResponseBase
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from agents.configuring import channels
from agents.models import Agent, Desired
from catalog.engines import engine_of
from config.errors import ServiceError
from pages.account.agents import agent_refusals
from pages.account.agents.base import AgentPagePage
from pages.words import CHANNELS

LABELS: dict[str, Promise] = {
    "telegramToken": _("The bot's token"),
    "discordToken": _("The bot's token"),
    "whatsappPhoneNumberId": _("Phone number ID"),
    "whatsappAccessToken": _("Permanent access token"),
    "whatsappVerifyToken": _("Verify token, a text of your choice"),
    "whatsappAppSecret": _("App secret"),
    "emailAddress": _("E-mail address"),
    "emailPassword": _("Password of the mailbox, preferably an app password"),
    "emailSmtpHost": _("Server that sends (SMTP)"),
    "emailImapHost": _("Server that receives (IMAP)"),
}
OPEN = {"emailAddress", "emailSmtpHost", "emailImapHost", "whatsappPhoneNumberId"}  # fields that are not secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    name: str
    label: object
    type: str
    is_set: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRow:
    id: str
    name: object
    is_on: bool
    secrets: list[Secret]


class ChannelsPage(AgentPagePage):
    """The channels on which people can talk to the agent, besides the web."""

    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        return self._asking(agent, set(agent.channels))

    def create(self, request: Request, id: str) -> HttpResponseBase:
        """Save the channels. A secret that is left empty stays as it is."""
        agent = self.own_agent(id)
        chosen = [name for name in engine_of(agent.engine).channels if name in self.sent.POST.getlist("channel")]
        typed = {name: self.typed(name).strip() for name in channels.SECRET_NAMES}
        given: channels.Given = {name: value for name, value in typed.items() if value}
        try:
            channels.replace(agent, channels=[channels.WEB, *chosen], channel_secrets=given)
        except ServiceError as refusal:
            problem = agent_refusals.text(refusal, engine_of(agent.engine))
            return self._asking(agent, set(chosen), problem=problem, status=refusal.status)
        return self.go(f"/account/agents/{agent.pk}")

    def _asking(self, agent: Agent, on: set[str], *, problem: str = "", status: int = 200) -> HttpResponseBase:
        others = [name for name in engine_of(agent.engine).channels if name != channels.WEB]
        context = {
            "agent": agent,
            "engine": engine_of(agent.engine).label,
            "channels": [_line(name, agent, is_on=name in on) for name in others],
            "testable": agent.desired != Desired.STOPPED and agent.channels != [channels.WEB],
            "callback": f"{settings.BASE_URL}/agents/{agent.pk}/channels/whatsapp",
            "problem": problem,
        }
        return self.page("channels.html", context, status=status)


def _line(channel: str, agent: Agent, *, is_on: bool) -> ChannelRow:
    return ChannelRow(
        id=channel,
        name=dict(CHANNELS)[channel],  # type: ignore[index]  # plain text as a key of an enum's dict
        is_on=is_on,
        secrets=[
            Secret(
                name=name,
                label=LABELS[name],
                type="text" if name in OPEN else "password",
                is_set=name in agent.channel_secrets,
            )
            for name in channels.SECRETS.get(channel, ())
        ],
    )
