"""Removes secrets from the headers of an answer before the engine gets them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from multidict import MultiMapping

from agents.pod.masking import MASK, mask_text


def masked(headers: MultiMapping[str], secrets: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The names and values. A header whose name has a secret is left out: no name may have a mask's brackets."""
    lowered = [secret.lower() for secret in secrets]  # names are the same in both cases, and some clients change it
    for name, value in headers.items():
        if mask_text(name.lower(), lowered) == name.lower():
            yield name, _masked(value, secrets)


def _masked(value: str, secrets: Sequence[str]) -> str:
    """A value that came folded in several lines (RFC 9112 section 5.2) has white space where it was folded. If a secret
    is there without it, nothing of the value is shown.
    """
    shown = mask_text(value, secrets)
    joined = _joined(shown)
    return shown if joined == shown or mask_text(joined, map(_joined, secrets)) == joined else MASK


def _joined(text: str) -> str:
    return "".join(text.split())
