"""Files in a cluster: three nodes share one folder, and one of them at a time has it open.

A client logs in once, and writes and reads through whichever node, while the node that leads hands over, is killed, or is
suspended and wakes up again.
"""

import argparse
import http.client
import json
import random
import shutil
import signal
import socket
import sys
import threading
import time

from lab import Lab, wait_until

TOKEN = "a-secret-of-sixteen-or-more"


class Answer:
    def __init__(self, answer):
        self.status, self.headers, self.body = answer.status, answer.headers, answer.read()

    def json(self):
        return json.loads(self.body)


def ask(node, method, path, body=None, headers=None, timeout=10):
    """The answer, whatever it is."""
    connection = http.client.HTTPConnection("127.0.0.1", node.files, timeout=timeout)
    try:
        connection.request(method, path, body, headers or {})
        return Answer(connection.getresponse())
    finally:
        connection.close()


def ask_until_served(node, method, path, body=None, headers=None, seconds=30):
    """Asks again while there is no leader, as a client should. Returns the first answer that is not 503."""
    end = time.monotonic() + seconds
    while True:
        try:
            answer = ask(node, method, path, body, headers)
            if answer.status != 503:
                return answer
            check_refusal(answer)
            said = answer.body
        except (OSError, http.client.HTTPException) as fault:
            said = repr(fault)
        if time.monotonic() > end:
            raise TimeoutError(f"{method} {path} through {node.name} is not served; the last answer was {said}")
        time.sleep(0.1)


def check_refusal(answer):
    assert answer.status == 503, answer.status
    assert answer.headers["Retry-After"], dict(answer.headers)
    told = answer.json()
    assert told["error"] and told["message"], told


class Client:
    """A session, which works through every node."""

    def __init__(self, node):
        answer = ask_until_served(node, "POST", "/auth/session", headers={"Authorization": f"Bearer {TOKEN}"})
        assert answer.status == 201, (answer.status, answer.body)
        self.headers = {"Cookie": "hengdang_session=" + answer.json()["sessionId"]}
        self.name = answer.json()["name"]

    def ask(self, node, method, path, body=None, more=None):
        return ask_until_served(node, method, path, body, {**self.headers, **(more or {})})

    def put(self, node, path, text, statuses=(200, 201)):
        answer = self.ask(node, "PUT", path, text)
        assert answer.status in statuses, (answer.status, answer.body)

    def check(self, node, path, text):
        answer = self.ask(node, "GET", path)
        assert (answer.status, answer.body) == (200, text), (answer.status, answer.body)


def followers(lab):
    leader = lab.leader()
    return [node for node in lab.nodes if node is not leader and node.is_alive()]


def serves_through_every_node(lab, client, text):
    """What one node has written, every other reads."""
    for number, writer in enumerate(lab.nodes):
        if not writer.is_alive():
            continue
        version = text + b" by " + writer.name.encode()
        client.put(writer, "/shared/file", version)
        for reader in lab.nodes:
            if reader.is_alive():
                client.check(reader, "/shared/file", version)


def lock_survives(lab, client, other):
    """A lock that a session has asked for itself goes on, and is no other session's."""
    node = followers(lab)[0]
    client.put(node, "/locked", b"mine")
    assert client.ask(node, "GET", "/locked?lock=acquire").status == 200
    hand_over(lab)
    assert other.ask(followers(lab)[0], "PUT", "/locked", b"theirs").status == 423
    client.put(followers(lab)[0], "/locked", b"mine again")
    assert other.ask(followers(lab)[0], "PUT", "/locked", b"theirs").status == 200


def hand_over(lab):
    before = lab.leader()
    before.ask("/v1/cluster/resign", method="POST")
    wait_until(lambda: lab.leader() not in (None, before), "another node leads")
    lab.wait_for_service()
    return before


def upload_is_broken_off(lab, client):
    """A body that does not go on must not keep the root from the next leader."""
    leader = lab.leader()
    slow = socket.create_connection(("127.0.0.1", leader.files))
    cookie = client.headers["Cookie"]
    slow.sendall(f"PUT /half HTTP/1.1\r\nHost: x\r\nCookie: {cookie}\r\nContent-Length: 1000000\r\n\r\nhalf".encode())
    temporary = lab.files_root / ".holdfast" / "tmp"
    wait_until(lambda: any(temporary.iterdir()), "the upload has begun")
    began = time.monotonic()
    assert hand_over(lab) is leader
    client.put(leader, "/whole", b"whole")
    assert time.monotonic() - began < 8, "the upload has kept the root"
    slow.settimeout(10)
    answer = slow.recv(65536)
    assert answer.startswith(b"HTTP/1.1 503 ") and b"\r\nRetry-After: 1\r\n" in answer, answer
    slow.close()
    assert client.ask(leader, "GET", "/half").status == 404
    wait_until(lambda: not any(temporary.iterdir()), "the temporary file is gone")


def download_is_no_obstacle(lab, client):
    """Nor must a client that does not read on."""
    leader = lab.leader()
    client.put(leader, "/large", b"x" * 30_000_000)
    slow = socket.create_connection(("127.0.0.1", leader.files))
    slow.sendall(f"GET /large HTTP/1.1\r\nHost: x\r\nCookie: {client.headers['Cookie']}\r\n\r\n".encode())
    assert slow.recv(1000).startswith(b"HTTP/1.1 200 ")
    began = time.monotonic()
    hand_over(lab)
    client.put(leader, "/whole", b"again")
    assert time.monotonic() - began < 8, "the download has kept the root"
    slow.close()


