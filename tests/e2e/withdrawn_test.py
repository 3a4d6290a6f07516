#!/usr/bin/env python3
"""What a token that was withdrawn or replaced can still do at the real program: nothing, also with what it had begun.

    withdrawn_test.py HOLDFAST

The token `ci` begins something at every door: an upload, an EXEC, waits, streams. Then it is withdrawn by a SIGHUP.
"""

import http.client
import json
import os
import pathlib
import socket
import sys
import tempfile
import threading
import time

from rights_test import PATIENCE_S, Line, Server, new_token, require


class Half:
    """A request of which the body is sent in two parts."""

    def __init__(self, server, door, head, token):
        self.socket = socket.create_connection(("127.0.0.1", server.ports[door]), PATIENCE_S)
        self.socket.sendall(f"{head} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
                            "Content-Length: 20\r\n\r\n0123456789".encode())

    def finish(self):
        """The status and the body of the answer."""
        self.socket.sendall(b"0123456789")
        answer = http.client.HTTPResponse(self.socket)
        answer.begin()
        text = answer.read().decode()
        self.socket.close()
        return answer.status, text


class Later(threading.Thread):
    """A request that is answered later, or a stream that ends later."""

    def __init__(self, server, method, path, token, body=None, headers=None):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection("127.0.0.1", server.ports["http"], timeout=PATIENCE_S)
        self.connection.request(method, path, json.dumps(body) if body else None,
                                {"Authorization": "Bearer " + token, **(headers or {})})
        self.heard = b""
        self.start()

    def run(self):
        answer = self.connection.getresponse()
        self.status = answer.status
        while line := answer.readline():
            self.heard += line
        self.connection.close()

    def answer(self):
        self.join(PATIENCE_S)
        require(not self.is_alive(), "it was never answered; heard so far:", self.heard)
        return self.status, self.heard.decode()

    def wait_until_heard(self, text):
        end = time.monotonic() + PATIENCE_S
        while text.encode() not in self.heard:
            require(time.monotonic() < end, "it never heard", text, ":", self.heard)
            time.sleep(0.01)


def wait_for_queue(server, root, name, length):
    end = time.monotonic() + PATIENCE_S
    while server.ask("GET", f"/v1/locks/{name}?queue=true", root)[1]["queue_length"] != length:
        require(time.monotonic() < end, "the queue of", name, "never had", length)
        time.sleep(0.01)


def holder(server, root, name):
    """Who holds a lock, or None."""
    return server.ask("GET", "/v1/locks/" + name, root)[1].get("owner_id")


def withdraw(tokens, server, name):
    lines = tokens.read_text().splitlines()
    tokens.write_text("".join(line + "\n" for line in lines if line.split()[0] != name))
    server.reload()


