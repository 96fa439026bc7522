"""The pages of an account: signing in, keys and agents, one agent, paying for it; in six languages.

One module per address, `base` for what they share. They take the cookie of `visitors` and never a bearer token; every
rule they call is the API's. Templates are in templates/account/, texts in templates/locale/ (`make translations`).
"""
