#!/usr/bin/env python3
"""Holds openapi.json against the real server.

    openapi_test.py HOLDFAST OPENAPI_JSON

Drives every operation into every status that is documented for it, and validates every answer. Fails when the
server answers what is not documented, and when something documented was never seen.
"""

import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading

from openapi_document import Document, require
from openapi_scoped import deadlocks, elections, fences, scopes, scopes_refused, sets
from openapi_server import PATIENCE_S, Answer, Server, X, until
from openapi_terraform import STATE, states, states_refused, states_without_a_folder

AUTH, ADMIN = "the-users-token", "the-admins-token"


def free_ports(count):
    """Ports that nobody listens on at the moment."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def proof(lease):
    return {key: lease[key] for key in ("owner_id", "lease_id", "fencing_token")}


def jobs(server):
    for path in ("/lock", "/lock?job=other"):
        server.ask("GET", "/lock", 200, at=path)
    server.ask("POST", "/lock", 200, at="/lock?client=a&ttl=1m")
    server.ask("POST", "/lock", 200, at="/lock?client=a&ttl=1ms")
    server.ask("POST", "/lock", 409, at="/lock?client=b")  # in its grace, or before that
    server.ask("GET", "/lock", 200)
    server.ask("DELETE", "/lock", 403, at="/lock?client=b")
    server.ask("DELETE", "/lock", 200, at="/lock?client=a")
    server.ask("POST", "/lock", 200, at="/lock?client=a&job=x&ttl=1h")
    server.ask("POST", "/lock", 409, at="/lock?client=b&job=x")
    server.ask("GET", X, 200)
    server.ask("DELETE", "/lock", 200, at="/lock?client=a&job=x")
    for method in ("POST", "DELETE"):
        server.ask(method, "/lock", 400)
    server.ask("GET", "/lock", 400, at="/lock?job=%G1")
    server.ask("PUT", "/lock", 405)


def leases(server):
    server.ask("GET", X, 200)
    lease = server.acquire(200, metadata="build 7")
    server.acquire(409)
    server.ask("GET", X, 200)
    renewal = {**proof(lease), "extend_by_ms": 1000}
    server.ask("POST", X + "/renew", 200, body=renewal)
    server.ask("POST", X + "/renew", 409, body={**renewal, "owner_id": "w2"})
    require(server.ask("POST", X + "/release", 200, body=proof(lease)).json() == {"released": True})
    require(server.ask("POST", X + "/release", 200, body=proof(lease)).json()["reason"] == "NOT_OWNER")
    for action in ("acquire", "renew", "release"):
        server.ask("POST", f"{X}/{action}", 400, body={"owner_id": ""}, is_valid=False)
        server.ask("POST", f"{X}/{action}", 404, at=f"/v1/locks/a/b/{action}", body={}, is_valid=False)
        server.ask("PUT", f"{X}/{action}", 405)
        server.ask("GET", f"{X}/{action}", 404)
    for method in ("GET", "DELETE"):
        server.ask(method, X, 404, at="/v1/locks/a/b")
        server.ask(method, X, 400, at="/v1/locks/%G1")
    server.ask("PATCH", X, 405)


def refusals(server):
    """Every reason for which an acquire is refused, but for a busy store."""
    reasons = set()

    def refused(answer):
        reasons.add(answer["reason"])

    lease = server.acquire(200, request_id="q1")
    refused(server.acquire(409))
    refused(server.acquire(409, wait_ms=1))
    first, second = [], []
    waits = {"owner_id": "w2", "wait_ms": 60000, "request_id": "q2"}
    waiter = threading.Thread(target=lambda: first.append(server.acquire(409, **waits)))
    waiter.start()
    server.wait_for_queue(1)
    again = threading.Thread(target=lambda: second.append(server.acquire(200, **waits)))
    again.start()
    waiter.join()
    refused(first[0])
    server.ask("POST", X + "/release", 200, body=proof(lease))
    again.join()
    refused(server.acquire(409, request_id="q1"))
    refused(cancelled(server))
    server.ask("DELETE", X, 200)
    server.acquire(200, lock="s", limit=2)
    refused(server.acquire(409, lock="s", limit=3))
    require(reasons == {"HELD", "WAIT_TIMED_OUT", "REQUEST_SUPERSEDED", "REQUEST_ENDED", "CANCELLED",
                        "LIMIT_MISMATCH"}, reasons)


def cancelled(server):
    """The answer to a client that stops sending while it waits."""
    body = json.dumps({"owner_id": "w9", "ttl_ms": 1000, "wait_ms": 60000})
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as connection:
        connection.sendall(f"POST /v1/locks/x/acquire HTTP/1.1\r\nHost: localhost\r\n"
                           f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        server.wait_for_queue(1)
        connection.shutdown(socket.SHUT_WR)
        response = http.client.HTTPResponse(connection, method="POST")
        response.begin()
        answer = Answer(response)
    server.document.check_answer("POST", X + "/acquire", answer)
    return answer.json()


def views(server):
    """Everything that a lock can be shown with."""
    for owner in ("r1", "r2"):
        server.acquire(200, lock="r", owner_id=owner, mode="shared")
    for owner in ("p1", "p2"):
        server.acquire(200, lock="p", owner_id=owner, limit=2, metadata="m")
    server.ask("POST", "/lock", 200, at="/lock?client=a&job=g&ttl=1ms")
    until(lambda: "grace_until_ms" in server.ask("GET", X, 200, at="/v1/locks/g").json())
    for lock in ("r", "p", "g"):
        server.ask("GET", X, 200, at="/v1/locks/" + lock)
    waiter = threading.Thread(target=server.acquire, args=(200,),
                              kwargs={"lock": "r", "wait_ms": 60000, "metadata": "m"})
    waiter.start()
    until(lambda: server.ask("GET", X, 200, at="/v1/locks/r?queue=true").json()["queue_length"] == 1)
    names, after = [], ""
    while after is not None:
        page = server.ask("GET", "/v1/locks", 200, at="/v1/locks?limit=1&after=" + after).json()
        names += [lock["lock_name"] for lock in page["locks"]]
        after = page.get("next")
    require({"r", "p", "g"} <= set(names) and len(names) == len(set(names)), names)
    server.ask("DELETE", X, 200, at="/v1/locks/r")
    waiter.join()
    server.ask("GET", "/v1/locks", 400, at="/v1/locks?limit=0")
    server.ask("POST", "/v1/locks", 405)


def begin_events(server):
    """The server remembers events from the first reader on. This is the first one."""
    with contextlib.closing(server.connect()) as connection:
        connection.request("GET", "/v1/events")
        require(connection.getresponse().status == 200, "/v1/events")


def events(server):
    with contextlib.closing(server.connect()) as connection:
        connection.request("GET", "/v1/events", headers={"Last-Event-ID": "1"})
        response = connection.getresponse()
        require(response.headers["Content-Type"] == "text/event-stream", response.headers["Content-Type"])
        require(response.status == 200, response.status)
        server.document.seen.add(("get", "/v1/events", "200"))
        wanted = {"gap", "granted", "renewed", "value_set", "released", "expired", "queued", "wait_timed_out", "wait_cancelled",
                  "fence_refused", "audit", "deadlock"}
        event = {}
        while wanted:
            line = response.readline().decode().rstrip("\n")
            if line and not line.startswith(":"):
                name, value = line.split(": ", 1)
                event[name] = value
            elif event:
                server.document.check_event(event["event"], event["data"])
                wanted.discard(event["event"])
                event = {}
    server.ask("GET", "/v1/events", 400, headers={"Last-Event-ID": "x"})
    server.ask("DELETE", "/v1/events", 405)


def itself(server):
    for path in ("/metrics", "/v1/status", "/healthz", "/readyz", "/openapi.json"):
        server.ask("GET", path, 200)
        server.ask("DELETE", path, 405)
    require(server.ask("GET", "/openapi.json", 200).text == server.document.text, "it is another document")


def history(server):
    first = server.ask("POST", "/v1/leases", 201, 200, body={"scope": "named:told", "holder": "ann", "metadata": "m"}).json()
    server.ask("DELETE", "/v1/leases/{token}", 200, 204, at="/v1/leases/" + first["token"])
    (hold,) = server.ask("GET", "/v1/history", 200, at="/v1/history?scope=told&owner=ann&limit=1").json()["history"]
    require(hold["fencing_token"] == first["fencing_token"] and hold["ended"] == "released", "another hold:", hold)
    server.ask("GET", "/v1/history", 400, at="/v1/history?since=yesterday")
    server.ask("POST", "/v1/history", 405)


def no_history(server):
    server.ask("GET", "/v1/history", 404)


def sessions(server):
    server.ask("GET", "/v1/sessions", 200)
    server.ask("GET", "/v1/sessions", 400, at="/v1/sessions?limit=0")
    server.ask("POST", "/v1/sessions", 405)
    with socket.create_connection(("127.0.0.1", server.dflockd_port), timeout=PATIENCE_S) as connection:
        connection.sendall(b"l\nheld\n10\n")
        connection.recv(100)
        (session,) = server.ask("GET", "/v1/sessions", 200).json()["sessions"]
        at = "/v1/sessions/" + session["id"]
        server.ask("DELETE", "/v1/sessions/{id}", 200, at=at)
        server.ask("DELETE", "/v1/sessions/{id}", 404, at=at)
        server.ask("GET", "/v1/sessions/{id}", 405, at=at)
    server.ask("GET", "/v1/backup", 409)
    server.ask("POST", "/v1/backup", 405)


def stands_alone(server):
    server.ask("GET", "/v1/cluster", 404)
    server.ask("PUT", "/v1/cluster", 405)
    for change in ("resign", "new-epoch"):
        server.ask("POST", "/v1/cluster/" + change, 404)
        server.ask("GET", "/v1/cluster/" + change, 405)


def cluster(start, folder):
    """A node on an etcd of its own."""
    client, peer, node = free_ports(3)
    urls = [f"http://127.0.0.1:{port}" for port in (client, peer)]
    with open(folder / "etcd.log", "wb") as log:
        etcd = subprocess.Popen(["etcd", "--data-dir", str(folder / "etcd"), "--listen-client-urls", urls[0],
                                 "--advertise-client-urls", urls[0], "--listen-peer-urls", urls[1]], stdout=log, stderr=log)
    try:
        server = start("--cluster", f"etcd://127.0.0.1:{client}", "--peer", f"127.0.0.1:{node}", "--status", "none")
        until(lambda: server.ask("GET", "/v1/cluster", 200).json()["leader"] != "")
        server.ask("POST", "/v1/cluster/resign", 200)
        server.ask("POST", "/v1/cluster/resign", 409)
        server.ask("POST", "/v1/cluster/new-epoch", 200)
    finally:
        etcd.kill()
        etcd.wait()
    server.ask("POST", "/v1/cluster/new-epoch", 409)


def secrets(server):
    for method, path, operation in server.document.operations():
        if operation.get("security") != [{}]:
            server.ask(method.upper(), path, 401)
            server.ask(method.upper(), path, 401, headers={"Authorization": "Bearer of-bad-news"})
        else:
            server.ask(method.upper(), path, 200)
    user, admin = ({"Authorization": "Bearer " + token} for token in (AUTH, ADMIN))
    server.ask("DELETE", X, 403, headers=user)
    server.ask("DELETE", X, 200, headers=admin)
    server.ask("DELETE", "/v1/sessions/{id}", 403, headers=user)
    server.ask("GET", "/v1/backup", 403, headers=user)
    server.ask("POST", "/v1/cluster/resign", 403, headers=user)
    server.ask("POST", "/v1/cluster/new-epoch", 403, headers=user)
    server.ask("DELETE", "/v1/fence/{resource}", 403, headers=user)
    server.ask("DELETE", "/v1/fence/{resource}", 404, headers=admin)
    server.ask("DELETE", STATE + "/lock", 403, headers=user)
    server.ask("DELETE", STATE + "/lock", 200, headers=admin)
    for path in (X + "/acquire", X + "/renew", X + "/release", "/v1/leases", "/v1/leases/{token}/renew",
                 "/v1/fence/check", "/v1/fence/{resource}"):
        server.ask("POST", path, 413, body=" " * 1000, headers=user)
    server.ask("PUT", "/v1/leases/{token}/value", 413, body=" " * 1000, headers=user)


def denials(server):
    """A token that may do nothing here is refused everything, in the form of each door."""
    stranger, reader = ({"Authorization": "Bearer " + token} for token in ("stranger", "reader"))
    for method, path, operation in server.document.operations():
        if operation.get("security") != [{}]:
            answer = server.ask(method.upper(), path, 403, headers=stranger).json()
            require({"right", "on"} <= answer.keys(), method, path, "does not say what is missing:", answer)
    server.ask("GET", "/v1/status", 200, headers=reader)
    server.ask("GET", "/v1/locks", 200, headers=reader)
    answer = server.ask("POST", X + "/acquire", 403, headers=reader, body={"owner_id": "w1", "ttl_ms": 1000}).json()
    require(answer["right"] == "lock" and answer["on"] == "*", "it may read only:", answer)
    answer = server.ask("GET", X, 403, headers=reader).json()
    require(answer["right"] == "read" and answer["on"] == "x", "it may read y only:", answer)


def token_line(name, rights):
    return f"{name} {rights} sha256:{hashlib.sha256(name.encode()).hexdigest()}\n"


def fill_journal(server, names):
    """While the database takes nothing, the journal takes commits until it has no room for another one."""
    body = {"owner_id": "w1", "ttl_ms": 60000, "metadata": "x" * 1024}
    with contextlib.closing(server.connect()) as connection:
        for number in range(100_000):
            connection.request("POST", f"/v1/locks/{names}-{number}/acquire", json.dumps(body))
            if not Answer(connection.getresponse()).json().get("acquired"):
                return
    require(False, "the journal has room for everything")


def failures(server, folder):
    """Every operation that needs the store says so when that is locked by somebody else, and when it is broken."""
    server.ask("GET", "/v1/backup", 200)
    (folder / "terraform").write_text("no folder")
    states_without_a_folder(server)
    lease = server.acquire(200, lock="kept")
    renewal = {**proof(lease), "extend_by_ms": 1000}
    changes = (("acquire", {"owner_id": "w1", "ttl_ms": 1000}), ("renew", renewal), ("release", proof(lease)))

    # The server begins anew every second, and then does not know yet that it will fail again.
    def fail_at(is_failure, method, path, at, body=None):
        def try_it():
            server.acquire(200, 409, 503, lock="more")
            return is_failure(server.ask(method, path, 200, 403, 404, 409, 410, 503, at=at, body=body))
        until(try_it)

    def is_unavailable(answer):
        return answer.status == 503

    def is_busy(answer):
        return answer.json().get("reason") == "BUSY_RETRY" or answer.json().get("error") == "StoreBusy"

    scoped = (("POST", "/v1/leases", {"scope": "inode:7", "holder": "w1"}), ("GET", "/v1/leases", None),
              ("GET", "/v1/deadlocks", None),
              ("GET", "/v1/leases/{token}", None), ("DELETE", "/v1/leases/{token}", None),
              ("POST", "/v1/leases/{token}/renew", {"duration_ms": 1}),
              ("PUT", "/v1/leases/{token}/value", {"value": "v"}), ("GET", "/v1/elections/{name}", None),
              ("POST", "/v1/fence/check", {"token": "x", "scope": "inode:7"}),
              ("POST", "/v1/fence/{resource}", {"fencing_token": 7}), ("GET", "/v1/fence/{resource}", None),
              ("DELETE", "/v1/fence/{resource}", None))

    with contextlib.closing(sqlite3.connect(folder / "holdfast.db", isolation_level=None, timeout=PATIENCE_S)) as other:
        other.execute("BEGIN IMMEDIATE")
        brief = server.acquire(200, lock="brief")
        server.ask("POST", X + "/release", 200, at="/v1/locks/brief/release", body=proof(brief))
        server.ask("GET", "/v1/history", 503)
        fill_journal(server, "while-busy")
        for action, body in changes:
            fail_at(is_busy, "POST", f"{X}/{action}", f"/v1/locks/kept/{action}", body)
        for method, path, body in scoped:
            fail_at(is_busy, method, path, None, body)
        other.execute("ROLLBACK")
        until(lambda: server.acquire(200, 409, 503, lock="free-again").get("acquired"))
        other.execute("CREATE TRIGGER no BEFORE UPDATE ON journal_file BEGIN SELECT RAISE(ABORT, 'no'); END")
    fill_journal(server, "while-broken")
    for action, body in changes:
        fail_at(is_unavailable, "POST", f"{X}/{action}", f"/v1/locks/kept/{action}", body)
    for method, path, at in (("GET", "/lock", "/lock"), ("POST", "/lock", "/lock?client=a"),
                             ("DELETE", "/lock", "/lock?client=a"), ("GET", "/v1/locks", "/v1/locks"), ("GET", X, None),
                             ("DELETE", X, None), ("GET", "/readyz", None), ("GET", "/v1/sessions", None),
                             ("DELETE", "/v1/sessions/{id}", None)):
        fail_at(is_unavailable, method, path, at)
    for method, path, body in scoped:
        fail_at(is_unavailable, method, path, None, body)
    folder.rename(folder.with_name("elsewhere"))
    server.ask("GET", "/v1/backup", 503)


def write(path, text):
    path.write_text(text)
    path.chmod(0o600)
    return str(path)


def main(program, document_file):
    document = Document(pathlib.Path(document_file).read_text(encoding="utf-8"))
    document.check_structure()
    for name in [name for name in os.environ if name.startswith("HOLDFAST_")]:
        del os.environ[name]
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))

        def start(*flags):
            server = Server(program, document, *flags)
            stack.callback(server.end)
            return server

        server = start("--memory")
        for part in (itself, begin_events, jobs, leases, refusals, views, scopes, scopes_refused, sets, deadlocks, elections,
                     fences, states, states_refused, events, sessions, history, stands_alone):
            part(server)
        secrets(start("--memory", "--body-max", "500", "--auth-token-file", write(folder / "auth", AUTH),
                      "--admin-token-file", write(folder / "admin", ADMIN)))
        no_history(start("--memory", "--history", "0"))
        lines = token_line("stranger", "admin * @redis") + token_line("reader", "read y")
        denials(start("--memory", "--tokens", write(folder / "tokens", lines)))
        failures(start("--data", str(folder / "data")), folder / "data")
        if shutil.which("etcd"):
            cluster(start, folder)
        else:
            print("*** there is no etcd here: the answers of a cluster are not seen ***")
            document.seen |= {("get", "/v1/cluster", "200")} | {
                ("post", "/v1/cluster/" + change, status)
                for change in ("resign", "new-epoch") for status in ("200", "409")}
    document.check_everything_was_seen()
    print(len(document.seen), "documented answers were seen")


if __name__ == "__main__":
    main(*sys.argv[1:])
