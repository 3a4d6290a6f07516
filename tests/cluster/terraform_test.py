"""States of Terraform in a cluster: three nodes share one folder, and one of them at a time has it open.

A client locks and writes a state through whichever node, while the node that leads hands over or is killed.
"""

import argparse
import base64
import http.client
import json
import shutil
import socket
import sys
import time

from lab import Lab, wait_until

TOKEN = "a-secret-of-sixteen-or-more"
STATE = "/v1/terraform/prod"
BASIC = "Basic " + base64.b64encode(f"terraform:{TOKEN}".encode()).decode()


def ask(node, method, path, body=None, seconds=30):
    """Asks again while there is no leader, as Terraform does. Returns the first answer that is not 503."""
    end = time.monotonic() + seconds
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", node.http, timeout=10)
            connection.request(method, path, body, {"Authorization": BASIC})
            answer = connection.getresponse()
            status, said = answer.status, answer.read().decode()
            connection.close()
            if status != 503:
                return status, said
        except (OSError, http.client.HTTPException) as fault:
            said = repr(fault)
        assert time.monotonic() < end, f"{method} {path} through {node.name} is not served: {said}"
        time.sleep(0.1)


def info(lock_id):
    return json.dumps({"ID": lock_id, "Who": "ann@box"}, separators=(",", ":"))


def hand_over(lab):
    before = lab.leader()
    before.ask("/v1/cluster/resign", method="POST")
    wait_until(lambda: lab.leader() not in (None, before), "another node leads")
    lab.wait_for_service()
    return before


def writes(lab, serial):
    """Under the lock `a`, through every node; each of the others sees it."""
    for writer in lab.nodes:
        text = f'{{"serial": {serial}, "node": "{writer.name}"}}'
        status, said = ask(writer, "POST", STATE + "?ID=a", text)
        assert status == 200, (status, said)
        for reader in lab.nodes:
            assert ask(reader, "GET", STATE) == (200, text)
        assert ask(writer, "POST", STATE + "?ID=b", "{}")[0] == 423


def upload_is_broken_off(lab):
    """A body that does not go on must not keep the folder from the next leader."""
    leader = lab.leader()
    slow = socket.create_connection(("127.0.0.1", leader.http))
    slow.sendall(f"POST {STATE}?ID=a HTTP/1.1\r\nHost: x\r\nAuthorization: {BASIC}\r\nContent-Length: 1000000\r\n\r\nhalf"
                 .encode())
    temporary = lab.files_root / ".holdfast" / "terraform" / ".holdfast" / "tmp"
    wait_until(lambda: any(temporary.iterdir()), "the upload has begun")
    began = time.monotonic()
    hand_over(lab)
    assert ask(leader, "POST", STATE + "?ID=a", '{"serial": 50}')[0] == 200
    assert time.monotonic() - began < 8, "the upload has kept the folder"
    slow.settimeout(10)
    assert slow.recv(65536).startswith(b"HTTP/1.1 503 ")
    slow.close()
    assert ask(leader, "GET", STATE) == (200, '{"serial": 50}')


def run(lab):
    first, second, third = lab.nodes
    assert ask(first, "LOCK", STATE, info("a"))[0] == 200
    assert ask(second, "LOCK", STATE, info("b")) == (423, info("a") + "\n")
    writes(lab, 1)
    hand_over(lab)
    assert ask(third, "LOCK", STATE, info("b")) == (423, info("a") + "\n")
    writes(lab, 2)
    upload_is_broken_off(lab)
    leader = lab.leader()
    leader.kill()
    other = [node for node in lab.nodes if node is not leader][0]
    assert ask(other, "LOCK", STATE, info("b")) == (423, info("a") + "\n")
    assert ask(other, "GET", STATE) == (200, '{"serial": 50}')
    leader.start()
    lab.wait_for_service()
    writes(lab, 3)
    assert ask(first, "UNLOCK", STATE, info("a"))[0] == 200
    assert ask(second, "LOCK", STATE, info("b"))[0] == 200
    assert ask(third, "POST", STATE + "?ID=a", "{}")[0] == 423
    for node in lab.nodes:
        node.terminate()
        assert node.running.returncode == 0, (node.name, node.running.returncode)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holdfast", required=True)
    options = parser.parse_args()
    if shutil.which("etcd") is None:
        print("*** SKIPPED: there is no etcd here (apt-get install etcd-server): states in a cluster are not tested ***")
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
