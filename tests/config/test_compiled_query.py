"""A query whose SQL is made once gives what the same query of Django gives."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from config.compiled_query import CompiledQuery


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
