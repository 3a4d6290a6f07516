"""The scoped door and the fences, as openapi_test.py drives them."""

import http.client
import json
import socket
import threading

from openapi_document import require
from openapi_server import PATIENCE_S, Answer, until

LEASES, LEASE, RENEW = "/v1/leases", "/v1/leases/{token}", "/v1/leases/{token}/renew"
VALUE, ELECTION = "/v1/leases/{token}/value", "/v1/elections/{name}"
CHECK, FENCE, DEADLOCKS = "/v1/fence/check", "/v1/fence/{resource}", "/v1/deadlocks"
BYTES = {"kind": "range", "inode": 7, "start": 0, "end": 4096}


def take(server, *statuses, **fields):
    return server.ask("POST", LEASES, *statuses, body={"scope": BYTES, "holder": "w1", **fields}).json()


def scopes(server):
    lease = take(server, 200, metadata="m")
    require(lease["scope"] == BYTES, lease)
    for scope in ({"kind": "inode", "inode": 2**64 - 1}, "path:/a", {"kind": "named", "name": "n"}, "range:8:5-"):
        take(server, 200, scope=scope, mode="shared")
    at = "/v1/leases/" + lease["token"]
    server.ask("GET", LEASE, 200, at=at)
    server.ask("POST", RENEW, 200, at=at + "/renew", body={"duration_ms": 60000})
    server.ask("POST", RENEW, 200, at=at + "/renew")
    server.ask("POST", RENEW, 400, at=at + "/renew", body={"duration_ms": 0}, is_valid=False)
    server.ask("POST", CHECK, 200, body={"token": lease["token"], "scope": "range:7:0-512"})
    server.ask("POST", CHECK, 409, body={"token": lease["token"], "scope": "inode:7"})
    server.ask("POST", CHECK, 400, body={"token": lease["token"]}, is_valid=False)
    seen, after = 0, ""
    while after is not None:
        page = server.ask("GET", LEASES, 200, at="/v1/leases?limit=1&after=" + after).json()
        seen += len(page["leases"])
        after = page.get("next")
    require(seen >= 5, seen)
    server.ask("GET", LEASES, 400, at="/v1/leases?kind=x")
    require(server.ask("DELETE", LEASE, 200, at=at).json() == {"released": True})
    for status, token in ((410, lease["token"]), (404, "0" * 32)):
        at = "/v1/leases/" + token
        server.ask("GET", LEASE, status, at=at)
        server.ask("DELETE", LEASE, status, at=at)
        server.ask("POST", RENEW, status, at=at + "/renew", body={"duration_ms": 1000})
        server.ask("POST", CHECK, status, body={"token": token, "scope": BYTES})
        server.ask("PUT", VALUE, status, at=at + "/value", body={"value": "v"})
    for path in (LEASES, LEASE, RENEW, VALUE, ELECTION, CHECK, FENCE, DEADLOCKS):
        server.ask("PATCH", path, 405)


def elections(server):
    at = "/v1/elections/nightly"
    require("leader" not in server.ask("GET", ELECTION, 200, at=at).json())
    lease = take(server, 200, scope={"kind": "named", "name": "nightly"}, value="v")
    require((lease["value"], lease["revision"]) == ("v", 1), lease)
    value = "/v1/leases/" + lease["token"] + "/value"
    state = server.ask("GET", ELECTION, 200, at=at).json()
    require(server.ask("PUT", VALUE, 200, at=value, body={"value": "w"}).json()["revision"] == 2)
    server.ask("PUT", VALUE, 400, at=value, body={}, is_valid=False)
    changed = server.ask("GET", ELECTION, 200, at=f"{at}?watch=true&after={state['position']}").json()
    require(changed["value"] == "w" and changed["position"] > state["position"], changed)
    server.ask("GET", ELECTION, 400, at=at + "?watch=x")
    server.ask("DELETE", LEASE, 200, at="/v1/leases/" + lease["token"])


def scopes_refused(server):
    """Every way in which a lease is not given."""
    errors = set()

    def refused(answer):
        errors.add(answer["error"])

    def wait_for_waiters(count):
        until(lambda: f"\nholdfast_waiters {count}\n" in server.ask("GET", "/metrics", 200).text)

    lease = take(server, 200, request_id="q1")
    refused(take(server, 409))
    refused(take(server, 409, wait_ms=1))
    first, second = [], []
    waits = {"holder": "w2", "wait_ms": 60000, "request_id": "q2"}
    waiter = threading.Thread(target=lambda: first.append(take(server, 409, **waits)))
    waiter.start()
    wait_for_waiters(1)
    again = threading.Thread(target=lambda: second.append(take(server, 200, **waits)))
    again.start()
    waiter.join()
    refused(first[0])
    server.ask("DELETE", LEASE, 200, at="/v1/leases/" + lease["token"])
    again.join()
    refused(take(server, 409, request_id="q1"))
    refused(cancelled(server, wait_for_waiters))
    server.ask("DELETE", LEASE, 200, at="/v1/leases/" + second[0]["token"])
    server.ask("POST", LEASES, 400, body={"scope": {"kind": "file"}, "holder": "w1"}, is_valid=False)
    require(errors == {"LockHeld", "WaitTimedOut", "RequestSuperseded", "RequestEnded", "Cancelled"}, errors)


