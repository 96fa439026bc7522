"""The baselines: a plain Django project that gives the same answers, without our code between request and answer."""
