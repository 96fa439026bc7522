"""Filters of the console's lists that operators save under a name, for themselves or for their colleagues.

`saving.py` has the rules, `dates.py` keeps dates like “Last 24 hours” moving, `pages.py` is what a list shows.
"""
