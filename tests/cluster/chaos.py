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
from lab import PREFIX, Lab, wait_until

CLIENTS_PER_DOOR = 4
CLUSTER_TTL = 3
# A leader whose lease etcd has ended, although it lived, finds out by its watch, or at its next renewal after half a second. The
# rest is for a machine that is busy.
DOUBT = 1.5


def kill_leader(lab, _history):
    """the leader is killed, and comes back later"""
    return restart_later(lab, lab.leader(), lambda node: node.kill())


def kill_follower(lab, _history):
    """a node that follows is killed, with the connections it passes on"""
    return restart_later(lab, lab.follower(), lambda node: node.kill())


def stop_leader_politely(lab, _history):
    """the leader is told to end"""
    return restart_later(lab, lab.leader(), lambda node: node.terminate())


def resign(lab, _history):
    """the leader hands over"""
    hand_over(lab)


def hand_over(lab):
    node = lab.leader()
    if node:
        node.ask("/v1/cluster/resign", method="POST")
    return node


def suspend_leader(lab, _history):
    """the leader stands still for longer than its time"""
    return suspend(lab.leader(), 6)


def suspend_briefly(lab, _history):
    """the leader stands still for a moment"""
    return suspend(lab.leader(), 1)


def kill_member(lab, _history):
    """a member of etcd is killed, and comes back later"""
    member = random.choice(lab.members)
    member.kill()
    time.sleep(3)
    member.start()


def suspend_member(lab, _history):
    """a member of etcd stands still"""
    return suspend(random.choice(lab.members), 4)


def cut_leader_off(lab, _history):
    """the leader is cut off from etcd, but not from its clients"""
    node = lab.leader()
    if node:
        cut(lab, node.lines, 7)


def cut_peers_off(lab, _history):
    """the nodes are cut off from one another"""
    cut(lab, lab.peer_lines, 4)


def revoke_lease(lab, history):
    """etcd ends the lease of the leader, which lives"""
    wait_until(lab.leaders_key, "there is a leader")
    with history.doubts(DOUBT):
        lab.etcd.revoke(lab.leaders_key()["lease"])


def new_epoch(lab, _history):
    """the leader is told to begin a new epoch, while clients renew"""
    wait_until(lab.leader, "a node leads")
    lab.leader().ask("/v1/cluster/new-epoch", method="POST")


def new_epoch_beside_leader(lab, _history):
    """the leader stands still, and a new epoch is begun at another node"""
    wait_until(lab.leader, "a node leads")
    leader = lab.leader()
    leader.signal(signal.SIGSTOP)
    try:
        wait_until(lambda: begin_epoch(lab, leader), "a new epoch")
        time.sleep(random.uniform(0, 3))
    finally:
        leader.signal(signal.SIGCONT)


def begin_epoch(lab, besides):
    """At any other node. While the leader is known, connections are passed on to it."""
    node = random.choice([node for node in lab.nodes if node is not besides and node.is_alive()])
    try:
        return node.ask("/v1/cluster/new-epoch", method="POST", seconds=2)
    except OSError:
        return None


def too_much_to_read(lab, _history):
    """what a takeover reads is more than one answer may have"""
    prefix = f"{PREFIX}/history/00000000000"
    lab.etcd.put_many(prefix, 80)
    hand_over(lab)
    lab.wait_for_service()
    lab.etcd.free(prefix)


def suspend_in_takeover(lab, _history):
    """the next leader stands still while it takes over, for longer than its time"""
    before = hand_over(lab)
    end = time.monotonic() + 20
    while (node := lab.elected()) in (None, before):
        if time.monotonic() > end:
            raise TimeoutError("nobody was elected")
    time.sleep(random.choice([0, 0, random.uniform(0, 0.01)]))
    suspend(node, 6)


def fill_etcd(lab, _history):
    """etcd is full, and is freed"""
    lab.etcd.fill()
    time.sleep(3)
    lab.etcd.free()


def fill_etcd_and_kill_leader(lab, _history):
    """etcd is full, the leader is killed and comes back, and etcd is freed"""
    lab.etcd.fill()
    time.sleep(1)
    kill_leader(lab, _history)
    time.sleep(random.uniform(0, 4))
    lab.etcd.free()


def fill_etcd_and_suspend_members(lab, _history):
    """etcd is full, a commit is refused, the lead is lost, and etcd is freed"""
    lab.etcd.fill()
    time.sleep(random.uniform(0, 1.5))
    for member in lab.members:
        member.signal(signal.SIGSTOP)
    time.sleep(4.5)
    for member in lab.members:
        member.signal(signal.SIGCONT)
    time.sleep(2)
    lab.etcd.free()


def lose_names(lab, _history):
    """the name of the next leader is not known for a while"""
    if lab.names is None:
        print("  no mount namespaces can be made here: names are not taken away", flush=True)
        return
    lab.names.write(False)
    try:
        hand_over(lab)
        time.sleep(3)
    finally:
        lab.names.write(True)


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
          suspend_member, cut_leader_off, cut_peers_off, revoke_lease, new_epoch, new_epoch_beside_leader, suspend_in_takeover,
          too_much_to_read, fill_etcd,
          fill_etcd_and_kill_leader, fill_etcd_and_suspend_members, lose_names]


def grants(history):
    return sum(count for (_, what), count in history.counts.items() if what == "granted")


def goes_on(lab, history):
    """Everybody is served again: every node is ready, and there are new grants at every door."""
    lab.wait_for_service()
    wait_until(lambda: all(node.is_ready() for node in lab.nodes), "every node is ready")
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
        fault(lab, history)
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
    lab = Lab(options.holdfast, ttl=f"{CLUSTER_TTL}s", uses_names=True)
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
