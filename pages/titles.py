"""`{% title_again %}` for templates: a page's title is also its heading."""

from __future__ import annotations

from django.template import Context, Library
from django.template.loader_tags import BLOCK_CONTEXT_KEY
from django.utils.safestring import SafeString, mark_safe

register = Library()


@register.simple_tag(takes_context=True)
def title_again(context: Context) -> SafeString:
    """The block `title` of the template that is rendered. The block has escaped its variables."""
    title: str = context.render_context[BLOCK_CONTEXT_KEY].get_block("title").render(context)
    return mark_safe(title.strip())  # noqa: S308
