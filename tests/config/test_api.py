from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import OperationalError, ProgrammingError
from django.http import Http404
from psycopg_pool import PoolTimeout
from rest_framework import exceptions, serializers
from rest_framework.test import APIClient

from config.api import Choice, Flag, Serializer, Text, TextMap
from config.errors import Conflict
from config.numbers import Whole
from config.refusals import exception_handler


class Pets(Serializer):
    pet_name = Text(max_length=10)
    is_tame = Flag(required=False)
    leg_count = Whole(required=False)
    kind_of_pet = Choice(choices=["cat", "dog"], required=False)
    own_words = TextMap(required=False, max_length=8)


class Owners(Serializer):
    pets_owned = Pets(many=True)


def problem_with(data: Any, shape: type[Serializer] = Pets) -> str:
    """The message in the answer to this body."""
    serializer = shape(data=data)
    with pytest.raises(exceptions.ValidationError) as refused:
        serializer.is_valid(raise_exception=True)
    return str(exception_handler(refused.value, {}).data["message"])


def test_names_are_camel_case_outside_and_snake_case_inside() -> None:
    serializer = Pets(data={"petName": "Tom", "ownWords": {"snake_key": "x", "camelKey": "y"}})
    serializer.is_valid(raise_exception=True)
    assert serializer.validated_data == {"pet_name": "Tom", "own_words": {"snake_key": "x", "camelKey": "y"}}
    assert Pets({"pet_name": "Tom", "is_tame": True}).data == {"petName": "Tom", "isTame": True}


def test_a_body_of_another_type_is_refused_with_what_came_and_what_is_taken() -> None:
    for came in ("text/plain", "text/" + "x" * 5000):
        answer = APIClient().post("/auth/request", "email=a@example.com", content_type=came)
        shown = came if len(came) < 100 else f"{came[:100]}…"
        words = f"Content-Type: '{shown}' is not taken here; allowed: application/json"
        assert (answer.status_code, answer.json()["message"]) == (415, words)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "petName: is missing, and this call needs it"),
        ({"petName": 5}, "petName: must be a string, not a number"),
        ({"petName": None}, "petName: came as null; give a value"),
        ({"petName": "Tom", "isTame": "true"}, "isTame: must be true or false, not a string"),
        ({"petName": "Tom", "isTame": 1}, "isTame: must be true or false, not a number"),
        ({"petName": "Tom", "legCount": "4"}, "legCount: must be a whole number, not a string"),
        ({"petName": "Tom", "legCount": True}, "legCount: must be a whole number, not a boolean"),
        ({"petName": "Tom", "legCount": 4.5}, "legCount: must be a whole number, not a number"),
        ({"petName": "Tom", "kindOfPet": "cow"}, "kindOfPet: 'cow' is not one of cat, dog"),
        ({"petName": "Tom", "kindOfPet": "c" * 900_000}, f"kindOfPet: '{'c' * 100}…' is not one of cat, dog"),
        ({"petName": "Tom", "kindOfPet": ["cat"]}, "kindOfPet: must be a string, not an array"),
        ({"petName": "Tom", "ownWords": {"a": 1}}, "ownWords.a: must be a string, not a number"),
        ({"petName": ""}, "petName: came blank; give a text"),
        ([], "body: must be an object"),
    ],
)
def test_json_types_are_strict_and_the_message_names_the_field(data: Any, message: str) -> None:
    assert problem_with(data) == message


def test_the_message_names_the_place_in_a_list() -> None:
    assert problem_with({"petsOwned": [{"petName": "Tom"}, {"petName": 5}]}, Owners).startswith("petsOwned[1].petName:")


def test_a_validation_hook_that_would_never_run_is_refused() -> None:
    with pytest.raises(TypeError, match="would never run"):
        type("Hooked", (Serializer,), {"validate_pet_name": lambda self, value: value})


def test_a_method_field_keeps_its_method() -> None:
    class LegsSerializer(Serializer):
        leg_count = serializers.SerializerMethodField()

        def get_leg_count(self, pet: dict[str, int]) -> int:
            return pet["legs"]

    assert LegsSerializer({"legs": 4}).data == {"legCount": 4}


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Conflict("taken"), 409, "CONFLICT"),
        (Http404(), 404, "NOT_FOUND"),
        (PermissionDenied(), 403, "FORBIDDEN"),
        (exceptions.MethodNotAllowed("PUT"), 405, "BAD_REQUEST"),
        (exceptions.Throttled(wait=3), 429, "RATE_LIMITED"),
        (OperationalError("the server is away"), 503, "INTERNAL"),
        # Normally Django wraps this error; without the wrapper it is a fault of ours.
        (PoolTimeout("no connection"), 500, "INTERNAL"),
        (ProgrammingError("no such column: secret"), 500, "INTERNAL"),
        (RuntimeError("secret"), 500, "INTERNAL"),
    ],
)
def test_whatever_is_raised_becomes_an_error_body(error: Exception, status: int, code: str) -> None:
    answer = exception_handler(error, {})
    assert (answer.status_code, answer.data["error"]) == (status, code)
    assert set(answer.data) == {"error", "message"}
    assert "secret" not in answer.data["message"]
    assert ("Retry-After" in answer) == (status in {429, 503})


def test_messages_are_the_same_for_every_reader(api: APIClient) -> None:
    """Programs and language models read the messages; only mails and pages are translated."""
    for asked in ("ru", "en", "de, ru;q=0.5"):
        answer = api.post("/auth/verify", {"email": "a@example.com"}, format="json", headers={"Accept-Language": asked})
        assert answer.json()["message"] == "code: is missing, and this call needs it"
        assert "Accept-Language" not in answer.headers.get("Vary", "")
