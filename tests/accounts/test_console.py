"""The operators' console as their browser meets it."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from accounts import keys
from accounts.models import User


@pytest.mark.django_db
def test_the_console_sets_no_cookie_but_its_session_and_its_csrf_token() -> None:
    """These two are `__Host-` cookies wherever BASE_URL is https; a cookie of the framework's own would not be."""
    operator = User.objects.create_superuser("operator@example.com", "a-long-password")
    key, _ = keys.create(User.objects.create_user("ann@example.com"), name="a key", now=timezone.now())
    console = Client()
    console.force_login(operator)
    done = console.post("/admin/accounts/apikey/", {"action": "revoke", "_selected_action": [key.pk]})
    assert done.status_code == 302
    assert set(console.cookies) <= {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME}
    assert "answer 401 from now on" in console.get("/admin/accounts/apikey/").content.decode()
