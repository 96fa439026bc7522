"""The programs of `make run`: what starts, in which order, under which user, and how all of it ends together."""