def begun(program, folder, threads):
    """Everything that `ci` has begun comes to nothing."""
    tokens, tree = folder / "tokens", folder / "tree"
    ci = new_token(program, tokens, "ci", "lock", "deploy/*", "path:/pub/*")
    root = new_token(program, tokens, "root", "admin", "*")
    server = Server(program, folder, "--tokens", str(tokens), "--files-root", str(tree), "--threads", str(threads))
    held = {}
    for name in ("deploy/w", "deploy/v", "deploy/r", "deploy/q", "deploy/l", "deploy/el"):
        status, held[name] = server.ask("POST", "/v1/leases", root, {"scope": name, "holder": "boss", "value": "before"})
        require(status == 200, held[name])
    session = server.ask("POST", "/auth/session", ci, door="files")[1]["sessionId"]
    (tree / "pub").mkdir()

    upload = Half(server, "files", "PUT /pub/a.txt", session)
    locked = Half(server, "files", "PUT /pub/locked.txt", session)
    state = Half(server, "http", "POST /v1/terraform/deploy%2Fst", ci)
    multi = Line(server, "redis")
    require(multi.say(f"AUTH {ci}\r\n") == "+OK" and multi.say("MULTI\r\n") == "+OK", "MULTI")
    for key in ("deploy/exec", "deploy/exec2"):
        require(multi.say(f"SET {key} v PX 60000\r\n") == "+QUEUED", "SET")
    acquire = Line(server, "redis")
    require(acquire.say(f"AUTH {ci}\r\n") == "+OK", "AUTH")
    acquire.file.write(b"HOLDFAST.ACQUIRE deploy/r c 60000 60000\r\n")
    acquire.file.flush()
    queued, waiting = Line(server, "dflockd"), Line(server, "dflockd")
    for line in (queued, waiting):
        require(line.say(f"auth\n_\n{ci}\n") == "ok", "auth")
    require(queued.say("e\ndeploy/q\n\n") == "queued", "e")
    waiting.file.write(b"l\ndeploy/l\n60\n")
    waiting.file.flush()
    scoped = Later(server, "POST", "/v1/leases", ci, {"scope": "deploy/w", "holder": "c", "wait_ms": 60000})
    wait_for_queue(server, root, "deploy%2Fw", 1)
    behind = Later(server, "POST", "/v1/leases", root, {"scope": "deploy/w", "holder": "next", "wait_ms": 60000})
    lockserver = Later(server, "POST", "/v1/locks/deploy%2Fv/acquire", ci, {"owner_id": "c", "ttl_ms": 9000, "wait_ms": 60000})
    position = server.ask("GET", "/v1/elections/deploy%2Fel", ci)[1]["position"]
    poll = Later(server, "GET", f"/v1/elections/deploy%2Fel?watch=true&after={position}", ci)
    stream = Later(server, "GET", "/v1/elections/deploy%2Fel?watch=true", ci, headers={"Accept": "text/event-stream"})
    stream.wait_until_heard("before")
    events = Later(server, "GET", "/v1/events", ci)
    events.wait_until_heard(":")
    for name, length in (("deploy%2Fw", 2), ("deploy%2Fv", 1), ("deploy%2Fr", 1), ("deploy%2Fq", 1), ("deploy%2Fl", 1)):
        wait_for_queue(server, root, name, length)

    withdraw(tokens, server, "ci")
    # The waits are over before any of the locks is free.
    status, text = scoped.answer()
    require(status == 403 and json.loads(text)["error"] == "Forbidden", status, text)
    status, text = lockserver.answer()
    require(status == 403 and "lost its right" in text, status, text)
    require(acquire.file.readline().startswith(b"-NOPERM"), "HOLDFAST.ACQUIRE")
    require(waiting.file.readline() == b"error_denied lock deploy/l\n", "l")
    require(multi.say("EXEC\r\n").startswith("-NOPERM"), "EXEC")
    for name in ("deploy%2Fexec", "deploy%2Fexec2"):
        require(holder(server, root, name) is None, "EXEC has locked", name)
    for half in (upload, locked):
        status, text = half.finish()
        require(status in (401, 403), "an upload:", status, text)
    require(list((tree / "pub").iterdir()) == [], "a file was written")
    status, text = state.finish()
    require(status == 403 and json.loads(text)["right"] == "lock", "a state:", status, text)
    require(server.ask("GET", "/v1/terraform/deploy%2Fst", root)[0] == 404, "a state was written")
    for lease in held.values():
        if lease["scope"]["name"] != "deploy/el":
            require(server.ask("DELETE", "/v1/leases/" + lease["token"], root)[0] == 200, lease)
    status, text = behind.answer()
    require(status == 200 and json.loads(text)["holder"] == "next", "the next one:", status, text)
    for name in ("deploy%2Fv", "deploy%2Fr", "deploy%2Fq", "deploy%2Fl"):
        require(holder(server, root, name) is None, name, "was granted to", holder(server, root, name))
    require(server.ask("PUT", f"/v1/leases/{held['deploy/el']['token']}/value", root, {"value": "after"})[0] == 200, "value")
    status, text = poll.answer()
    require(status == 403 and '"value"' not in text, "the poll:", status, text)
    for one in (stream, events):
        status, text = one.answer()  # it ends, at the next keep-alive at the latest
        for news in ('"value":"after"', '"owner_id":"next"', "event: released"):
            require(news not in text, "a stream heard", news, ":", text)
    require('"requests that waited have lost their right to the lock","count":5' in server.log_path.read_text(), "the log")
    server.stop()


