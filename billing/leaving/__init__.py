"""A person takes their data along (`exports`), or has the account deleted (`closing`).

What there is of a person each app says itself, in its `personal` module: `exported` is what goes into the file, `erase`
takes it away. The modules here call all of them.
"""
