"""The egress broker: a forward proxy for the engine. It keeps the list of allowed hosts, adds secrets that the engine
never holds, and counts which hosts were asked.
"""
