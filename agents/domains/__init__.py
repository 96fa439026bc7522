"""A customer's own hostname for an agent: which account may have the name, whether it serves, and where its DNS leads.

`names` says which names are allowed, `records` what DNS says of a name, `claims` which account holds it. `observing`
looks at names again from time to time, `check` is the answer to a caller, and `certificates` answers the program in
front of router and web.
"""
