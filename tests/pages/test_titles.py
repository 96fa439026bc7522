"""A page's heading repeats its title."""

from __future__ import annotations

from django.template import engines

PAGE = '{% extends "account/page.html" %}{% block title %}{{ name }}{% endblock title %}'


def test_a_heading_says_what_the_title_says_and_is_escaped_once() -> None:
    page = engines["django"].from_string(PAGE).render({"name": "<b>Ada</b> & co"})
    assert "<title>&lt;b&gt;Ada&lt;/b&gt; &amp; co · Agentpods</title>" in page
    assert "<h1>&lt;b&gt;Ada&lt;/b&gt; &amp; co</h1>" in page
