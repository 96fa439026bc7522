"""The product's settings, with the URLs of benchmarks/baseline/probes.py."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "benchmarks.baseline.probes"
