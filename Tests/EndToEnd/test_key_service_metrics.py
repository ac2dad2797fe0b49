"""The metrics of vault-key-service, read by a strict parser for Prometheus."""

import re

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families
from support.services import KeyService

STRONG = "cv1." + "A" * 43


@pytest.fixture
def service(tmp_path, children):
    service = KeyService(tmp_path, "--health-listen", "127.0.0.1:0", "--creates-per-hour", "2")
    children.append(service)
    service.health = service.program.wait_for(re.compile(r"^Health on (http://\S+)$", re.M))[1]
    return service


def metrics(service):
    """Returns the value of each series, by its name and labels."""
    answer = requests.get(f"{service.health}/metrics", timeout=10)
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    families = list(text_string_to_metric_families(answer.text))
    names = [family.name for family in families]
    assert len(names) == len(set(names)) and all(family.documentation for family in families)
    return {(sample.name.removeprefix("vault_key_service_"), *sample.labels.values()): sample.value
            for family in families for sample in family.samples}


def post(service, call, **body):
    return requests.post(f"{service.url}/keyservice/v1/{call}", json=body, timeout=30).status_code


def test_the_metrics_tell_what_happened(service):
    before = metrics(service)
    key = requests.post(f"{service.url}/keyservice/v1/createkey", json={"secret": STRONG}, timeout=30).json()["keyid"]
    assert post(service, "createkey", secret="1234") == 200
    assert post(service, "createkey", secret="1234") == 503
    assert post(service, "key", keyid=key, secret=STRONG) == 200
    assert [post(service, "key", keyid=key, secret="cv1." + "B" * 43) for _ in range(4)] == [401, 401, 401, 403]
    assert requests.get(f"{service.url}/readyz", timeout=10).status_code == 200
    assert requests.get(f"{service.url}/nothing", timeout=10).status_code == 404
    after = metrics(service)
    risen = {name: after[name] - before.get(name, 0) for name in after}
    for name, value in {
        ("requests_total", "createkey", "200"): 2, ("requests_total", "createkey", "503"): 1,
        ("requests_total", "key", "200"): 1, ("requests_total", "key", "401"): 3, ("requests_total", "key", "403"): 1,
        ("requests_total", "none", "404"): 1, ("request_duration_seconds_count", "key"): 5,
        ("guesses_total", "right"): 1, ("guesses_total", "wrong"): 3, ("guesses_total", "locked"): 1,
        ("creates_refused_total", "address"): 1, ("creates_refused_total", "total"): 0,
        ("connections_refused_total",): 0, ("log_lines_dropped_total",): 0, ("argon2_requests_in_flight",): 0,
    }.items():
        assert risen[name] == value, name
    assert after["ready",] == 1 and risen["commit_batch_size_count",] > 0 and risen["commit_duration_seconds_sum",] > 0
    assert risen["commit_batch_size_sum",] >= 5
    assert 1e6 < after["process_resident_memory_bytes",] < 1e9
    assert after["process_start_time_seconds",] > 1.7e9 and after["checked_in_seconds",] > 1.7e9


def test_nothing_that_a_client_sends_adds_a_series(service):
    before = set(metrics(service))
    for number in range(50):
        requests.request(f"X{number}", f"{service.url}/path{number}", headers={"User-Agent": f"a{number}"}, timeout=10)
        post(service, "key", keyid=f"id{number}", secret="1")
    assert set(metrics(service)) == before
