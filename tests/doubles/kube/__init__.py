"""The parts of the Kubernetes cluster of `tests/doubles/kube_api.py`."""
