"""The pages behind the sign-in: the account, its agents, its personas, its payments.

`base` has what they share. The pages use the session cookie (`visitors`) and never a bearer token, and call the same
rules as the API. Templates are in templates/account/, styles and scripts in billing/static/.
"""
