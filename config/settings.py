"""All settings. Each is read once from the environment by a typed reader. docs/reference/settings.md lists them."""

from __future__ import annotations

import re
from email.utils import parseaddr
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django_stubs_ext
from django.core.exceptions import ImproperlyConfigured

from config import database, embedded, env
from config.operator_settings.registry import first_values

django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent

# Development or production. Development generates missing secrets; production refuses to start without them
# (config/checks.py).
AGENTPODS_ENV = env.text("AGENTPODS_ENV", "development")
if AGENTPODS_ENV not in {"development", "production"}:
    raise ImproperlyConfigured(f"AGENTPODS_ENV={AGENTPODS_ENV!r} must be development or production")
DEVELOPMENT = AGENTPODS_ENV == "development"
DEBUG = False

PULSE_FILE = env.text("PULSE_FILE")
AGENTPODS_HOME = Path(env.text("AGENTPODS_HOME", str(BASE_DIR / "var"))).absolute()
PORT = env.number("PORT", 8000, at_least=1, at_most=65_534)
METRICS_PORT = env.number("METRICS_PORT", 0, at_most=65_500)  # 0: metrics are not served
METRICS_ADDRESS = env.text("METRICS_ADDRESS", "127.0.0.1")
OTEL_EXPORTER_OTLP_ENDPOINT = env.text("OTEL_EXPORTER_OTLP_ENDPOINT")  # empty: nothing is traced
TRACES_FROM_CLIENTS = env.one_of("TRACES_FROM_CLIENTS", "link", allowed=("link", "parent", "ignore"))
ROUTER_PORT = env.number("ROUTER_PORT", PORT + 1, at_least=1, at_most=65_535)
BASE_URL = env.text("BASE_URL", f"http://127.0.0.1:{PORT}").rstrip("/")
VERSION = "1.0.0"

# Secrets. `make run` writes both into ${AGENTPODS_HOME}/secrets.env, where manual commands find them too.
if DEVELOPMENT:
    env.load(AGENTPODS_HOME / "secrets.env")
DEVELOPMENT_SECRET_KEY = "development-only-" + "k" * 50
DEVELOPMENT_SECRETS_KEY = "ZGV2ZWxvcG1lbnQtb25seS1rZXktMDEyMzQ1Njc4OWE="
SECRET_KEY = env.secret("SECRET_KEY", DEVELOPMENT_SECRET_KEY if DEVELOPMENT else "")
SECRETS_KEYS = [
    key for key in env.secret("SECRETS_KEYS", DEVELOPMENT_SECRETS_KEY if DEVELOPMENT else "").split(",") if key
]

# Hosts. No URL is ever built from the Host header.
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS") or [urlsplit(BASE_URL).hostname or ""]
if DEVELOPMENT:
    ALLOWED_HOSTS = [*ALLOWED_HOSTS, "127.0.0.1", "localhost", "[::1]"]
TRUSTED_PROXIES = env.networks("TRUSTED_PROXIES")

# TLS=auto: the Caddy server runs in front of web and router, on one server. Only Caddy listens to the outside.
TLS = env.one_of("TLS", "off", allowed=("off", "auto"))
TLS_ADDRESS = env.text("TLS_ADDRESS")
HTTP_PORT = env.number("HTTP_PORT", 80, at_least=1, at_most=65_535)
HTTPS_PORT = env.number("HTTPS_PORT", 443, at_least=1, at_most=65_535)
ASK_PORT = env.number("ASK_PORT", min(ROUTER_PORT + 1, 65_535), at_least=1, at_most=65_535)
ACME_DIRECTORY = env.text("ACME_DIRECTORY", "https://acme-v02.api.letsencrypt.org/directory")
ACME_EMAIL = env.text("ACME_EMAIL")
ACME_ROOTS = env.text("ACME_ROOTS")
if TLS == "auto":
    TRUSTED_PROXIES = [*TRUSTED_PROXIES, *env.networks_of("127.0.0.1/32")]
PLATFORM_DOMAIN = env.text("PLATFORM_DOMAIN", "pods.localhost").strip(".").lower()
CONSOLE_HOSTS = [host for host in ALLOWED_HOSTS if "." in host and host != "127.0.0.1"]
EXPECTED_IP = env.text("EXPECTED_IP", "127.0.0.1")

# What operators change at run time: the values that hold until they do, such as TRIAL_DAYS.
globals().update(first_values())
NOTICE_DAYS = [3, 2, 1]  # mails, events and pages name these days

