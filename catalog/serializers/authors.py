"""The bodies of the endpoints of authors: what they send, strictly typed and bounded, and what they get back."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.fields import empty

from catalog.markdown import HTML_SIZE, PARTS, STEPS
from catalog.models.authors import NAME_LENGTH
from catalog.models.personas import ARTICLE_LENGTH, ID_LENGTH, SOUL_LENGTH
from catalog.serializers.catalog import ArticleInfoSerializer, PersonaSerializer
from catalog.serializers.fields import Distinct, Labelled, Line, Name, OptionalParagraphs, Paragraphs
from catalog.slugs import is_slug
from catalog.vocabulary import ArticleLang, ArticleStatus, Category, Channel, Risk, TierId
from config.api import Choice, Serializer, Several, envelope

NAME = 80  # an agent without a name of its own gets its persona's name
LABEL = 200
SENTENCES = 1_000
DOES = 12
QUESTION = 300
SPOKEN = 600
DEMO_LINES = 16


def _given(**kwargs: Any) -> dict[str, Any]:
    return {"required": False, **kwargs}


def _labels(most: int, length: int, **kwargs: Any) -> Distinct:
    return Distinct(child=Line(max_length=length), max_length=most, **kwargs)


def _examples() -> Labelled:
    return Labelled(
        child=Line(max_length=QUESTION),
        label=Line(max_length=LABEL),
        max_length=DOES,
        required=False,
        allow_null=True,
        help_text="One example question per label of `does`, by label; null or {}: none.",
    )


def _disclaimer() -> OptionalParagraphs:
    return OptionalParagraphs(
        max_length=SENTENCES,
        required=False,
        allow_null=True,
        allow_blank=True,
        help_text="Needed when `risk` is high, in every language; null: none.",
    )


class WrittenDemoLineSerializer(Serializer):
    role = Choice(choices=["user", "agent"])
    text = Paragraphs(max_length=SPOKEN)


class Demo(Several):
    """A conversation. An empty list becomes None."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            **{
                "child": WrittenDemoLineSerializer(),
                "max_length": DEMO_LINES,
                "required": False,
                "allow_null": True,
                "help_text": "An illustrative conversation; null or []: none.",
                **kwargs,
            }
        )

    def run_validation(self, data: Any = empty) -> Any:
        return super().run_validation(data) or None

    def to_internal_value(self, data: Any) -> list[Any]:
        return [dict(line) for line in super().to_internal_value(data)]


class WrittenL10nSerializer(Serializer):
    """The texts in another language. What is given replaces the whole localization."""

    name = Line(max_length=NAME)
    tagline = Line(max_length=LABEL)
    for_who = Paragraphs(max_length=SENTENCES)
    does = _labels(DOES, LABEL, help_text="As many labels as the persona's `does`, in the same order.")
    does_examples = _examples()
    disclaimer = _disclaimer()
    demo = Demo()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        examples = attrs.get("does_examples")
        if examples is not None and (differing := set(examples) ^ set(attrs["does"])):
            problem = f"must have exactly the labels of `does`; differs in: {', '.join(sorted(differing))}"
            raise serializers.ValidationError({"doesExamples": problem})
        return attrs


def _localization(language: str) -> WrittenL10nSerializer:
    return WrittenL10nSerializer(required=False, allow_null=True, help_text=f"{language}; null removes it.")


class PatchPersonaSerializer(Serializer):
    """Any of the fields that an author writes. What is absent stays as it is."""

    icon = Line(max_length=16, **_given(help_text="An emoji; a draft without one gets 🤖."))
    name = Line(max_length=NAME, **_given())
    tagline = Line(max_length=LABEL, **_given(allow_blank=True))
    for_who = Paragraphs(max_length=SENTENCES, **_given(allow_blank=True))
    does = _labels(DOES, LABEL, **_given(help_text="What it does, a label each."))
    does_examples = _examples()
    skills = _labels(24, LABEL, **_given())
    channels = Distinct(child=Choice(choices=Channel.values), max_length=len(Channel), **_given())
    category = Choice(choices=Category.values, **_given(help_text="A draft without one shows life."))
    tags = _labels(16, 40, **_given())
    tier = Choice(
        choices=TierId.values, **_given(help_text="The recommended minimum plan. A draft without one shows tiny.")
    )
    risk = Choice(choices=Risk.values, **_given(help_text="low when not given. high needs a disclaimer."))
    disclaimer = _disclaimer()
    demo = Demo()
    ru = _localization("Russian")
    es = _localization("Spanish")
    pt = _localization("Portuguese")
    tr = _localization("Turkish")
    ind = _localization("Indonesian")
    soul = Paragraphs(max_length=SOUL_LENGTH, **_given(allow_blank=True, help_text="The system prompt."))
    recommended_models = _labels(16, LABEL, **_given(help_text="Model ids, the best first; GET /models lists them."))


class DraftPersonaSerializer(PatchPersonaSerializer):
    """A draft needs only a name; what is needed to publish it may follow with PATCH."""

    name = Line(max_length=NAME)


def _fits_bytes(text: str) -> None:
    size = len(text.encode())
    if size > ARTICLE_LENGTH:
        raise serializers.ValidationError(f"has {size} bytes; at most {ARTICLE_LENGTH}")


def _is_slug(text: str) -> None:
    if not is_slug(text):
        raise serializers.ValidationError("must be lowercase letters, digits and single hyphens between them")


def _body(**kwargs: Any) -> Paragraphs:
    return Paragraphs(
        max_length=ARTICLE_LENGTH,
        validators=[_fits_bytes],
        help_text=f"Markdown, at most {ARTICLE_LENGTH} bytes of UTF-8, {HTML_SIZE} bytes of the HTML made of it and"
        f" {PARTS} parts of Markdown: paragraphs, list items and table cells, most of which count as three. Reading it"
        f" may take {STEPS} steps; prose takes some 15000.",
        **kwargs,
    )


class PatchArticleSerializer(Serializer):
    """What is absent stays as it is. The slug is for good."""

    title = Line(max_length=LABEL, **_given())
    summary = Paragraphs(max_length=SENTENCES, **_given(allow_blank=True))
    lang = Choice(choices=ArticleLang.values, **_given())
    status = Choice(choices=ArticleStatus.values, **_given(help_text="published: visitors of the persona see it."))
    body = _body(required=False)


class WriteArticleSerializer(PatchArticleSerializer):
    slug = Line(
        max_length=ID_LENGTH,
        validators=[_is_slug],
        required=False,
        help_text="Its place in the URL; made from the title when it is not given.",
    )
    title = Line(max_length=LABEL)
    lang = Choice(choices=ArticleLang.values)
    status = Choice(choices=ArticleStatus.values, required=False, help_text="draft when not given.")
    body = _body()


class RenameAuthorSerializer(Serializer):
    name = Name(max_length=NAME_LENGTH)


# Envelopes.


PersonaEnvelope = envelope("PersonaEnvelope", persona=PersonaSerializer())


class OwnPersonaPageSerializer(Serializer):
    persona = PersonaSerializer()
    articles = ArticleInfoSerializer(many=True, help_text="Drafts too, newest first, without their bodies.")


class ArticleSerializer(ArticleInfoSerializer):
    body = serializers.CharField(help_text="Markdown.")


ArticleEnvelope = envelope("ArticleEnvelope", article=ArticleSerializer())


class AuthorSerializer(Serializer):
    id = serializers.CharField(source="user_id", help_text="The `authorId` of their personas.")
    name = serializers.CharField(help_text="Display name, the `author` of their personas.")


AuthorEnvelope = envelope("AuthorEnvelope", author=AuthorSerializer())
