"""The fixed sets of words that docs/spec.md gives the catalog, in the order in which they are offered."""

from importlib.metadata import entry_points

from django.db.models import TextChoices


class TierId(TextChoices):
    """From the smallest to the largest."""

    TINY = "tiny"
    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


class EngineId(TextChoices):
    HERMES = "hermes"
    OPENCLAW = "openclaw"
    N8N = "n8n", "n8n"
    CLAUDE_CODE = "claude-code"
    OPENCODE = "opencode"
    PI = "pi"


# Engines of third parties that are installed here (docs/how-to/add-an-engine.md). They extend the API's enum, on this
# installation only.
_points = entry_points(group="agentpods.engines")
ENGINE_PACKAGES = {point.name: point for point in _points}
ENGINES_TWICE = {point.name for point in _points if len(_points.select(name=point.name)) > 1}
ENGINE_CHOICES = [*EngineId.choices, *((name, name) for name in sorted(ENGINE_PACKAGES) if name not in EngineId.values)]
ENGINE_IDS = [engine_id for engine_id, _ in ENGINE_CHOICES]

# The engines that a pod can run: each has an adapter in agents/engines/. The catalog offers no others.
RUNNABLE = (
    EngineId.PI,
    EngineId.HERMES,
    EngineId.OPENCODE,
    EngineId.CLAUDE_CODE,
    EngineId.OPENCLAW,
    EngineId.N8N,
    *ENGINE_IDS[len(EngineId) :],
)
DEFAULT_ENGINE = EngineId.PI  # for an agent that is created without `engine`


class EngineStatus(TextChoices):
    STABLE = "stable"
    BETA = "beta"


class ProviderId(TextChoices):
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    OPENROUTER = "openrouter"
    GOOGLE = "google"
    GEMINI = "gemini"
    GROQ = "groq"
    MISTRAL = "mistral"
    DEEPSEEK = "deepseek"
    XAI = "xai"
    NOUS = "nous"


class CostTier(TextChoices):
    CHEAP = "cheap"
    MID = "mid"
    PREMIUM = "premium"


class ToolGroup(TextChoices):
    WEB = "web"
    FILES = "files"
    MEDIA = "media"
    VOICE = "voice"
    THINKING = "thinking"
    INTEGRATIONS = "integrations"
    NETWORK = "network"


class ToolService(TextChoices):
    """Services for whose tools an owner must give a key (docs/reference/api.md: Tools that need a key)."""

    TAVILY = "tavily"
    OPENAI = "openai", "OpenAI"


class Channel(TextChoices):
    WEB = "web"
    TELEGRAM = "telegram"
    DISCORD = "discord"
    WHATSAPP = "whatsapp"
    EMAIL = "email"


class Category(TextChoices):
    STUDY = "study"
    CREATIVE = "creative"
    GAMING = "gaming"
    CAREER = "career"
    LIFE = "life"
    SOCIAL = "social"
    TECH = "tech"
    FUN = "fun"


class Risk(TextChoices):
    LOW = "low"
    HIGH = "high"


class PersonaStatus(TextChoices):
    BUILTIN = "builtin"
    DRAFT = "draft"
    PUBLISHED = "published"


class ArticleStatus(TextChoices):
    DRAFT = "draft"
    PUBLISHED = "published"


class Lang(TextChoices):
    """The languages of a persona's localizations, by their key in the API. Indonesian is `ind`."""

    RU = "ru", "Русский"
    ES = "es", "Español"
    PT = "pt", "Português"
    TR = "tr", "Türkçe"
    IND = "ind", "Bahasa Indonesia"


class ArticleLang(TextChoices):
    EN = "en", "English"
    RU = "ru", "Русский"
    ES = "es", "Español"
    PT = "pt", "Português"
    TR = "tr", "Türkçe"
    IND = "ind", "Bahasa Indonesia"
