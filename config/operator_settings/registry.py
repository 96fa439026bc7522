"""All settings that operators change at run time. docs/reference/settings.md has the same groups and names."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured

from config import env
from config.operator_settings.credentials import credential, credentials, nodes, nodes_of_chains
from config.operator_settings.setting import (
    Setting,
    country,
    days,
    email,
    flag,
    line,
    number,
    one_of,
    pairs,
    positive,
    url,
    urls,
    words,
)

TRIAL, DOORS, LIMITS, PODS = "Trial", "Sign-ups and creates", "Limits", "Pods and backups"
INVOICES, CARDS = "Invoices and support", "Stars and cards"
CONSOLE = "The console"
GUMROAD, LEMONSQUEEZY = "What is sold at Gumroad", "What is sold at Lemon Squeezy"
CREDENTIALS = "Credentials of payment providers"


def bot_name(_: str, text: str) -> str:
    return text.removeprefix("@")


def _given(address: str) -> None:
    if not address:
        raise ImproperlyConfigured("SUPPORT_EMAIL: must not be empty; reset it instead")


class OperatorSettings:
    TRIAL_DAYS = days(
        TRIAL,
        7,
        "How long a new agent runs unpaid. An agent keeps what it was promised when it was created.",
    )
    GRACE_DAYS = days(
        TRIAL,
        3,
        "How long a lapsed subscription still runs. A change holds for all agents, from the next step of each.",
    )
    KEPT_DAYS = days(
        TRIAL,
        14,
        "From the stop of an unpaid agent to its deletion. A change holds for all agents, from the next step of each.",
    )
    MAX_TRIAL_TIER = one_of(TRIAL, "large", "The largest tier an unpaid agent may have.", allowed=env.TIERS)

    SIGN_UPS_OPEN = flag(
        DOORS, True, "Whether new accounts can be created. People who have an account sign in as always."
    )
    CREATES_OPEN = flag(DOORS, True, "Whether agents can be created; otherwise creates answer 503.")

    SECOND_FACTOR = one_of(
        CONSOLE,
        "optional" if env.text("AGENTPODS_ENV", "development") == "development" else "required",
        "Who needs a second factor for the console. required: all but people who are only auditors. everyone: auditors"
        " too. optional: nobody, but who has one is asked for it.",
        allowed=("optional", "required", "everyone"),
    )

    MAX_KEYS = number(LIMITS, 100, "keys", "Live API keys per account; revoked ones do not count.", at_least=1)
    MAX_FREE_AGENTS = number(LIMITS, 3, "agents", "Unpaid agents per account.")
    MAX_TRIALS = number(
        LIMITS,
        10,
        "trials",
        "Free trials that one mailbox has in MAX_TRIALS_DAYS, over all its accounts; deleted agents count, paid ones"
        " do not. 0 is no limit.",
    )
    MAX_TRIALS_DAYS = days(LIMITS, 30, "Over how many days trials are counted.", at_least=1)
    JOBS_KEPT_DAYS = days(
        LIMITS, 90, "How long the rows of a job, and the job, are kept after it ended. The audit log stays.", at_least=1
    )
    MAX_FREE_AGENTS_TOTAL = number(
        LIMITS, 0, "agents", "Unpaid agents over all accounts; beyond it creates answer 503. 0 is no limit."
    )
    MAX_RELEASED_DOMAINS = number(
        LIMITS,
        50,
        "names",
        "Names that one account may have released in the last 30 days, which are kept for it. With more it claims no"
        " further name but its own ones.",
    )
    MAX_CERTIFICATES = number(
        LIMITS, 20, "names", "Names for which one account may get a first certificate in a week, with TLS=auto."
    )
    WAITING_CALLS_PER_ACCOUNT = number(
        LIMITS,
        4,
        "calls",
        "How many calls of one account may wait in one web process at the same time: chats, talk tests, webhook tests,"
        " licence keys. One more is 503 with Retry-After.",
        at_least=1,
    )
    LOG_FOLLOWERS_PER_ACCOUNT = number(
        LIMITS,
        10,
        "streams",
        "How many streams of logs an account may follow at once, in each web process; 512 of all accounts together.",
        at_least=1,
    )

    ENGINES_CONFIRMED = words(
        PODS,
        "Engines whose licence you have cleared for what you do, as n8n,claude-code. Production offers these two only"
        " when they are named here; development offers all.",
    )
    LLM_KEY_CHECK = flag(
        PODS,
        True,
        "Whether a new model key is tried once at its provider. Without it agents say KEY_UNCHECKED in explain until"
        " their model has answered.",
    )
    FINAL_BACKUP_DAYS = days(PODS, 7, "How long an agent's backups outlive it; 0 is not at all.")

    SELLER_NAME = line(INVOICES, "Who sells, as it stands on invoices. Without it nothing is invoiced.")
    SELLER_ADDRESS = line(INVOICES, "The seller's address: its lines, with ; between them.")
    SELLER_COUNTRY = line(
        INVOICES,
        "The seller's country: two letters, such as DE. A buyer of the same country owes no tax itself.",
        read=country,
    )
    SELLER_TAX_ID = line(INVOICES, "The seller's tax id.")
    SUPPORT_EMAIL = line(
        INVOICES,
        "Where people are told to write: at the end of mails, and when their account is suspended. Mails do not name an"
        " address that begins with no-reply.",
        read=email,
        check=_given,
    )

    STAR_USD = positive(
        CARDS,
        "0.013",
        "USD",
        "What one star of Telegram is worth. An order keeps the number of stars it was made with.",
    )
    STARS_BOT_USERNAME = line(CARDS, "The name of the bot that sells for stars, with or without @.", read=bot_name)
    STRIPE_TAX = flag(
        CARDS,
        False,
        "Whether Stripe Tax reckons the tax that the price contains. Buyers are asked for an address and a tax id.",
    )

    GUMROAD_PRODUCTS = pairs(
        GUMROAD,
        "What is sold for a tier, or for one period of it: tiny=<product id>,small:annual=<product id>. Without any,"
        " gumroad is soon.",
        read=env.read_plans,
    )
    GUMROAD_VARIANTS = pairs(
        GUMROAD,
        "The variant of each tier, to the letter, where one product has several: tiny=(Tiny),small=(Small).",
    )
    GUMROAD_BUY_URL = line(GUMROAD, "Where keys are bought.", read=url)
    GUMROAD_BUY_URLS = pairs(GUMROAD, "The same for each tier: tiny=https://…,small=https://….", read=urls)
    GUMROAD_TEST_PURCHASES = flag(GUMROAD, False, "Whether test purchases count as paid.")

    LEMONSQUEEZY_STORE = line(
        LEMONSQUEEZY, "The id of the store. Without it, products and variants, lemonsqueezy is soon."
    )
    LEMONSQUEEZY_PRODUCTS = words(LEMONSQUEEZY, "The ids of the products, separated by commas.")
    LEMONSQUEEZY_VARIANTS = pairs(
        LEMONSQUEEZY,
        "The variant of each tier and period: tiny:monthly=<variant id>,tiny:annual=<variant id>.",
        read=env.read_plans,
    )
    LEMONSQUEEZY_BUY_URL = line(LEMONSQUEEZY, "Where keys are bought.", read=url)
    LEMONSQUEEZY_BUY_URLS = pairs(LEMONSQUEEZY, "The same for each tier: tiny=https://…,small=https://….", read=urls)

    STRIPE_SECRET_KEY = credential(
        CREDENTIALS,
        "The secret key of the Stripe account, or a restricted one.",
        form="[sr]k_.+",
        looks="must begin with sk_ or rk_",
    )
    STRIPE_WEBHOOK_SECRETS = credentials(
        CREDENTIALS,
        "The signing secret of Stripe's webhook; while it is rotated both, with a comma between them.",
        form="whsec_.+",
        looks="each secret must begin with whsec_",
    )
    LEMONSQUEEZY_API_KEY = credential(
        CREDENTIALS,
        "The seller's key at Lemon Squeezy: charges, refunds and disputes are seen with it, and who cancels is charged"
        " no more.",
    )
    LEMONSQUEEZY_WEBHOOK_SECRET = credential(
        CREDENTIALS, "The signing secret of Lemon Squeezy's webhook. With it, words that are not signed are refused."
    )
    STARS_BOT_TOKEN = credential(
        CREDENTIALS,
        "The token of the bot that sells, from @BotFather. Its webhook must be this installation's alone.",
        form=r"\d+:[\w-]+",
        looks="must look like 123456:AAE…",
    )
    STARS_WEBHOOK_SECRET = credential(
        CREDENTIALS,
        "1 to 256 of A-Z, a-z, 0-9, _ and -: what Telegram shows with each call of /payments/stars/callback.",
        form="[A-Za-z0-9_-]{1,256}",
        looks="must have 1 to 256 of A-Z, a-z, 0-9, _ and -",
    )
    CRYPTO_RPC_URLS = nodes(
        CREDENTIALS,
        "JSON-RPC addresses of nodes, comma separated, asked in this order; each must take batches, tell transfers, and"
        " should know balances of older blocks. An order is paid when most of them agree: give three. A node of another"
        " chain, or behind the others, is passed over.",
    )
    CRYPTO_OTHER_RPC_URLS = nodes_of_chains(
        CREDENTIALS,
        "Nodes of other chains, as 1=https://…,137=https://…: there too what was sent to our addresses by mistake is"
        " looked for, hourly.",
    )


operator_settings = OperatorSettings()
SETTINGS: dict[str, Setting[Any]] = {
    name: setting for name, setting in vars(OperatorSettings).items() if isinstance(setting, Setting)
}
STARS_BOT = ("STARS_BOT_TOKEN", "STARS_BOT_USERNAME", "STARS_WEBHOOK_SECRET")
THEN = dict.fromkeys(STARS_BOT, "billing.reconcile_stars")  # the task that a change needs at once, by setting
# Who changes these says who gets the money, or who needs a second factor: that takes a right of its own.
GUARDED = {CONSOLE, CARDS, GUMROAD, LEMONSQUEEZY, CREDENTIALS}
TOGETHER = (STARS_BOT, ("STRIPE_SECRET_KEY", "STRIPE_WEBHOOK_SECRETS"))  # with only a part of these nothing is sold
GROUPS = list(dict.fromkeys(setting.group for setting in SETTINGS.values()))


def first_values() -> dict[str, Any]:
    """The values of the environment and the defaults, for config/settings.py. Raises ImproperlyConfigured."""
    return {name: setting.first() for name, setting in SETTINGS.items()}