# Pods.
AGENT_RUNTIME = env.text("AGENT_RUNTIME", "local")
ENGINE_CACHE = Path(env.text("ENGINE_CACHE", str(AGENTPODS_HOME / "engines"))).absolute()
LLM_BASE_URLS = env.pairs("LLM_BASE_URLS")
TOOL_SERVICE_URLS = env.pairs("TOOL_SERVICE_URLS")
TELEGRAM_API_URL = env.text("TELEGRAM_API_URL") or None
DISCORD_API_URL = env.text("DISCORD_API_URL") or None
WHATSAPP_API_URL = env.text("WHATSAPP_API_URL") or None
MODELS_SOURCE = env.text("MODELS_SOURCE", "https://models.dev/api.json")
KEEP_PODS = env.flag("KEEP_PODS")

# Pods in clusters. The admin has the list of clusters.
INSTALLATION = env.text("INSTALLATION", "agentpods")
if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", INSTALLATION):
    raise ImproperlyConfigured(f"INSTALLATION={INSTALLATION!r} must be a label's value: letters, digits, '-', '_', '.'")
POD_IMAGE = env.text("POD_IMAGE")
ENGINE_IMAGES = env.pairs("ENGINE_IMAGES")  # engine to image
POD_EGRESS_CIDRS = env.networks("POD_EGRESS_CIDRS")
OWN_NETWORKS = env.networks("OWN_NETWORKS")
KUBERNETES_MAX_CALLS = env.number("KUBERNETES_MAX_CALLS", 8, at_least=1)

# Peers of agents. In development pods are on this machine.
PEER_ALLOWED_CIDRS = env.networks("PEER_ALLOWED_CIDRS", "127.0.0.0/8,::1/128" if DEVELOPMENT else "")

# Backups. A store is a directory, or `s3:<url>/<bucket>[/<prefix>]`; without one, or with `off`, there are no backups.
BACKUP_STORE = env.text("BACKUP_STORE", str(AGENTPODS_HOME / "backups") if DEVELOPMENT else "")
if BACKUP_STORE == "off":
    BACKUP_STORE = ""
BACKUP_ACCESS_KEY = env.secret("BACKUP_ACCESS_KEY")
BACKUP_SECRET_KEY = env.secret("BACKUP_SECRET_KEY")
BACKUP_REGION = env.text("BACKUP_REGION", "us-east-1")
BACKUP_HOST = env.text("BACKUP_HOST", "127.0.0.1")
BACKUP_PORT = env.number("BACKUP_PORT", 0, at_most=65_535)  # 0 is any free one
BACKUP_URL = env.text("BACKUP_URL").rstrip("/")
DRILL_DIRECTORY = Path(env.text("DRILL_DIRECTORY", str(AGENTPODS_HOME / "run" / "drill")))
DRILL_MAX_GB = env.number("DRILL_MAX_GB", 20)  # the weekly drill only checks larger backups and does not restore them
RESTIC = env.text("RESTIC")

# Webhooks.
WEBHOOK_ALLOWED_CIDRS = env.networks("WEBHOOK_ALLOWED_CIDRS")
WEBHOOK_NAMESERVERS = env.sockets("WEBHOOK_NAMESERVERS", port=53)

# Customers' own hostnames. Name servers for webhook receivers' names work here too.
DOMAIN_NAMESERVERS = env.sockets("DOMAIN_NAMESERVERS", port=53) or WEBHOOK_NAMESERVERS

# Stablecoins. CRYPTO_XPUB is the extended public key of an account; a private key must never be on a server.
CRYPTO_CHAIN_ID = env.number("CRYPTO_CHAIN_ID", 8453, at_least=1)
CRYPTO_XPUB = env.secret("CRYPTO_XPUB")
if CRYPTO_XPUB[1:4] == "prv":
    raise ImproperlyConfigured("CRYPTO_XPUB holds a private key (xprv): give the account's xpub, and move its money")
CRYPTO_FIRST_ADDRESS = env.text("CRYPTO_FIRST_ADDRESS")
CRYPTO_TOKENS = env.pairs("CRYPTO_TOKENS")
CRYPTO_WATCHED_TOKENS = env.pairs("CRYPTO_WATCHED_TOKENS")
CRYPTO_CONFIRMATION = env.text("CRYPTO_CONFIRMATION", "finalized")
CRYPTO_RPC_BATCH = env.number("CRYPTO_RPC_BATCH", 300, at_least=1, at_most=1000)
CRYPTO_LOG_RANGE = env.number("CRYPTO_LOG_RANGE", 2000, at_least=1)

