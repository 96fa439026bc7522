"""The programs of `make run`: what starts, in which order, as which user, and how everything stops together."""
