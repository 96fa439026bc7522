"""A person exports their data (`exports`), or deletes the account (`closing`).

Each app has a `personal` module: `exported` returns the person's data for the file, `erase` deletes it. The modules
here call all of them.
"""