def cancelled(server, wait_for_waiters):
    """The answer to a client that stops sending while it waits."""
    body = json.dumps({"scope": BYTES, "holder": "w9", "wait_ms": 60000})
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as connection:
        connection.sendall(f"POST /v1/leases HTTP/1.1\r\nHost: localhost\r\n"
                           f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        wait_for_waiters(1)
        connection.shutdown(socket.SHUT_WR)
        response = http.client.HTTPResponse(connection, method="POST")
        response.begin()
        answer = Answer(response)
    server.document.check_answer("POST", LEASES, answer)
    return answer.json()


def sets(server):
    """One lease on several scopes, wherever it is shown."""
    wanted = ["set-a", {"scope": "path:/set", "mode": "shared"}, {"scope": "semaphore:set-s", "limit": 2}]
    lease = server.ask("POST", LEASES, 200, body={"scopes": wanted, "holder": "w1"}).json()
    require([one["scope"] for one in lease["scopes"]] == [
        {"kind": "named", "name": "set-a"}, {"kind": "path", "path": "/set"}, {"kind": "semaphore", "name": "set-s"}])
    at = "/v1/leases/" + lease["token"]
    server.ask("GET", LEASE, 200, at=at)
    server.ask("POST", RENEW, 200, at=at + "/renew")
    server.ask("POST", CHECK, 200, body={"token": lease["token"], "scope": "path:/set"})
    mismatch = server.ask("POST", CHECK, 409, body={"token": lease["token"], "scope": "inode:7"}).json()
    require(len(mismatch["scopes"]) == 3, mismatch)
    texts = ["set-a", "path:/set", "semaphore:set-s"]
    shown = server.ask("GET", "/v1/locks/{lock}", 200, at="/v1/locks/set-a?queue=true").json()
    require(shown["scopes"] == texts, shown)
    listed = server.ask("GET", "/v1/locks", 200, at="/v1/locks?prefix=%2Fset").json()
    require(listed["locks"][0]["holders"][0]["scopes"] == texts, listed)
    page = server.ask("GET", LEASES, 200, at="/v1/leases?path=/set").json()
    require(page["leases"][0]["scopes"] == lease["scopes"], page)
    held = server.ask("POST", LEASES, 409, body={"scopes": ["free", "set-a"], "holder": "w2"}).json()
    require(held["error"] == "LockHeld" and held["scope"] == {"kind": "named", "name": "set-a"}, held)
    server.ask("POST", LEASES, 400, body={"scopes": ["x", "x"], "holder": "w1"})
    server.ask("POST", LEASES, 400, body={"scope": "x", "scopes": ["y"], "holder": "w1"}, is_valid=False)
    server.ask("DELETE", LEASE, 200, at=at)


def deadlocks(server):
    """Two who wait for one another: one is refused when it asks for that, and told of otherwise."""
    def ask(scope, holder, *statuses, **fields):
        return take(server, *statuses, scope=scope, holder=holder, **fields)

    require(server.ask("GET", DEADLOCKS, 200).json()["deadlocks"] == [])
    a, b = ask("dead-a", "ann", 200), ask("dead-b", "bob", 200)
    waits = threading.Thread(target=lambda: ask("dead-b", "ann", 200, wait_ms=60000))
    waits.start()
    until(lambda: "\nholdfast_waiters 1\n" in server.ask("GET", "/metrics", 200).text)
    refused = ask("dead-a", "bob", 409, wait_ms=60000, on_deadlock="refuse")
    require(refused["error"] == "Deadlock", refused)
    require(refused["message"] == "bob waits for ann, who holds dead-a and waits for bob", refused)
    require([one["fencing_token"] for one in refused["cycle"]] == [a["fencing_token"], b["fencing_token"]], refused)
    tells = threading.Thread(target=lambda: ask("dead-a", "bob", 409, wait_ms=2000))
    tells.start()
    until(lambda: len(server.ask("GET", DEADLOCKS, 200).json()["deadlocks"]) == 1)
    listed = server.ask("GET", DEADLOCKS, 200).json()["deadlocks"]
    require(listed[0]["cycle"] == refused["cycle"], listed)
    tells.join()
    require(server.ask("GET", DEADLOCKS, 200).json()["deadlocks"] == [])
    server.ask("DELETE", LEASE, 200, at="/v1/leases/" + b["token"])
    waits.join()
    require("\nholdfast_deadlocks_total 2\n" in server.ask("GET", "/metrics", 200).text, "it is counted")


def fences(server):
    server.ask("GET", FENCE, 404)
    server.ask("DELETE", FENCE, 404)
    server.ask("POST", FENCE, 200, body={"fencing_token": 33})
    server.ask("POST", FENCE, 200, body={"fencing_token": 34})
    server.ask("POST", FENCE, 409, body={"fencing_token": 33})
    require(server.ask("GET", FENCE, 200).json() == {"resource": "r", "highest": 34})
    server.ask("DELETE", FENCE, 200)
    server.ask("POST", FENCE, 400, body={"fencing_token": 0}, is_valid=False)
    server.ask("POST", FENCE, 404, at="/v1/fence/a/b", body={"fencing_token": 1})
    for method in ("GET", "DELETE"):
        server.ask(method, FENCE, 400, at="/v1/fence/%G1")
