"""Problems that prevent a start in production, and the warnings of `check --deploy`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from config import checks
from config.apps import ConfigConfig
from tests.config.conftest import ROOT


@pytest.fixture
def production(settings: Any) -> Any:
    settings.DEVELOPMENT = False
    settings.SECRET_KEY = "k" * 60
    settings.SECRETS_KEYS = [Fernet.generate_key().decode()]
    settings.AGENT_RUNTIME = "kubernetes"
    settings.POD_IMAGE, settings.ENGINE_IMAGES = "images.example.com/agentpods", {"pi": "images.example.com/pi"}
    settings.BASE_URL = "https://console.example.com"
    settings.SHOW_DEV_CODES = False
    settings.PLATFORM_DOMAIN = "pods.example.net"
    return settings


def test_a_production_with_all_it_needs_starts(production: Any) -> None:
    assert checks.refusals() == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SECRET_KEY", ""),
        ("SECRET_KEY", "short"),
        ("SECRETS_KEYS", []),
        ("SECRETS_KEYS", ["no fernet key"]),
        ("AGENT_RUNTIME", "local"),
        ("POD_IMAGE", ""),
        ("ENGINE_IMAGES", {}),
        ("SHOW_DEV_CODES", True),
    ],
)
def test_production_refuses_what_is_missing_or_unsafe(production: Any, name: str, value: object) -> None:
    setattr(production, name, value)
    assert [problem.partition(":")[0] for problem in checks.refusals()] == [name]


@pytest.mark.parametrize("development", [True, False])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BASE_URL", "http://console.example.com"),
        ("BASE_URL", "https://127.0.0.1"),
        ("BASE_URL", "https://other.example.com"),
        ("EXPECTED_IP", "console.example.com"),
        ("ACME_ROOTS", "/nowhere/roots.pem"),
    ],
)
def test_certificates_are_not_promised_where_none_could_be_made(
    production: Any, name: str, value: str, development: bool
) -> None:
    production.DEVELOPMENT = development
    production.TLS, production.CONSOLE_HOSTS, production.EXPECTED_IP = "auto", ["console.example.com"], "203.0.113.10"
    assert checks.refusals() == []
    setattr(production, name, value)
    assert [problem.partition(":")[0] for problem in checks.refusals()] == [name]


@pytest.mark.parametrize("name", ["SECRET_KEY", "SECRETS_KEYS"])
def test_production_refuses_the_keys_of_development(production: Any, name: str) -> None:
    default = production.DEVELOPMENT_SECRET_KEY if name == "SECRET_KEY" else [production.DEVELOPMENT_SECRETS_KEY]
    setattr(production, name, default)
    assert [problem.partition(":")[0] for problem in checks.refusals()] == [name]


def test_a_runtime_of_ones_own_needs_no_images(production: Any) -> None:
    production.AGENT_RUNTIME, production.POD_IMAGE, production.ENGINE_IMAGES = "somewhere.Else", "", {}
    assert checks.refusals() == []


def test_the_name_of_an_installation_must_be_a_labels_value() -> None:
    environment = {**os.environ, "INSTALLATION": "two words"}
    command = [sys.executable, "-c", "import config.settings"]
    refused = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert "INSTALLATION='two words' must be a label's value" in refused.stderr


def test_no_process_of_such_a_production_starts(production: Any) -> None:
    production.AGENT_RUNTIME = "local"
    import config

    with pytest.raises(Exception, match="refuses to start:\n  AGENT_RUNTIME"):
        ConfigConfig("config", config).ready()


@pytest.mark.parametrize(
    ("console", "pods"),
    [
        ("pods.example.net", "pods.example.net"),
        ("console.pods.example.net", "pods.example.net"),
        ("example.com", "pods.example.com"),
        ("Example.COM.", "pods.example.com"),
        ("example.com", "a.b.pods.example.com"),
        ("console.example.com", "pods.console.example.com"),
        ("example.co.uk", "pods.example.co.uk"),
        ("bücher.example", "pods.xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "pods.bücher.example."),
        ("BÜCHER.example", "pods.XN--Bcher-kva.example"),
        ("bu\u0308cher\u3002example", "pods.bücher.example"),
    ],
)
def test_console_and_pods_one_below_the_other_is_an_error(production: Any, console: str, pods: str) -> None:
    production.BASE_URL, production.PLATFORM_DOMAIN = f"https://{console}", pods
    assert [found.id for found in checks.console_apart_from_pods()] == ["agentpods.E001"]


def test_each_host_of_the_console_is_looked_at(production: Any) -> None:
    production.CONSOLE_HOSTS = ["console.example.com", "www.pods.example.net"]
    assert [found.id for found in checks.console_apart_from_pods()] == ["agentpods.E001"]


def test_console_and_pods_of_one_ending_are_a_warning(production: Any) -> None:
    """Both names may have one owner, or lie below a public suffix such as `co.uk`: only a long list could tell."""
    production.PLATFORM_DOMAIN = "pods.example.com"
    assert [found.id for found in checks.console_apart_from_pods()] == ["agentpods.W002"]


@pytest.mark.parametrize(
    ("console", "pods"),
    [
        ("console.example.com", "pods.example.net"),
        ("example.com", "notexample.com"),
        ("console.example.com", "pods-example.com"),
        ("127.0.0.1", "pods.0.1"),
        ("localhost", "pods.example.com"),
    ],
)
def test_console_and_pods_that_share_nothing_are_as_they_should_be(production: Any, console: str, pods: str) -> None:
    production.BASE_URL, production.PLATFORM_DOMAIN = f"https://{console}", pods
    assert checks.console_apart_from_pods() == []


def test_check_deploy_fails_where_pods_lie_below_the_console(tmp_path: Path) -> None:
    given = {"BASE_URL": "https://example.com", "PLATFORM_DOMAIN": "pods.example.com", "AGENTPODS_HOME": str(tmp_path)}
    command = [sys.executable, "manage.py", "check", "--deploy", "--tag", "security"]
    told = subprocess.run(command, cwd=ROOT, env={**os.environ, **given}, capture_output=True, text=True, check=False)
    assert told.returncode != 0
    assert "agentpods.E001" in told.stderr


def test_a_console_without_https_is_an_error(production: Any) -> None:
    assert checks.console_over_https() == []
    production.BASE_URL = "http://console.example.com"
    assert [found.id for found in checks.console_over_https()] == ["agentpods.E002"]


def test_shown_codes_are_an_error(production: Any) -> None:
    production.SHOW_DEV_CODES = False
    assert checks.codes_are_mailed_only() == []
    production.SHOW_DEV_CODES = True
    assert [found.id for found in checks.codes_are_mailed_only()] == ["agentpods.E003"]


def test_embedded_stores_are_a_warning(production: Any) -> None:
    production.DATABASE_URL = f"postgresql://postgres@/agentpods?host={production.AGENTPODS_HOME}/postgres"
    production.REDIS_URL = "redis://redis.example.com/0"
    assert [found.id for found in checks.stores_are_given()] == ["agentpods.W001"]
