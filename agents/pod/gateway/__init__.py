"""The gateway: the pod's public side, and the only process that has the model key. One process serves management, key
proxy and public page.
"""
