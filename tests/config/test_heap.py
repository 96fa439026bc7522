from __future__ import annotations

import gc

from config import heap


def test_what_is_loaded_by_the_start_is_never_walked_again() -> None:
    before = gc.get_freeze_count()
    try:
        heap.settle()
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()
