"""The router: leads a request from an agent's hostname to its pod's public listener. In clusters the ingress does
this."""
