"""Settings of one command of the build, `collectstatic`: it needs no secret, no store and no cluster."""

from config.settings import *  # noqa: F403 - all but one
from config.settings import BASE_DIR

STATIC_ROOT = BASE_DIR / "var" / "static"  # where production looks for them
