"""A plain DRF project on the product's database and connections: token authentication, two middlewares, JSON."""

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS as OURS

ROOT_URLCONF = "benchmarks.peers.drf"
INSTALLED_APPS = [*OURS, "rest_framework.authtoken"]
MIDDLEWARE = ["django.middleware.security.SecurityMiddleware", "django.middleware.common.CommonMiddleware"]
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.TokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
}
