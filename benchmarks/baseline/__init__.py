"""The baselines: what a plain Django project does for the same answer, with none of our code in the request's way."""
