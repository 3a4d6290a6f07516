#!/usr/bin/env python3
"""A cluster beside etcd's own locks on the same etcd, in turns, and how long nobody serves when something dies.

    bench/cluster.py --holdfast build/bench/holdfast --load build/bench/bin/bench_cluster_load

Prints Markdown. Three members of etcd, three nodes and the clients share this machine: read the ratios.
"""

import argparse
import json
import pathlib
import socket
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/cluster"))

from lab import Lab, wait_until  # noqa: E402


def measure(load, where, clients, names, seconds, *more):
    command = [load, *where, "--clients", str(clients), "--names", str(names), "--seconds", str(seconds), *more]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def in_turns(options, lab, clients, names, *etcd_flags):
    """The medians of holdfast and etcd, and of the ratios of each round."""
    leader = lab.leader()
    holdfast = ["--dflockd", f"127.0.0.1:{leader.dflockd}"]
    etcd = ["--etcd", ",".join(f"127.0.0.1:{port}" for port in lab.client_ports)]
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(measure(options.load, holdfast, clients, names, options.seconds))
        theirs.append(measure(options.load, etcd, clients, names, options.seconds, *etcd_flags))
    median = lambda rounds, what: statistics.median(each[what] for each in rounds)
    ratio = lambda what: statistics.median(a[what] / b[what] for a, b in zip(ours, theirs))
    return median, ours, theirs, ratio


def print_load(options, lab):
    print("| clients, locks | | cycles/s | p50 ms | p99 ms | cycles, ratio | p50, ratio |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for clients, names, title, flags in [(80, 0, "80, own names", []), (80, 8, "80, 8 names", []),
                                         (1, 0, "1; etcd: two transactions", ["--plain"])]:
        median, ours, theirs, ratio = in_turns(options, lab, clients, names, *flags)
        for who, rounds in (("holdfast", ours), ("etcd", theirs)):
            ratios = f"{ratio('cycles'):.1f} | {ratio('p50'):.2f}" if who == "holdfast" else "|"
            print(f"| {title} | {who} | {median(rounds, 'cycles'):.0f} | {median(rounds, 'p50'):.2f} | "
                  f"{median(rounds, 'p99'):.2f} | {ratios} |", flush=True)


class Probe:
    """Asks for locks through the nodes that are not killed, all the time, and remembers when it got one."""

    def __init__(self, nodes):
        self.nodes, self.times, self.is_over = nodes, [], False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        number = 0
        while not self.is_over:
            node = self.nodes[number % len(self.nodes)]
            number += 1
            try:
                with socket.create_connection(("127.0.0.1", node.dflockd), timeout=1) as line:
                    line.settimeout(1)
                    answers = line.makefile("r")
                    for round_ in range(50):
                        line.sendall(f"l\nprobe-{number}-{round_}\n0 5\n".encode())
                        if not answers.readline().startswith("ok"):
                            break
                        self.times.append(time.monotonic())
                        time.sleep(0.005)
            except OSError:
                pass
            time.sleep(0.005)

    def longest_gap(self, since):
        times = [since, *(each for each in self.times if each > since)]
        return max(after - before for before, after in zip(times, times[1:]))


def gap_of(lab, end, seconds=8):
    """The longest time without a grant after `end(leader)`."""
    lab.wait_for_service()
    leader = lab.leader()
    probe = Probe([node for node in lab.nodes if node is not leader])
    time.sleep(1)
    since = time.monotonic()
    end(leader)
    time.sleep(seconds)
    probe.is_over = True
    probe.thread.join()
    return probe.longest_gap(since)


def etcd_leader(lab):
    for member, port in zip(lab.members, lab.client_ports):
        endpoint = subprocess.run(["etcdctl", "--endpoints", f"127.0.0.1:{port}", "endpoint", "status", "-w", "json"],
                                  capture_output=True, text=True, env={"ETCDCTL_API": "3", "PATH": "/usr/bin"}, check=True)
        status = json.loads(endpoint.stdout)[0]["Status"]
        if status["leader"] == status["header"]["member_id"]:
            return member
    raise RuntimeError("etcd has no leader")


def print_gaps(options, lab):
    def kill(node):
        node.kill()

    def resign(node):
        node.ask("/v1/cluster/resign", method="POST")

    def kill_etcd(_node):
        member = etcd_leader(lab)
        member.kill()
        stopped.append(member)

    stopped = []
    print()
    print("| without service, the longest gap | seconds, median of the rounds | largest |")
    print("|---|--:|--:|")
    for title, end in [("the leader hands over", resign), ("the leader is killed (-9), TTL 3 s", kill),
                       ("the leader of etcd is killed (-9)", kill_etcd)]:
        gaps = []
        for _ in range(options.rounds):
            gaps.append(gap_of(lab, end))
            for process in [*lab.nodes, *stopped]:
                if not process.is_alive():
                    process.start()
            stopped.clear()
            time.sleep(2)
        print(f"| {title} | {statistics.median(gaps):.2f} | {max(gaps):.2f} |", flush=True)


def print_takeover(options, lab, locks=100_000):
    """How long a new leader reads many locks."""
    lab.wait_for_service()
    leader = lab.leader()
    connection = socket.create_connection(("127.0.0.1", leader.dflockd))
    answers = connection.makefile("r")
    for begin in range(0, locks, 1000):
        connection.sendall("".join(f"l\nmany-{n}\n0 600\n" for n in range(begin, begin + 1000)).encode())
        for _ in range(1000):
            assert answers.readline().startswith("ok")
    times = []
    for _ in range(options.rounds):
        leader = lab.leader()
        leader.ask("/v1/cluster/resign", method="POST")
        began = time.monotonic()
        others = [node for node in lab.nodes if node is not leader]
        wait_until(lambda: any(node.look().get("role") == "leading" for node in others), "another node leads")
        times.append(time.monotonic() - began)
        lab.wait_for_service()
        time.sleep(1)
    print()
    print(f"A new leader has {locks} locks {statistics.median(times):.2f} s after the old one has handed over "
          f"(median of {options.rounds}, the largest {max(times):.2f}).")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holdfast", required=True)
    parser.add_argument("--load", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    options = parser.parse_args()
    lab = Lab(options.holdfast, uses_proxies=False)
    try:
        lab.start()
        print_load(options, lab)
        print_gaps(options, lab)
        print_takeover(options, lab)
    finally:
        lab.stop()


if __name__ == "__main__":
    main()
