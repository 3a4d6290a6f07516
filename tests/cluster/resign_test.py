"""`holdfast cluster resign`, asked through every node: it says who has handed over.

A node that is not the leader passes the request on, and loses the connection when the leader has handed over.
"""

import argparse
import json
import shutil
import subprocess
import sys

from lab import Lab


def resign_through(lab, node, *options):
    before = lab.nodes[0].ask("/v1/cluster")
    ran = subprocess.run([node.command[0], "cluster", "resign", "--server", f"127.0.0.1:{node.http}", *options],
                         capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, (node.name, ran)
    lab.wait_for_service()
    after = lab.nodes[0].ask("/v1/cluster")
    assert after["epoch"] == before["epoch"] + 1, (before, after)
    return ran.stdout, f"node {before['leader']} has handed over"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holdfast", required=True)
    options = parser.parse_args()
    if shutil.which("etcd") is None:
        print("*** SKIPPED: there is no etcd here (apt-get install etcd-server): handing over is not tested ***")
        return 77
    lab = Lab(options.holdfast, uses_proxies=False)
    try:
        lab.start()
        for node in lab.nodes * 2:
            said, expected = resign_through(lab, node)
            assert said.startswith(expected), (said, expected)
        said, expected = resign_through(lab, lab.follower(), "--json")
        assert json.loads(said)["done"].startswith(expected), (said, expected)
    finally:
        lab.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
