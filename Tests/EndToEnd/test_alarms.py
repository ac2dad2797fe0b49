"""The alarms of the key service: the rules for Prometheus, the handbook's table, and the metrics of a service."""

import re
import shutil
import sys

import pytest
from support.programs import ROOT, run
from test_key_service_metrics import metrics, service  # noqa: F401 (a fixture)

CHECK = ROOT / "Tests" / "alarms.py"
RULES = (ROOT / "Sources" / "Packaging" / "vault-key-service.rules.yml").read_text()


def check(*arguments):
    assert shutil.which("promtool"), "promtool is not installed (Debian's package prometheus)"
    return run([sys.executable, CHECK, *arguments])


def test_the_handbook_shows_the_rules_and_each_rule_works():
    assert check().status == 0, check()


# Proves that the check can fail.
@pytest.mark.parametrize("old, new, complaint", [
    ("The audit log cannot be written.", "The log cannot be written.", "the table is not that of the rules"),
    ("      - alert: KeyServiceBusy\n", "      - alert: KeyServiceLate\n", "lacks the alarm KeyServiceLate"),
    ("        for: 1m\n", "        for: soon\n", "not of the form"),
    ("connections_open > 0.8", "connections_open > 0.81", "KeyServiceConnections"),
    ("connections_open > 0.8 *", "connections_open > *", "parse error"),
])
def test_a_wrong_rule_is_found(tmp_path, old, new, complaint):
    rules = tmp_path / "rules.yml"
    assert old in RULES
    rules.write_text(RULES.replace(old, new, 1))
    result = check(rules)
    assert result.status == 1 and complaint in result.err, result


def test_the_service_has_each_metric_of_the_rules(service):  # noqa: F811
    named = set(re.findall(r"vault_key_service_(\w+)", "".join(re.findall(r"expr:(?:.*\n)(?: {10}.*\n)*", RULES))))
    assert len(named) > 10
    there = {series[0] for series in metrics(service)}
    assert named - there == set()
