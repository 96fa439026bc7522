"""For a real worker, with `celery worker -I`: a sender of fifty slots. The goals with dead receivers are set for it."""

from webhooks import delivery_loop

delivery_loop.SLOTS = 50
delivery_loop.SLOW_SLOTS = delivery_loop.SLOTS // 4