# Stripe.
STRIPE_URL = env.text("STRIPE_URL", "https://api.stripe.com").rstrip("/")

# Mail.
EMAIL_BACKEND = env.text(
    "EMAIL_BACKEND", f"django.core.mail.backends.{'console' if DEVELOPMENT else 'smtp'}.EmailBackend"
)
EMAIL_HOST = env.text("EMAIL_HOST", "localhost")
EMAIL_PORT = env.number("EMAIL_PORT", 25)
EMAIL_HOST_USER = env.text("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = env.secret("EMAIL_HOST_PASSWORD")
EMAIL_USE_TLS = env.flag("EMAIL_USE_TLS")
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.text("DEFAULT_FROM_EMAIL", "Agentpods <no-reply@localhost>")
SERVER_EMAIL = DEFAULT_FROM_EMAIL
SUPPORT_EMAIL = env.text("SUPPORT_EMAIL") or parseaddr(DEFAULT_FROM_EMAIL)[1]
ADMINS = [(address, address) for address in env.words("ADMINS")]
SHOW_DEV_CODES = env.flag("SHOW_DEV_CODES", default=DEVELOPMENT)

# Licences of Gumroad. Without products it is shown as coming soon.
GUMROAD_URL = env.text("GUMROAD_URL", "https://api.gumroad.com").rstrip("/")
GUMROAD_REQUESTS_PER_MINUTE = env.number("GUMROAD_REQUESTS_PER_MINUTE", 60, at_least=1)

# Licences of Lemon Squeezy. Without store, products and variants it is shown as coming soon.
LEMONSQUEEZY_URL = env.text("LEMONSQUEEZY_URL", "https://api.lemonsqueezy.com").rstrip("/")
LEMONSQUEEZY_API_REQUESTS_PER_MINUTE = env.number("LEMONSQUEEZY_API_REQUESTS_PER_MINUTE", 300, at_least=1)
LEMONSQUEEZY_REQUESTS_PER_MINUTE = env.number("LEMONSQUEEZY_REQUESTS_PER_MINUTE", 60, at_least=1)

# Sign-in of operators with an OIDC provider. Without issuer and client there is no such sign-in.
OIDC_ISSUER = env.text("OIDC_ISSUER")
OIDC_CLIENT_ID = env.text("OIDC_CLIENT_ID")
OIDC_CLIENT_SECRET = env.secret("OIDC_CLIENT_SECRET")
OIDC_NAME = env.text("OIDC_NAME")
OIDC_SCOPES = env.text("OIDC_SCOPES", "openid email profile")
OIDC_GROUPS_CLAIM = env.text("OIDC_GROUPS_CLAIM", "groups")
OIDC_ROLES = env.pairs("OIDC_ROLES")  # group to role
OIDC_SECOND_FACTOR = env.flag("OIDC_SECOND_FACTOR")

# Stores.
DATABASE_URL = env.secret("DATABASE_URL", embedded.postgres_url(AGENTPODS_HOME))
REDIS_URL = env.secret("REDIS_URL", embedded.redis_url(AGENTPODS_HOME))
DATABASE_POOL_SIZE = env.number("DATABASE_POOL_SIZE", 24, at_least=2)
DATABASES: dict[str, Any] = {"default": database.parse(DATABASE_URL, pool_size=DATABASE_POOL_SIZE)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "config",
    "accounts",
    "catalog",
    "webhooks",
    "agents",
    "billing",
    "status",
    "accounts.apps.ConsoleConfig",  # django.contrib.admin with a throttled login
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "drf_spectacular",
]
MIDDLEWARE = [
    "config.metrics.requests.MetricsMiddleware",
    "config.requests.RequestIdMiddleware",
    "config.tracing.middleware.TracingMiddleware",
    "config.requests.ProbeHostMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.content_policy.ContentPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "config.long_forms.LongFormsMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
APPEND_SLASH = False
CSRF_FAILURE_VIEW = "config.failures.forged"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["django.templatetags.i18n", "pages.titles"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

AUTH_USER_MODEL = "accounts.User"
LOGIN_REDIRECT_URL = "/admin/"  # for operators whose `next` leads to another page
AUTH_PASSWORD_VALIDATORS = [  # of operators; SECURITY.md says how many tries a stranger has
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

LANGUAGE_CODE = "en"
LANGUAGES = [
    ("en", "English"),
    ("ru", "Русский"),
    ("es", "Español"),
    ("pt", "Português"),
    ("tr", "Türkçe"),
    ("id", "Bahasa Indonesia"),
]
LOCALE_PATHS = [BASE_DIR / "templates" / "locale"]
USE_I18N = True
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "/static/"
# Development serves static files from their source directories; production collects them when its image is built.
STATIC_ROOT = None if DEVELOPMENT else AGENTPODS_HOME / "static"
WHITENOISE_USE_FINDERS = DEVELOPMENT
GUIDE_ROOT = BASE_DIR / "var" / "guide"  # where `python -m config.guide` builds it
WHITENOISE_ROOT = BASE_DIR / "catalog" / "root"  # files that browsers ask for at the root by themselves: /favicon.ico

# Browser security. HTTPS is required if BASE_URL is https.
_HTTPS = BASE_URL.startswith("https://")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _HTTPS
SESSION_COOKIE_NAME = "__Host-session" if _HTTPS else "session"
CSRF_COOKIE_NAME = "__Host-csrf" if _HTTPS else "csrf"
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
ACCOUNT_COOKIE_NAME = "__Host-agentpods-account" if _HTTPS else "agentpods-account"  # a person's sign-in on the pages
LOOK_COOKIE_NAME = "__Host-agentpods-look" if _HTTPS else "agentpods-look"  # an operator's look at a person's pages
LANG_COOKIE_NAME = "__Host-agentpods-lang" if _HTTPS else "agentpods-lang"  # the language that the reader chose
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"  # no own cookie: its name has no prefix
SECURE_SSL_REDIRECT = _HTTPS and env.flag("SECURE_SSL_REDIRECT", default=True)
SECURE_REDIRECT_EXEMPT = [r"^health(/ready)?$"]
SECURE_HSTS_SECONDS = env.number("SECURE_HSTS_SECONDS", 31_536_000 if _HTTPS else 0)
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = _HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None
CSRF_TRUSTED_ORIGINS = [BASE_URL]
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_048_576

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["accounts.authentication.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["config.parsing.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["config.json_answers.QuickJsonRenderer"],
    "DEFAULT_SCHEMA_CLASS": "config.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "config.refusals.exception_handler",
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "config.negotiation.JsonAlways",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}

SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Agentpods",
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.0",
    "LICENSE": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    "SERVERS": [{"url": "/"}],
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/",
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "COMPONENT_SPLIT_PATCH": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "WEBHOOKS": "webhooks.openapi.WEBHOOKS",
    "POSTPROCESSING_HOOKS": ["webhooks.openapi.complete", "config.openapi.complete"],
}

# Celery: small tasks, acks_late, no results, no retries by Celery.
CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_STORE_EAGER_RESULT = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False  # development prints mails, which are no warnings
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_BEAT_SCHEDULER = "config.schedule:Scheduler"
CELERY_TASK_ROUTES = {
    "agents.*": {"queue": "lifecycle"},
    "backups.step": {"queue": "lifecycle"},  # it talks to a pod; the other worker's network does not allow that
    "billing.*": {"queue": "billing"},
    "webhooks.drain": {"queue": "webhooks"},
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_timeout": 5, "socket_connect_timeout": 1, "visibility_timeout": 600}
CELERY_BROKER_POOL_LIMIT = 10
CELERY_TIMEZONE = "UTC"

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {"()": "config.requests.JsonFormatter"},
        "plain": {"format": "%(levelname)s %(name)s: %(message)s"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain" if DEVELOPMENT else "json"}},
    "root": {"handlers": ["stderr"], "level": env.text("LOG_LEVEL", "INFO")},
    "loggers": {
        "opentelemetry": {"level": "ERROR"},  # it warns of each batch that a collector does not take
        "urllib3": {"level": "INFO"},  # its debug lines have URLs, and Telegram's URLs contain the bot's token
        "authlib": {"level": "INFO"},  # its debug lines have the tokens that it gives
        "stripe": {"level": "WARNING"},  # it logs four lines per call, the later ones with the data sent
        "django.security.DisallowedHost": {"propagate": False, "level": "CRITICAL"},  # from any scanner; we answer 400
    },
}
