"""The baselines: what a plain Django project would do for the same answer, without any of our code in the request's way."""
