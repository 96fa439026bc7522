"""The parts of the Kubernetes double (`tests/doubles/kube_api.py`)."""
