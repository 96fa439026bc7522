"""Words of the catalog on the pages: the names of categories, channels and plans in each language."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.utils.functional import Promise
from django.utils.translation import get_language, gettext, gettext_noop, ngettext
from django.utils.translation import gettext_lazy as _

from catalog.models import Tier
from catalog.vocabulary import Category, Channel


@dataclass(frozen=True, slots=True)
class CategoryText:
    name: Promise
    about: Promise


CATEGORIES = {
    Category.STUDY: CategoryText(_("Study"), _("Prepare for exams, write papers, learn a language.")),
    Category.CREATIVE: CategoryText(_("Creative"), _("Write, name, compose and edit.")),
    Category.GAMING: CategoryText(_("Gaming"), _("Lead a game night, review a match, run a guild.")),
    Category.CAREER: CategoryText(_("Career"), _("Apply for jobs, prepare for interviews, run a one-person business.")),
    Category.LIFE: CategoryText(_("Life"), _("Meals, money, moving house.")),
    Category.SOCIAL: CategoryText(_("Social"), _("Communities, difficult conversations, bringing people together.")),
    Category.TECH: CategoryText(_("Tech"), _("Code, spreadsheets, devices that do not work.")),
    Category.FUN: CategoryText(_("Fun"), _("Quizzes, bedtime stories, daydreams.")),
}
CHANNELS = {
    Channel.WEB: _("Web"),
    Channel.TELEGRAM: "Telegram",
    Channel.DISCORD: "Discord",
    Channel.WHATSAPP: "WhatsApp",
    Channel.EMAIL: _("E-mail"),
}

# Texts of the data files about tiers and engines, for the translators.
PLANS = [gettext_noop("Tiny"), gettext_noop("Small"), gettext_noop("Medium"), gettext_noop("Large")]
ENGINES = [
    gettext_noop("A small, quick agent for conversations and work on files; it fits the smallest plan."),
    gettext_noop("A long-running assistant with memory, skills, schedules and every channel, by Nous Research."),
    gettext_noop("An open-source coding agent with its own web interface."),
    gettext_noop("Anthropic's coding agent, with your own Anthropic key."),
    gettext_noop("A personal assistant with memory, skills and schedules, on the web, Telegram, Discord and WhatsApp."),
    gettext_noop("A workflow automation server whose workflows call models; it needs a domain of your own."),
]


@dataclass(frozen=True, slots=True)
class Passage:
    text: str
    lang: str


def translated(text: str) -> Passage:
    """An operator's text about an engine or tier; translated if it is one of the texts that we deliver."""
    found = gettext(text) if text else ""
    return Passage(found, "en" if found == text else get_language() or "en")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanText:
    """A tier, as visitors read it."""

    name: Passage
    month: str
    year: str
    machine: dict[str, str | Decimal]


def plan(tier: Tier) -> PlanText:
    return PlanText(
        name=translated(tier.name),
        month=usd(tier.monthly_usd),
        year=usd(tier.annual_usd),
        machine=machine(tier),
    )


def machine(tier: Tier) -> dict[str, str | Decimal]:
    """The sizes in units that people know: GB, although they are powers of two."""
    return {"memory": _memory(tier), "disk": _disk(tier), "cpu": tier.cpu.normalize()}


def _memory(tier: Tier) -> str:
    if tier.memory_mib % 1024:
        return gettext("%(size)s MB") % {"size": tier.memory_mib}
    return gettext("%(size)s GB") % {"size": tier.memory_mib // 1024}


def _disk(tier: Tier) -> str:
    return gettext("%(size)s GB") % {"size": tier.disk_gib}


def usd(amount: Decimal) -> str:
    return f"${amount:.0f}" if amount == amount.to_integral_value() else f"${amount:.2f}"


def deployed(count: int) -> str:
    """A sentence with the number of agents made from the persona; empty for none."""
    return ngettext("Chosen %(count)d time", "Chosen %(count)d times", count) % {"count": count} if count else ""
