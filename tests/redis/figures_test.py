"""Locks of the Redis door are in the figures, and the alert that watches them: FILE HOLDFAST [unittest's arguments]."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import server
from hostile_scripts_test import Client

RULES = pathlib.Path(__file__).resolve().parents[2] / "packaging/monitoring/holdfast.rules.yml"
RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
EXTEND = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0"

# The server's counters of an hour, a minute at a time, and whether the alert fires.
PROMTOOL_TEST = """
rule_files: [{rules}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {{series: 'lock_expired_total{{job="holdfast",instance="one"}}', values: 0+{expired}x60}}
      - {{series: 'lock_acquire_total{{job="holdfast",instance="one",result="success"}}', values: 0+{granted}x60}}
    promql_expr_test:
      - expr: count by (alertname) (ALERTS{{alertname="HoldfastLeasesExpire",alertstate="firing"}})
        eval_time: 1h
        exp_samples: [{fires}]
"""


class Figures(unittest.TestCase):
    def setUp(self):
        self.server = server.Holdfast("--memory")
        self.addCleanup(self.server.stop)
        self.client = Client(self.server.port)
        self.addCleanup(self.client.close)

    def metric(self, name):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.server.http_port}/metrics", timeout=server.PATIENCE_S) as page:
            return int(re.search(rf"^{re.escape(name)} (\d+)$", page.read().decode(), re.M).group(1))

    def lock_and_release(self, times):
        for number in range(times):
            self.assertEqual(self.client.ask("SET", f"k{number}", "me", "NX", "PX", 60_000), "+OK")
            self.assertEqual(self.client.ask("EVAL", EXTEND, 1, f"k{number}", "me", 90_000), ":1")
            self.assertEqual(self.client.ask("EVAL", RELEASE, 1, f"k{number}", "me"), ":1")

    def let_expire(self, times):
        expired = self.metric("lock_expired_total")
        for number in range(times):
            self.assertEqual(self.client.ask("SET", f"lost{number}", "me", "NX", "PX", 1), "+OK")
        deadline = time.monotonic() + server.PATIENCE_S
        while self.metric("lock_expired_total") < expired + times:
            self.assertLess(time.monotonic(), deadline)

    def assert_alert(self, fires):
        """The alert, if a minute is as what has happened so far."""
        sample = "{labels: '{alertname=\"HoldfastLeasesExpire\"}', value: 1}" if fires else ""
        with tempfile.TemporaryDirectory() as folder:
            test = pathlib.Path(folder) / "test.yml"
            test.write_text(PROMTOOL_TEST.format(
                rules=RULES, fires=sample, expired=self.metric("lock_expired_total"),
                granted=self.metric('lock_acquire_total{result="success"}')), encoding="ascii")
            run = subprocess.run(["promtool", "test", "rules", test], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_grants_renewals_and_releases_are_counted(self):
        self.lock_and_release(5)
        self.assertEqual(self.metric('lock_acquire_total{result="success"}'), 5)
        self.assertEqual(self.metric('lock_renew_total{result="success"}'), 5)
        self.assertEqual(self.metric('lock_release_total{result="success"}'), 5)
        self.assertEqual(self.server.get("/v1/status")["figures"]["grants"], 5)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_the_shipped_alert_knows_the_leases_that_did_not_expire(self):
        self.lock_and_release(40)
        self.let_expire(2)
        self.assert_alert(fires=False)
        self.let_expire(20)
        self.assert_alert(fires=True)


if __name__ == "__main__":
    server.PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
