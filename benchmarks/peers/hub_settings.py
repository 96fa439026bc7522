"""JupyterHub's own configuration file: `jupyterhub --config hub_settings.py`. It is not imported by ours.

Its defaults, but: no log of each request (ours writes none here either), and no limit below what is measured.
"""

import os
from typing import Any

c: Any = get_config()  # type: ignore[name-defined] # noqa: F821 # JupyterHub gives it

home = os.environ["HUB_HOME"]
c.JupyterHub.log_level = "ERROR"
c.JupyterHub.bind_url = os.environ["HUB_URL"]
c.JupyterHub.hub_port = int(os.environ["HUB_PORT"])
c.JupyterHub.db_url = f"sqlite:///{home}/jupyterhub.sqlite"
c.JupyterHub.cookie_secret_file = f"{home}/cookie-secret"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.spawner_class = os.environ["HUB_SPAWNER"]
c.JupyterHub.api_page_max_limit = 200
c.JupyterHub.services = [{"name": "benchmark", "api_token": os.environ["HUB_TOKEN"]}]
c.JupyterHub.load_roles = [
    {"name": "benchmark", "scopes": ["admin:users", "admin:servers", "list:users"], "services": ["benchmark"]}
]
c.ConfigurableHTTPProxy.command = [os.environ["HUB_PROXY"]]
c.ConfigurableHTTPProxy.api_url = os.environ["HUB_PROXY_API"]
c.ConfigurableHTTPProxy.pid_file = f"{home}/proxy.pid"
c.SimpleLocalProcessSpawner.home_dir_template = f"{home}/{{username}}"
c.Spawner.args = ["--allow-root"]
c.Spawner.http_timeout = int(os.environ.get("HUB_HTTP_TIMEOUT", "30"))  # 30 is the default
# The pods of the cluster's double run no program. One that answers is on this machine.
c.KubeSpawner.pod_connect_ip = "127.0.0.1"
c.KubeSpawner.port = int(os.environ.get("HUB_POD_PORT", "0"))
