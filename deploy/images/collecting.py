"""The settings for one build command, `collectstatic`, which needs no secret, no database and no cluster."""

from config.settings import *  # noqa: F403 - all but one
from config.settings import BASE_DIR

STATIC_ROOT = BASE_DIR / "var" / "static"  # production looks for the static files here
