"""Set-up for all tests. The environment is prepared first, because settings are read once, at import."""

from __future__ import annotations

import gc
import itertools
import os
import re
import sys
from collections.abc import Generator
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import django
import hypothesis
import pytest
from django.conf import settings
from django.db import connection
from hypothesis.internal.conjecture import providers

from config.operator_settings.registry import SETTINGS
from tests.stores import TEMPLATE, StoreServers, environment

# No hypothesis test has a deadline, with or without CI in the environment: a busy machine is not a failure.
hypothesis.settings.register_profile("untimed", hypothesis.settings(), deadline=None)
hypothesis.settings.load_profile("untimed")

ROOT = Path(__file__).resolve().parent.parent
XDIST_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
_COPIED = "AGENTPODS_TEST_TEMPLATE"  # names the database that each process of this run copies
NUMBER = int(XDIST_WORKER.removeprefix("gw") or -1) + 1


def _prepare_environment() -> StoreServers | None:
    """Set the settings of a fresh checkout, and the run's own servers unless DATABASE_URL and REDIS_URL are given."""
    if XDIST_WORKER:
        os.environ["REDIS_URL"] = _own_redis_database(os.environ["REDIS_URL"])
        return None
    stores = StoreServers()
    kept = {"DATABASE_URL", "REDIS_URL", "ENGINE_CACHE"}
    named = re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', (ROOT / "config" / "settings.py").read_text(encoding="utf-8"))
    for name in {*named, *SETTINGS} - kept:
        os.environ.pop(name, None)
    os.environ.update(environment(stores.root / "home"))
    # Otherwise each of a thousand programs would compile every file again, and each run its tests.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    os.environ["BACKUP_STORE"] = "off"  # otherwise each rebuild and each deletion in a test would wait for a backup
    os.environ.setdefault("ENGINE_CACHE", str(ROOT / "var" / "engines"))
    return stores


def _own_redis_database(url: str) -> str:
    """The URL with another database number for each xdist worker, so that no worker deletes another's data."""
    if url.startswith("redis+socket://"):
        return re.sub(r"virtual_host=\d+", f"virtual_host={NUMBER}", url)
    return re.sub(r"(://[^/]+)(/\d*)?", rf"\g<1>/{NUMBER}", url, count=1)


def _name_stores(stores: StoreServers) -> None:
    for name, url in (("DATABASE_URL", stores.database_url), ("REDIS_URL", stores.redis_url)):
        if os.environ.get(name):
            continue
        os.environ[name] = url
        stores.embedded.add(name)


STORES = _prepare_environment()
if STORES:
    _name_stores(STORES)
django.setup()
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # the real hasher is slow on purpose
# Each test client has its own middleware, which would otherwise list all files at its start.
settings.WHITENOISE_AUTOREFRESH = True
if XDIST_WORKER:  # this process inherits DJANGO_SETTINGS_MODULE, so its settings were read before this file
    settings.REDIS_URL = settings.CELERY_BROKER_URL = os.environ["REDIS_URL"]

from tests import compiling, coverage_scope, emptying  # noqa: E402 # as fixtures, it needs Django's applications
from tests.at_length import IS_ON, pytest_collection_modifyitems, pytest_ignore_collect  # noqa: E402, F401
from tests.fixtures import *  # noqa: E402, F403
from tests.secrets_in_logs import no_secret_in_logs  # noqa: E402, F401

# Fixtures that more than one package uses. So no test module imports a fixture.
pytest_plugins = [
    "tests.billing.crypto",
    "tests.billing.licences",
    "tests.billing.providers.stars.bot",
    "tests.billing.providers.stripe.shop",
]

emptying.install()
if not IS_ON:
    # To try numbers and words of our code too, Hypothesis parses each module in each process, which takes seconds.
    providers._get_local_constants = lambda: providers._local_constants
_tests = itertools.count(1)
gc.set_threshold(100_000, 50, 100)  # imported objects stay: collecting them again and again took 5 % of the time


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Measure coverage of started programs only in tests that do not repeat others; vacuum now and then."""
    with coverage_scope.told_nothing() if coverage_scope.repeats(item) else nullcontext():
        done = yield
    if next(_tests) % emptying.TESTS_PER_VACUUM == 0:
        emptying.vacuum()
    return done


def pytest_configure(config: pytest.Config) -> None:
    if STORES:
        STORES.start()
    if STORES and "DATABASE_URL" in STORES.embedded and config.getoption("numprocesses", None):
        STORES.create_template(meanwhile=partial(compiling.compile_tests, config))
        os.environ[_COPIED] = TEMPLATE
    if copied := os.environ.get(_COPIED):
        connection.settings_dict["TEST"]["TEMPLATE"] = copied


def pytest_unconfigure() -> None:
    if STORES:
        STORES.stop()