def leaked(program, folder, *more):
    """A server with a token of --auth-token-file that is replaced, and what had shown the old one."""
    file = folder / "auth.token"
    file.write_text("old\n")
    (folder / "tree").mkdir()
    server = Server(program, folder, "--auth-token-file", str(file), "--files-root", str(folder / "tree"), *more)
    redis, dflockd = Line(server, "redis"), Line(server, "dflockd")
    require(redis.say("AUTH old\r\n") == "+OK" and redis.say("SET a x PX 60000\r\n") == "+OK", "redis")
    require(dflockd.say("auth\n_\nold\n") == "ok" and dflockd.say("l\nb\n0\n").startswith("ok "), "dflockd")
    session = server.ask("POST", "/auth/session", "old", door="files")[1]["sessionId"]
    require(server.ask("PUT", "/x.txt", session, "text", door="files")[0] == 201, "PUT")
    file.write_text("new\n")
    server.reload()
    require(server.ask("GET", "/lock", "new")[0] == 200, "the new token")

    def what_works():
        return {"http": server.ask("GET", "/lock", "old")[0] == 200,
                "redis": redis.say("SET c x PX 60000\r\n") in ("+OK", "$-1"),
                "dflockd": not dflockd.say("l\nd\n0\n").startswith("error_denied"),
                "files": server.ask("PUT", "/x.txt", session, "text", door="files")[0] == 200}
    return server, redis, what_works


def replaced(program, folder):
    server, redis, what_works = leaked(program, folder)
    require(not any(what_works().values()), "the old token still works:", what_works())
    require(redis.say("SET c x PX 60000\r\n").startswith("-NOPERM"), "SET")
    require(holder(server, "new", "b") is not None, "what it holds stays until it ends")
    server.stop()


def overlapping(program, folder):
    server, _, what_works = leaked(program, folder, "--token-overlap", "1h")
    require(all(what_works().values()), "they overlap:", what_works())
    server.stop()


def overlapped(program, folder):
    server, _, what_works = leaked(program, folder, "--token-overlap", "100ms")
    end = time.monotonic() + PATIENCE_S
    while any((working := what_works()).values()):
        require(time.monotonic() < end, "the overlap never ends:", working)
        time.sleep(0.05)
    server.stop()


def limits(program, folder):
    """What a token with limits does not get: other people's sets, names and request ids."""
    tokens, tree = folder / "tokens", folder / "tree"
    ci, cd = (new_token(program, tokens, name, "lock", "deploy/*", "path:/pub/*") for name in ("ci", "cd"))
    adm = new_token(program, tokens, "adm", "admin", "deploy/*")
    root = new_token(program, tokens, "root", "admin", "*")
    flags = ("--tokens", str(tokens), "--files-root", str(tree), "--history", "0")
    server = Server(program, folder, *flags)
    take = lambda token, **body: server.ask("POST", "/v1/leases", token, {"holder": "w1", "ttl_ms": 600000, **body})

    both = take(root, scopes=["prod-db", "deploy/y"])[1]
    status, answer = server.ask("DELETE", "/v1/locks/deploy%2Fy", adm)
    require(status == 403 and "prod" not in json.dumps(answer) and "on" not in answer, "a set was ended:", status, answer)
    require(server.ask("GET", "/v1/leases/" + both["token"], root)[0] == 200, "the set has ended")
    require(take(root, scope="deploy/z")[0] == 200, "a lease")
    status, answer = server.ask("DELETE", "/v1/locks/deploy%2Fz", adm)
    require((status, answer.get("holders")) == (200, 1), status, answer)

    hidden = take(root, scope="path:/hidden/secret")[1]["token"]
    session = server.ask("POST", "/auth/session", ci, door="files")[1]["sessionId"]
    status, answer = server.ask("PUT", "/pub/a.txt", session, "text", "files", {"Lock-Token": hidden})
    require(status == 409 and "hidden" not in json.dumps(answer), "it names what is hidden:", status, answer)

    status, lease = take(ci, scope="deploy/rid", request_id="r-17")
    require(status == 200, lease)
    status, other = take(cd, scope="deploy/rid", request_id="r-17")
    require(status == 409 and other["error"] == "LockHeld", "the lease of another token:", status, other)
    again = take(ci, scope="deploy/rid", request_id="r-17")[1]
    require(again["token"] == lease["token"], "its own lease:", again)
    server.stop()
    server = Server(program, folder, *flags)
    require(take(cd, scope="deploy/rid", request_id="r-17")[0] == 409, "after a restart")
    require(take(ci, scope="deploy/rid", request_id="r-17")[1]["token"] == lease["token"], "after a restart")
    server.stop()


def main(program):
    for run, *more in ((begun, 1), (begun, 2), (replaced,), (overlapping,), (overlapped,), (limits,)):
        with tempfile.TemporaryDirectory() as name:
            run(program, pathlib.Path(name), *more)
        print("seen:", run.__name__, *more)


if __name__ == "__main__":
    os.environ.pop("HOLDFAST_TOKENS", None)
    main(sys.argv[1])
