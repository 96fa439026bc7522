"""Why nothing can be ordered with Pennies."""

from __future__ import annotations

from django.utils.translation import gettext_noop

AWAY = gettext_noop("Pennies does not answer at the moment. Nothing was ordered: try again soon.")
