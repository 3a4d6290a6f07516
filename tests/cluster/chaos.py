#!/usr/bin/env python3
"""Faults for a cluster with clients at work, and the proof that nobody was told anything untrue.

    chaos.py --holdfast build/release/holdfast              each fault once
    chaos.py --holdfast build/release/holdfast --minutes 10 any of them, for so long
"""

import argparse
import random
import shutil
import signal
import sys
import time

from clients import DOORS
from history import History
from lab import Lab, wait_until

CLIENTS_PER_DOOR = 4


def kill_leader(lab):
    """the leader is killed, and comes back later"""
    return restart_later(lab, lab.leader(), lambda node: node.kill())


def kill_follower(lab):
    """a node that follows is killed, with the connections it passes on"""
    return restart_later(lab, lab.follower(), lambda node: node.kill())


def stop_leader_politely(lab):
    """the leader is told to end"""
    return restart_later(lab, lab.leader(), lambda node: node.terminate())


def resign(lab):
    """the leader hands over"""
    node = lab.leader()
    if node:
        node.ask("/v1/cluster/resign", method="POST")


def suspend_leader(lab):
    """the leader stands still for longer than its time"""
    return suspend(lab.leader(), 6)


def suspend_briefly(lab):
    """the leader stands still for a moment"""
    return suspend(lab.leader(), 1)


def kill_member(lab):
    """a member of etcd is killed, and comes back later"""
    member = random.choice(lab.members)
    member.kill()
    time.sleep(3)
    member.start()


def suspend_member(lab):
    """a member of etcd stands still"""
    return suspend(random.choice(lab.members), 4)


def cut_leader_off(lab):
    """the leader is cut off from etcd, but not from its clients"""
    node = lab.leader()
    if node:
        cut(lab, node.lines, 7)


def cut_peers_off(lab):
    """the nodes are cut off from one another"""
    cut(lab, lab.peer_lines, 4)


def restart_later(lab, node, end):
    if node is None:
        return
    end(node)
    time.sleep(random.uniform(1, 4))
    node.start()


def suspend(process, seconds):
    if process is None:
        return
    process.signal(signal.SIGSTOP)
    time.sleep(seconds)
    process.signal(signal.SIGCONT)


def cut(lab, lines, seconds):
    lab.proxies.stall(lines, True)
    time.sleep(seconds)
    lab.proxies.stall(lines, False)


FAULTS = [kill_leader, kill_follower, stop_leader_politely, resign, suspend_leader, suspend_briefly, kill_member,
          suspend_member, cut_leader_off, cut_peers_off]


def grants(history):
    return sum(count for (_, what), count in history.counts.items() if what == "granted")


def goes_on(lab, history):
    """Everybody is served again: new grants at every door."""
    lab.wait_for_service()
    def count():
        return {door.door: history.counts.get((door.door, "granted"), 0) for door in DOORS}
    before = count()
    wait_until(lambda: all(now > before[door] for door, now in count().items()), "every door grants again", 90)


def torment(lab, history, minutes):
    end = time.monotonic() + minutes * 60
    faults = list(FAULTS)
    while faults if minutes == 0 else time.monotonic() < end:
        fault = faults.pop(0) if minutes == 0 else random.choice(FAULTS)
        began, before = time.monotonic(), grants(history)
        fault(lab)
        goes_on(lab, history)
        print(f"  {fault.__doc__}: all is served again {time.monotonic() - began:.1f} s after it began, "
              f"{grants(history) - before} grants meanwhile", flush=True)
        if found := history.faults():
            return found
        time.sleep(0 if minutes == 0 else random.uniform(0, 2))
    return []


def report(history):
    for door in DOORS:
        counts = {what: count for (of, what), count in sorted(history.counts.items()) if of == door.door}
        print(f"  {door.door}: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    return [f"{door}: {what}" for (door, what) in history.counts if what.startswith("mistake")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holdfast", required=True)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    if shutil.which("etcd") is None:
        print("*** SKIPPED: there is no etcd here (apt-get install etcd-server): the cluster is not tested ***")
        return 77
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    random.seed(seed)
    print(f"chaos, seed {seed}", flush=True)
    history = History()
    lab = Lab(options.holdfast)
    faults = ["it did not come to its end"]
    try:
        lab.start()
        clients = [door(lab, history, number) for number in range(CLIENTS_PER_DOOR) for door in DOORS]
        for client in clients:
            client.start()
        faults = torment(lab, history, options.minutes)
        for client in clients:
            client.is_over.set()
        for client in clients:
            client.join(20)
        faults = faults + history.faults() + report(history)
    finally:
        lab.stop(keeps_folder=bool(faults))
    for fault in faults[:10]:
        print(f"FAULT: {fault}")
    if faults:
        print(f"{len(faults)} faults; the logs are in {lab.folder}")
        return 1
    print("nobody was told anything untrue")
    return 0


if __name__ == "__main__":
    sys.exit(main())
