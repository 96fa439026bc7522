"""The customer's own hostname of an agent: who may have it, whether it serves, and where its DNS leads.

`names` says which names may be given, `records` what DNS says of one, `claims` who holds it, `observing` looks again in
time, `check` is what a caller is told, `certificates` answers the program in front of router and web.
"""
