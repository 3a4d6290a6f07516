"""A new epoch on the real program: one client renews at the old leader, and another asks for the lock at the new one."""

import argparse
import json
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from lab import Lab, wait_until

TTL_MS = 4000


def send(node, method, path, body=None, seconds=5):
    """The status and the answer; 0 if there is none."""
    request = urllib.request.Request(f"http://127.0.0.1:{node.http}{path}", method=method,
                                     data=None if body is None else json.dumps(body).encode(),
                                     headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, {}
    except (OSError, ValueError):
        return 0, {}


def ask_for(node, holder):
    return send(node, "POST", "/v1/leases", {"scope": {"kind": "named", "name": "x"}, "holder": holder, "duration_ms": TTL_MS})


class Asking(threading.Thread):
    """Asks for the lock at the other nodes, again and again, and looks who says that it leads."""

    def __init__(self, lab):
        super().__init__(daemon=True)
        self.lab, self.is_over, self.grants, self.leaders = lab, threading.Event(), [], []

    def run(self):
        while not self.is_over.is_set():
            for node in self.lab.nodes:
                status, _ = ask_for(node, "b")
                if status in (200, 201):
                    self.grants.append(node.name)
            self.leaders.append([node.name for node in self.lab.nodes if node.look().get("role") == "leading"])
            time.sleep(0.02)


def hold_over_a_new_epoch(lab):
    leader = lab.leader()
    status, lease = ask_for(leader, "a")
    assert status in (200, 201), (status, lease)
    before = lab.nodes[0].ask("/v1/cluster")
    asking = Asking(lab)
    asking.start()
    time.sleep(0.5)
    done = leader.ask("/v1/cluster/new-epoch", method="POST")
    began = time.monotonic()
    renewed = []
    while time.monotonic() < began + 10:
        status, _ = send(leader, "POST", f"/v1/leases/{lease['token']}/renew", {})
        if status == 200:
            renewed.append(time.monotonic() - began)
        time.sleep(0.1)
    asking.is_over.set()
    asking.join()
    after = lab.nodes[0].ask("/v1/cluster")
    print(f"{done['done']}; {before['leader']} led, and {after['leader']} leads in epoch {after['epoch']}; {len(renewed)} renewals, "
          f"the first after {renewed[0]:.2f} s; {len(asking.leaders)} rounds of asking")
    assert after["epoch"] >= before["epoch"] + 1_000_000, (before, after)
    assert after["leader"] != before["leader"], (before, after)
    assert asking.grants == [], f"the lock was granted twice, by {asking.grants}"
    assert len(renewed) > 20 and renewed[-1] > 9, renewed
    # One after the other is asked, so two may be seen in one round, while the lead changes.
    doubled = [at for at, names in enumerate(asking.leaders) if len(names) > 1]
    assert len(doubled) <= 1, f"two nodes said that they lead, in the rounds {doubled} of {len(asking.leaders)}"


def begin_through_every_node(lab):
    """The leader gives up the lead before it answers, and with it connections that were passed on."""
    for node in lab.nodes:
        wait_until(node.is_ready, f"node {node.name} is ready")
        before = lab.nodes[0].ask("/v1/cluster")["epoch"]
        ran = subprocess.run([node.command[0], "cluster", "new-epoch", "--yes", "--server", f"127.0.0.1:{node.http}"],
                             capture_output=True, text=True, timeout=120)
        assert ran.returncode == 0 and "epoch" in ran.stdout, (node.name, ran)
        lab.wait_for_service()
        after = lab.nodes[0].ask("/v1/cluster")["epoch"]
        assert before + 1_000_000 < after < before + 2_000_000, (before, after)


def every_node_serves(lab):
    """With the new secret, which no node was restarted for."""
    for node in lab.nodes:
        wait_until(lambda node=node: send(node, "GET", "/v1/cluster")[0] == 200, f"node {node.name} passes connections on")
        assert node.is_alive()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holdfast", required=True)
    options = parser.parse_args()
    if shutil.which("etcd") is None:
        print("*** SKIPPED: there is no etcd here (apt-get install etcd-server): a new epoch is not tested ***")
        return 77
    lab = Lab(options.holdfast, uses_proxies=False)
    try:
        lab.start()
        secret = lab.etcd.find("holdfast/secret")["value"]
        hold_over_a_new_epoch(lab)
        assert lab.etcd.find("holdfast/secret")["value"] != secret
        every_node_serves(lab)
        begin_through_every_node(lab)
    finally:
        lab.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
