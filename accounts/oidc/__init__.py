"""Sign-in of operators with an OpenID Connect provider.

`provider.py` talks to the provider and checks what it says. `people.py` decides who gets in, and with which roles.
`http.py` limits the calls.
"""
