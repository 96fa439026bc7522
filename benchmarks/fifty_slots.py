"""For a real worker, with `celery worker -I`: a sender of fifty slots. The goals with dead receivers are set for it."""

from webhooks import draining

draining.SLOTS = 50
draining.SLOW_SLOTS = draining.SLOTS // 4
