"""The product's settings, with the same database and connections, but only the two middlewares that every Django site
has.
"""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "benchmarks.baseline.urls"
MIDDLEWARE = ["django.middleware.security.SecurityMiddleware", "django.middleware.common.CommonMiddleware"]
