"""The operators' console, as seen by their browser."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.contrib import admin
from django.db.models import Model
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts import console, keys
from accounts.models import User
from tests.operating import choose, send

pytestmark = pytest.mark.unmeasured


@pytest.mark.django_db
def test_the_console_sets_no_cookie_but_its_session_and_its_csrf_token() -> None:
    """Where BASE_URL is https, these two are `__Host-` cookies; a cookie of the framework would not be."""
    operator = User.objects.create_superuser("operator@example.com", "a-long-password")
    key, _ = keys.create(User.objects.create_user("ann@example.com"), name="a key", now=timezone.now())
    browser = Client()
    browser.force_login(operator)
    asking = choose(browser, "/admin/accounts/apikey/", "revoke", key)
    done = send(browser, asking, follow=False)
    assert done.status_code == 302
    assert set(browser.cookies) <= {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME}
    assert "Revoked: " in browser.get(done.headers["Location"]).content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("model", list(admin.site._registry), ids=lambda model: model._meta.label_lower)
def test_there_is_no_page_of_an_id_that_no_row_can_have(client: Client, model: type[Model]) -> None:
    client.force_login(User.objects.create_superuser("operator@example.com"))
    address = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
    for impossible in ("%00", "a%00b"):
        for page in ("", "change/", "history/", "delete/"):
            one = f"{address}{impossible}/{page}"
            assert [client.get(one).status_code, client.post(one).status_code] == [404, 404], one


@pytest.mark.django_db
@pytest.mark.parametrize("model", list(admin.site._registry), ids=lambda model: model._meta.label_lower)
def test_no_list_is_narrowed_to_what_no_row_can_have(client: Client, model: type[Model]) -> None:
    client.force_login(User.objects.create_superuser("operator@example.com"))
    address = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
    assert client.get(f"{address}?pk=%00").status_code == 404
    assert client.get(f"{address}add/?persona=%00").status_code in {403, 404}
    assert client.post(address, {"action": "delete_selected", "_selected_action": "\0"}).status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize("model", list(admin.site._registry), ids=lambda model: model._meta.label_lower)
def test_every_form_for_a_new_row_opens(client: Client, model: type[Model]) -> None:
    client.force_login(User.objects.create_superuser("operator@example.com"))
    answer = client.get(f"/admin/{model._meta.app_label}/{model._meta.model_name}/add/")
    assert answer.status_code in {200, 403}


@pytest.mark.django_db
def test_an_impossible_id_asks_who_is_not_signed_in_for_the_login(client: Client) -> None:
    answer = client.get("/admin/accounts/user/%00/change/")
    assert answer.status_code == 302
    assert answer["Location"].startswith("/admin/login/")


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["accounts/user/%00/password/", "r/1/%00/"])
def test_no_other_page_looks_for_an_impossible_id_either(client: Client, page: str) -> None:
    client.force_login(User.objects.create_superuser("operator@example.com"))
    assert client.get(f"/admin/{page}").status_code == 404


@pytest.mark.django_db
def test_a_burst_of_logins_is_told_to_come_again_and_holds_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    User.objects.create_superuser("operator@example.com", "a-long-password")
    typed = {"username": "operator@example.com", "password": "a-long-password"}
    monkeypatch.setattr(console, "LONGEST_WAIT", 0.01)
    with console._turn(), console._turn(), django_assert_num_queries(0):
        answer = client.post("/admin/login/", typed)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert client.post("/admin/login/", typed).status_code == 302
