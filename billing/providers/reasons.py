"""Why a licence does not pay, in words that several providers use. The API sends them as they are; pages translate."""

from django.utils.translation import gettext_noop

NOT_OURS = gettext_noop("this key is for a product that is not sold here")
NO_PLAN = gettext_noop("this licence is not of one of our plans")
NOT_RENEWED = gettext_noop("the last renewal was not paid")
USED_UP = gettext_noop("every activation of this licence is used; deactivate it where it was used before")
