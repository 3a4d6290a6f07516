"""A node that knows the leader and cannot reach it says so at /readyz, and is ready again when it can.

A load balancer that trusts /readyz would otherwise go on to send clients to a node that refuses all of them.
"""

import argparse
import json
import shutil
import sys
import urllib.error
import urllib.request

from lab import Lab, wait_until


def ask_status(node, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{node.status}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def why_not_ready(node):
    status, body = ask_status(node, "/readyz")
    return "" if status == 200 else json.loads(body)["reason"]


def is_refused(node):
    """Whether a client of this node is refused."""
    try:
        node.ask("/v1/locks")
        return False
    except (OSError, ValueError):
        return True


def served(node):
    page = ask_status(node, "/metrics")[1]
    return next(line for line in page.splitlines() if line.startswith("holdfast_cluster_served "))


def check_unreachable_leader(lab):
    follower, leader = lab.follower(), lab.leader()
    line = lab.peer_lines[lab.nodes.index(leader)]
    wait_until(lambda: not why_not_ready(follower), "the follower is ready")
    assert served(follower) == "holdfast_cluster_served 1"
    lab.proxies.stall([line], True)
    wait_until(lambda: is_refused(follower) or why_not_ready(follower), "a connection is given back")
    wait_until(lambda: "cannot be passed on" in why_not_ready(follower), "the follower is not ready")
    assert served(follower) == "holdfast_cluster_served 0"
    assert not why_not_ready(leader), why_not_ready(leader)
    lab.proxies.stall([line], False)
    wait_until(lambda: not why_not_ready(follower), "the follower is ready again")
    assert not is_refused(follower)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holdfast", required=True)
    options = parser.parse_args()
    if shutil.which("etcd") is None:
        print("*** SKIPPED: there is no etcd here (apt-get install etcd-server): readiness of nodes is not tested ***")
        return 77
    lab = Lab(options.holdfast)
    try:
        lab.start()
        check_unreachable_leader(lab)
    finally:
        lab.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
