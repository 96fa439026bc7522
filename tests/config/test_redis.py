from config.redis import client, client_url


def test_a_socket_url_of_celery_is_one_of_the_client() -> None:
    assert client_url("redis+socket:///run/redis.sock?virtual_host=3") == "unix:///run/redis.sock?db=3"


def test_a_network_url_stays_as_it_is() -> None:
    assert client_url("redis://127.0.0.1:6379/1") == "redis://127.0.0.1:6379/1"


def test_the_client_reaches_the_server() -> None:
    assert client().ping()
