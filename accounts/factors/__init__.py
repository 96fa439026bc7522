"""Second factors of operators: authenticator apps (TOTP), passkeys (WebAuthn) and recovery codes.

`app.py`, `passkey.py` and `recovery.py` know one kind each. `checking.py` decides whether what a person gave is right,
and limits wrong tries. `changing.py` adds, removes and resets factors.
"""