def killed_leader(lab, client):
    leader = lab.leader()
    leader.kill()
    serves_through_every_node(lab, client, b"after a kill")
    leader.start()
    lab.wait_for_service()
    client.check(leader, "/shared/file", b"after a kill by " + [n for n in lab.nodes if n is not leader][-1].name.encode())


def suspended_leader(lab, client):
    """While the process that has the root is suspended, nobody else opens it; the files come back with that process."""
    leader = lab.leader()
    leader.signal(signal.SIGSTOP)
    others = [node for node in lab.nodes if node is not leader]
    wait_until(lambda: any(node.look().get("role") == "leading" for node in others), "another node leads")
    def says_why():
        answer = ask(others[0], "GET", "/shared/file", headers=client.headers)
        check_refusal(answer)
        return "another server uses the files' root" in answer.json()["message"]
    wait_until(says_why, "the reason is told")
    leader.signal(signal.SIGCONT)
    serves_through_every_node(lab, client, b"after a pause")


class Writer(threading.Thread):
    """Writes one file again and again, through any node. What it was told to be written must be there."""

    def __init__(self, lab, client, number):
        super().__init__(daemon=True)
        self.lab, self.client, self.path = lab, client, f"/busy/{number}"
        self.is_over = threading.Event()
        self.acknowledged = self.sent = 0
        self.fault = None

    def run(self):
        try:
            while not self.is_over.is_set():
                self.cycle(random.choice(self.lab.nodes))
        except Exception as fault:
            self.fault = fault

    def cycle(self, node):
        self.sent += 1
        self.client.put(node, self.path, b"%d " % self.sent * random.choice([1, 60_000]))
        self.acknowledged = self.sent
        answer = self.client.ask(random.choice(self.lab.nodes), "GET", self.path)
        found = int(answer.body.split()[0])
        assert answer.status == 200 and found == self.acknowledged, (self.path, found, self.acknowledged)


def watch(lab, client):
    """Opens streams of changes that nobody reads, so that they are there when the leader changes."""
    streams = [socket.create_connection(("127.0.0.1", node.files)) for node in lab.nodes]
    for stream in streams:
        stream.sendall(f"GET /events/stream HTTP/1.1\r\nHost: x\r\nCookie: {client.headers['Cookie']}\r\n\r\n".encode())
    return streams


def busy_hand_overs(lab, client):
    """Nothing that was acknowledged is lost while one node after the other leads, and no node falls over."""
    writers = [Writer(lab, client, number) for number in range(4)]
    for writer in writers:
        writer.start()
    for _ in range(4):
        streams = watch(lab, client)
        enough = [writer.acknowledged + 3 for writer in writers]
        wait_until(lambda: all(writer.fault or writer.acknowledged >= least for writer, least in zip(writers, enough)),
                   "everybody has written")
        hand_over(lab)
        for stream in streams:
            stream.close()
    for writer in writers:
        writer.is_over.set()
    for writer in writers:
        writer.join(60)
        assert writer.fault is None and not writer.is_alive(), writer.fault
    assert all(node.is_alive() for node in lab.nodes)


def session_ends_everywhere(lab, client):
    assert client.ask(followers(lab)[0], "DELETE", "/auth/session").status == 204
    hand_over(lab)
    assert client.ask(followers(lab)[0], "GET", "/shared/file").status == 401


def run(lab):
    client, other = Client(lab.nodes[0]), Client(lab.nodes[1])
    steps = [
        ("every node serves", lambda: serves_through_every_node(lab, client, b"at first")),
        ("a hand-over", lambda: (hand_over(lab), serves_through_every_node(lab, client, b"after a hand-over"))),
        ("a lock over a hand-over", lambda: lock_survives(lab, client, other)),
        ("an upload under way", lambda: upload_is_broken_off(lab, client)),
        ("a download under way", lambda: download_is_no_obstacle(lab, client)),
        ("hand-overs while files are written", lambda: busy_hand_overs(lab, client)),
        ("kill -9 of the leader", lambda: killed_leader(lab, client)),
        ("the leader suspended", lambda: suspended_leader(lab, client)),
        ("logins go on", lambda: serves_through_every_node(lab, Client(followers(lab)[0]), b"a new session")),
        ("a session ends", lambda: session_ends_everywhere(lab, other)),
    ]
    for name, step in steps:
        began = time.monotonic()
        step()
        print(f"  {name}: {time.monotonic() - began:.1f} s", flush=True)
    for node in lab.nodes:
        node.terminate()
        assert node.running.returncode == 0, (node.name, node.running.returncode)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holdfast", required=True)
    options = parser.parse_args()
    if shutil.which("etcd") is None:
        print("*** SKIPPED: there is no etcd here (apt-get install etcd-server): files in a cluster are not tested ***")
        return 77
    lab = Lab(options.holdfast, uses_proxies=False, token=TOKEN, has_files=True)
    is_good = False
    try:
        lab.start()
        run(lab)
        is_good = True
    finally:
        lab.stop(keeps_folder=not is_good)
        if not is_good:
            print(f"the logs are in {lab.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
