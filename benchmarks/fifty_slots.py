"""For a real worker, by `celery worker -I`: a sender of fifty slots, for which the goals of dead receivers are set."""

from webhooks import draining

draining.SLOTS = 50
draining.SLOW_SLOTS = draining.SLOTS // 4
