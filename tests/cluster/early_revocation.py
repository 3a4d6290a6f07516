#!/usr/bin/env python3
"""Measures for how long two nodes answer when etcd ends the lease of a leader that lives.

    early_revocation.py --holdfast build/release/holdfast --rounds 10

An etcd before 3.4.33, and 3.5.0 to 3.5.12, does so when a member that led was paused and goes on. In each round the member that
leads etcd is stopped for longer than the TTL, and goes on. All the while each node is asked whether it leads. Prints, for each
round: whether the lead changed when the member went on, and for how long two nodes said that they lead. This is no test: whether
etcd breaks its word depends on the moment.
"""

import argparse
import random
import signal
import sys
import threading
import time

from lab import Lab, wait_until

TTL_SECONDS = 3
STOPPED_SECONDS = 7


class Looking(threading.Thread):
    """Asks one node, again and again, in which epoch it leads."""

    def __init__(self, node):
        super().__init__(daemon=True)
        self.node, self.is_over, self.seen = node, threading.Event(), []

    def run(self):
        while not self.is_over.is_set():
            sent = time.monotonic()
            picture = self.node.look()
            if picture.get("role") == "leading":
                self.seen.append((sent, time.monotonic(), picture["epoch"]))
            time.sleep(0.005)


def leading_member(lab):
    """The index of the member that leads etcd."""
    for index, port in enumerate(lab.client_ports):
        status = lab.etcd.ask("maintenance/status", {}, port)
        if status.get("leader") == status["header"]["member_id"]:
            return index
    return None


def overlap(first, second):
    """Between an answer of the new leader and the last question that the old one, in its older epoch, said yes to."""
    return max(0.0, first[-1][1] - second[0][0])


def one_round(lab):
    lab.wait_for_service()
    wait_until(lambda: leading_member(lab) is not None, "etcd has a leader")
    member = lab.members[leading_member(lab)]
    lookers = [Looking(node) for node in lab.nodes]
    for looker in lookers:
        looker.start()
    member.signal(signal.SIGSTOP)
    time.sleep(STOPPED_SECONDS)
    before = lab.leader()
    epoch = before.look().get("epoch") if before else None
    member.signal(signal.SIGCONT)
    time.sleep(3)
    for looker in lookers:
        looker.is_over.set()
    for looker in lookers:
        looker.join()
    by_epoch = {}
    for looker in lookers:
        for sighting in looker.seen:
            by_epoch.setdefault(sighting[2], []).append(sighting)
    if epoch is None or max(by_epoch) == epoch:
        return None
    return overlap(sorted(by_epoch[epoch]), sorted(by_epoch[min(each for each in by_epoch if each > epoch)]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holdfast", required=True)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    lab = Lab(options.holdfast, ttl=f"{TTL_SECONDS}s", uses_proxies=False)
    try:
        lab.start()
        windows = []
        for number in range(options.rounds):
            window = one_round(lab)
            if window is None:
                print(f"  round {number + 1}: etcd kept the lease", flush=True)
                continue
            windows.append(window)
            print(f"  round {number + 1}: etcd ended the lease; two nodes led for {window:.3f} s at most", flush=True)
            time.sleep(random.uniform(0, 0.5))
        print(f"{len(windows)} of {options.rounds} rounds ended a lease that lived; the longest window was "
              f"{max(windows, default=0):.3f} s")
    finally:
        lab.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
