#!/usr/bin/env python3
"""The alerts and the board of packaging/monitoring: promtool accepts the rules, every alert is tested, and every metric is
one that the server exports.

    monitoring_test.py HOLDFAST [unittest's arguments]
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.request

import yaml

import typed

HOLDFAST = ""
PLACE = typed.REPOSITORY / "packaging/monitoring"
PAGE = typed.REPOSITORY / "docs/production/monitoring.md"
OWN_METRICS = r"\b(?:holdfast|locks?)_[a-z_]+"


def rules():
    groups = yaml.safe_load((PLACE / "holdfast.rules.yml").read_text(encoding="utf-8"))["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def read_board():
    return json.loads((PLACE / "holdfast.board.json").read_text(encoding="utf-8"))


def queries_of(board):
    return [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]


def fetch(url, token=None):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(request, timeout=typed.PATIENCE_S) as answer:
        return answer.read().decode()


def series_of(exposition):
    """The names of series in a text for Prometheus, as a query writes them."""
    return set(re.findall(r"^([a-z_]+)(?:\{| )", exposition, re.M))


class Monitoring(unittest.TestCase):
    def exported(self):
        """What a server with every door exports, and a node of a cluster."""
        room = typed.Room(HOLDFAST)
        self.addCleanup(room.clean_up)
        (room.desk / "token").write_text("secret\n")
        server = typed.Server(room, "holdfast serve --memory --files-root files --files-quota 1000 --auth-token-file token")
        self.addCleanup(server.close)
        terminal = typed.Terminal(room)
        self.addCleanup(terminal.close)
        terminal.type("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=peers"
                      " -keyout peer.key -out peer.pem 2> openssl.log\n" + typed.ETCD)
        node = typed.Server(room, "holdfast serve --cluster etcd://127.0.0.1:2379/x --node a --http 127.0.0.1:9003"
                                  " --dflockd none --peer 127.0.0.1:9004 --status 127.0.0.1:9005"
                                  " --peer-cert peer.pem --peer-key peer.key --peer-ca peer.pem")
        self.addCleanup(node.close)
        names = series_of(fetch(f"http://{room.address}:8080/metrics", "secret"))
        return names | series_of(fetch(f"http://{room.address}:9005/metrics"))

    def test_the_rules_are_valid_and_do_what_their_tests_say(self):
        for command in (["check", "rules", "holdfast.rules.yml"], ["test", "rules", "holdfast.rules.test.yml"]):
            ran = subprocess.run(["promtool", *command], cwd=PLACE, capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_every_alert_is_tested_and_explained(self):
        tests = yaml.safe_load((PLACE / "holdfast.rules.test.yml").read_text(encoding="utf-8"))["tests"]
        fired = {re.search(r'"(\w+)"', sample["labels"]).group(1)
                 for test in tests for query in test["promql_expr_test"] for sample in query["exp_samples"]}
        self.assertEqual(fired, set(rules()))
        explained = re.findall(r"^\| `(Holdfast\w+)` \|", PAGE.read_text(encoding="utf-8"), re.M)
        self.assertEqual(explained, list(rules()))

    def test_the_queries_of_the_board_can_be_read(self):
        queries = [query.replace("$__rate_interval", "5m").replace("$", "") for query in queries_of(read_board())]
        self.assertGreater(len(queries), 30)
        group = {"name": "board", "rules": [{"record": f"query_{place}", "expr": query} for place, query in enumerate(queries)]}
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            yaml.safe_dump({"groups": [group]}, file)
            file.flush()
            ran = subprocess.run(["promtool", "check", "rules", file.name], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_every_metric_is_exported(self):
        queries = queries_of(read_board()) + [variable["query"] for variable in read_board()["templating"]["list"]]
        queries += [rule["expr"] for rule in rules().values()]
        exported = self.exported()
        named = {name for query in queries for name in re.findall(OWN_METRICS, query)}
        self.assertEqual(named - exported, set())

    def test_the_panels_of_the_board_do_not_overlap(self):
        panels = read_board()["panels"]
        taken = set()
        for panel in panels:
            place = panel["gridPos"]
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(taken & cells, panel["title"])
            self.assertLessEqual(place["x"] + place["w"], 24)
            taken |= cells
        ids = [panel["id"] for panel in panels]
        self.assertEqual(len(ids), len(set(ids)))


if __name__ == "__main__":
    HOLDFAST = os.path.abspath(sys.argv.pop(1))
    unittest.main()
