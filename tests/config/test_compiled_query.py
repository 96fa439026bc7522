"""A query whose SQL is made once gives what the same query of Django gives."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.models.functions import Upper
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import sessions
from accounts.models import Attribution, Session, User
from config.compiled_query import CompiledModel, CompiledQuery

ADS = Attribution(anon_id="a", utm_source="ads", utm_medium=None, utm_campaign=None, referrer=None)


@pytest.mark.django_db
def test_each_call_has_its_own_values_and_one_statement() -> None:
    users = [User.objects.create_user(f"person{number}@example.com") for number in range(2)]
    query = CompiledQuery(
        lambda email: User.objects.filter(email=email).values_list("id", "created_at"),
        values=("email",),
    )
    for user in users:
        with CaptureQueriesContext(connection) as statements:
            assert query.rows(email=user.email) == [[user.pk, user.created_at]]
        assert len(statements) == 1
    assert query.rows(email="nobody' OR '1'='1") == []


@pytest.mark.django_db
def test_a_row_comes_as_the_object_that_django_makes_with_its_relation_and_without_what_is_deferred() -> None:
    now = timezone.now()
    users = [User.objects.create_user(f"person{number}@example.com") for number in range(2)]
    rows = [sessions.start(user, attribution=ADS, now=now)[0] for user in users]
    query = CompiledModel(
        Session,
        lambda pk: Session.objects.filter(pk=pk).annotate(loud=Upper("client")),
        values=("pk",),
        with_related="user",
        annotated=("loud",),
        deferred={"digest"},
    )
    for row, user in zip(rows, users, strict=True):
        with CaptureQueriesContext(connection) as statements:
            found = query.first(pk=row.pk)
            assert found is not None
            assert (found.user, found.user.email, found.attribution) == (user, user.email, ADS)
            assert found.expires_at == row.expires_at
            assert vars(found)["loud"] == ""
        assert len(statements) == 1
        assert found.get_deferred_fields() == {"digest"}
        assert found.digest == row.digest
        found.client = "Firefox"
        found.save()
        assert Session.objects.get(pk=row.pk).client == "Firefox"
    assert query.first(pk="nobody") is None
