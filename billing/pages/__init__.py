"""The pages of an account, in six languages: sign-in, API keys, agents, payments.

One module per URL; `base` has what they share. The pages use the session cookie (`visitors`) and never a bearer token,
and call the same rules as the API. Templates are in templates/account/, texts in templates/locale/ (`make
translations`).
"""
