#!/usr/bin/env python3
"""Tokens with rights of their own at every door of the real program.

    rights_test.py HOLDFAST

The token `ci` may lock `deploy/*` and the paths below `/shared/deploy`, and nothing else. It tries everything else, at
every door. `root` may do everything, `ui` may read everything.
"""

import atexit
import base64
import hashlib
import http.client
import json
import os
import pathlib
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE_S = 60


def require(condition, *about):
    if not condition:
        raise AssertionError(" ".join(str(one) for one in about))


class Server:
    DOORS = ("http", "dflockd", "redis", "files")

    def __init__(self, program, folder, *flags):
        self.log_path = folder / "log"
        self.log = open(self.log_path, "wb")
        doors = [word for door in self.DOORS for word in (f"--{door}", "127.0.0.1:0")]
        self.process = subprocess.Popen([program, "serve", *doors, "--data", str(folder / "data"), *flags],
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)
        atexit.register(self.process.kill)  # of a test that fails
        self.ports = {}
        for _ in self.DOORS:
            words = self.process.stdout.readline().split()
            require(words[:1] == ["listening"], "the server did not start:", self.log_path.read_text())
            self.ports[words[1]] = int(words[2].rsplit(":", 1)[1])

    def ask(self, method, path, token, body=None, door="http", headers=None):
        """Status, and the JSON of the answer if it is some, or its text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[door], timeout=PATIENCE_S)
        if isinstance(body, dict):
            body = json.dumps(body)
        connection.request(method, path, body, {"Authorization": "Bearer " + token, **(headers or {})})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text

    def wait_for_log(self, text, count=1):
        end = time.monotonic() + PATIENCE_S
        while self.log_path.read_text().count(text) < count:
            require(time.monotonic() < end, "the log never said", text)
            time.sleep(0.01)

    def reload(self, word="reloaded"):
        count = self.log_path.read_text().count(f'"{word}')
        self.process.send_signal(signal.SIGHUP)
        self.wait_for_log(f'"{word}', count + 1)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        require(self.process.wait(PATIENCE_S) == 0, "it did not end well")
        self.log.close()


class Line:
    """A connection that speaks in lines."""

    def __init__(self, server, door):
        self.socket = socket.create_connection(("127.0.0.1", server.ports[door]), PATIENCE_S)
        self.file = self.socket.makefile("rwb")

    def say(self, text):
        self.file.write(text.encode())
        self.file.flush()
        return self.file.readline().decode().strip()


def denied(answer, right, scope):
    """`scope` None: the answer must not name it."""
    status, body = answer
    require(status == 403 and body["right"] == right and body.get("on") == scope, "not denied", right, scope, ":", answer)
    require("the token ci lacks the right " in json.dumps(body) or "without its ID" in json.dumps(body), body)


def new_token(program, path, *words):
    done = subprocess.run([program, "token", "new", *words, "--tokens", str(path)], capture_output=True, text=True)
    require(done.returncode == 0, "token new", words, ":", done.stderr)
    return done.stdout.strip()


def commands(program, folder):
    """`holdfast token new`."""
    path = folder / "some.tokens"
    secret = new_token(program, path, "ci", "lock", "deploy/*", "@http")
    require(secret.startswith("hf_") and secret not in path.read_text(), "the secret is in the file")
    require(stat.S_IMODE(path.stat().st_mode) == 0o600, "others may read the file")
    new_token(program, path, "ui", "read", "*")
    require([line.split()[0] for line in path.read_text().splitlines()] == ["ci", "ui"], path.read_text())
    before = path.read_text()
    for words, named in ((["ci", "read", "*"], "the name is that of line 1"), (["x", "write", "*"], "read, lock or admin"),
                         (["x", "lock"], "RIGHT PATTERN"), (["x", "lock", "a b"], "%20"), (["x y", "lock", "a"], "the name of a token"),
                         (["auth", "lock", "*"], "--auth-token-file"), (["x", "lock", "a", "@web"], "dflockd")):
        done = subprocess.run([program, "token", "new", *words, "--tokens", str(path)], capture_output=True, text=True)
        require(done.returncode != 0 and (named in done.stderr or len(words) < 3), words, done.stderr)
        require(done.stdout == "", "a secret was shown although nothing was added")
    require(path.read_text() == before, "the file has changed")
    require(sorted(each.name for each in folder.iterdir()) == ["some.tokens"], "something was left behind")
    alone = subprocess.run([program, "token", "new", "ci", "lock", "deploy/*"], capture_output=True, text=True)
    secret, line = alone.stdout.splitlines()
    require(secret.startswith("hf_") and line.startswith("ci lock deploy/* sha256:"), alone.stdout)
    many = [subprocess.Popen([program, "token", "new", f"t{number}", "read", "*", "--json", "--tokens", str(path)],
                             stdout=subprocess.PIPE, text=True) for number in range(8)]
    made = [json.loads(each.communicate()[0]) for each in many]
    require(all(each["secret"].startswith("hf_") and each["line"].startswith(each["name"] + " read") for each in made), made)
    names = sorted(line.split()[0] for line in path.read_text().splitlines())
    require(names == ["ci", *(f"t{number}" for number in range(8)), "ui"], "a line was lost:", names)
    wrong = subprocess.run([program, "token", "new", "x", "write", "*", "--json"], capture_output=True, text=True)
    require("read, lock or admin" in json.loads(wrong.stdout or wrong.stderr)["message"], wrong.stdout, wrong.stderr)


def secret_files(program, folder):
    """Secrets in files: nobody else may read them, and none is lost or shown."""
    def token(*words):
        return subprocess.run([program, "token", *words], capture_output=True, text=True, umask=0)

    def mode(path):
        return stat.S_IMODE(path.stat().st_mode)

    tokens, file = folder / "files.tokens", folder / "ci.token"
    new = ("new", "ci", "lock", "deploy/*", "--secret-file", str(file))
    done = token(*new, "--tokens", str(tokens))
    require(done.returncode == 0 and done.stdout == "", done)
    secret = file.read_text().strip()
    require(secret.startswith("hf_") and mode(file) == 0o600, secret, mode(file))
    require(hashlib.sha256(secret.encode()).hexdigest() in tokens.read_text(), "it is not the secret of the line")
    again = token("new", "ui", *new[2:], "--tokens", str(tokens))
    require(again.returncode != 0 and str(file) in again.stderr, "the only copy of a secret was replaced:", again)
    require(file.read_text().strip() == secret and len(tokens.read_text().splitlines()) == 1, "something was written")
    file.unlink()
    refused = token(*new, "--tokens", str(tokens))  # there is a token of this name
    require(refused.returncode != 0 and not file.exists(), "a secret without a token was left:", refused)
    alone = token(*new, "--json")
    require("secret" not in json.loads(alone.stdout) and file.exists(), alone)

    made = folder / "made.token"
    done = token("make", str(made))
    require(done.returncode == 0 and done.stdout == done.stderr == "" and mode(made) == 0o600, done)
    secret = made.read_text().strip()
    require(secret.startswith("hf_"), secret)
    require(token("make", str(made)).returncode != 0 and made.read_text().strip() == secret, "a secret was replaced")
    made.chmod(0o640)
    require(token("make", "--replace", str(made)).returncode == 0, "it was not replaced")
    require(made.read_text().strip() not in ("", secret) and mode(made) == 0o640, made.read_text(), mode(made))
    for each in (tokens, file, made):
        each.unlink()


def wrong_secrets(server, root):
    """A wrong secret is counted by its door, and logged with the address of the client."""
    require(server.ask("GET", "/lock", "wrong")[0] == 401, "a wrong secret")
    require(server.ask("GET", "/lock", "", headers={"Authorization": ""})[0] == 401, "no secret is none that is wrong")
    require(Line(server, "dflockd").say("auth\n_\nwrong\n") == "error_auth", "a wrong secret")
    require(Line(server, "redis").say("AUTH wrong\r\n").startswith("-WRONGPASS"), "a wrong password")
    require(Line(server, "redis").say("HELLO 3 AUTH user wrong\r\n").startswith("-WRONGPASS"), "a wrong password")
    require(server.ask("POST", "/auth/session", "wrong", door="files")[0] == 401, "a wrong secret")
    metrics = server.ask("GET", "/metrics", root)[1]
    for door, count in (("http", 1), ("dflockd", 1), ("redis", 2), ("files", 1)):
        require(f'holdfast_wrong_secrets_total{{door="{door}"}} {count}\n' in metrics, door, count, metrics)
    server.wait_for_log('"message":"a wrong secret","door":"http","from":"127.0.0.1"')


def http_doors(server, ci, root):
    for name in ("prod", "deploy/old"):
        require(server.ask("POST", f"/v1/locks/{name.replace('/', '%2F')}/acquire", root,
                           {"owner_id": "o", "ttl_ms": 600000})[0] == 200, "root may lock")
    status, other = server.ask("POST", "/v1/leases", root, {"scope": "path:/etc/passwd", "holder": "o"})
    require(status == 200, other)
    # homelab
    denied(server.ask("GET", "/lock?job=prod", ci), "read", "prod")
    denied(server.ask("POST", "/lock?job=prod&client=c", ci), "lock", "prod")
    denied(server.ask("DELETE", "/lock?job=prod&client=c", ci), "lock", "prod")
    denied(server.ask("POST", "/lock?client=c", ci), "lock", "default")
    require(server.ask("POST", "/lock?job=deploy/job&client=c", ci)[0] == 200, "it may lock deploy/job")
    require(server.ask("DELETE", "/lock?job=deploy/job&client=c", ci)[0] == 200, "and release it")
    # lockserver
    body = {"owner_id": "c", "ttl_ms": 5000}
    denied(server.ask("POST", "/v1/locks/prod/acquire", ci, body), "lock", "prod")
    denied(server.ask("POST", "/v1/locks/prod/acquire", ci, {**body, "limit": 3}), "lock", "semaphore:prod")
    lease = {"owner_id": "o", "lease_id": "0197bea2-9ad8-40a0-938c-d345e1a2165a", "fencing_token": 1}
    denied(server.ask("POST", "/v1/locks/prod/renew", ci, {**lease, "extend_by_ms": 1000}), "lock", "prod")
    denied(server.ask("POST", "/v1/locks/prod/release", ci, lease), "lock", "prod")
    denied(server.ask("GET", "/v1/locks/prod", ci), "read", "prod")
    denied(server.ask("GET", "/v1/locks/7?kind=inode", ci), "read", "inode:7")
    denied(server.ask("DELETE", "/v1/locks/deploy%2Fold", ci), "admin", "*")
    status, held = server.ask("POST", "/v1/locks/deploy%2Fold/acquire", ci, body)
    require(status == 409 and held["current_owner_id"] == "o", "a refusal names the holder:", held)
    status, listing = server.ask("GET", "/v1/locks?limit=1", ci)
    require(status == 200 and [lock["lock_name"] for lock in listing["locks"]] == ["deploy/old"] and "next" not in listing,
            "the listing shows too much:", listing)
    # scoped
    denied(server.ask("POST", "/v1/leases", ci, {"scope": "prod", "holder": "c"}), "lock", "prod")
    denied(server.ask("POST", "/v1/leases", ci, {"scope": "range:7:0-5", "holder": "c"}), "lock", "range:7:0-5")
    denied(server.ask("GET", "/v1/leases/" + other["token"], ci), "read", None)
    denied(server.ask("DELETE", "/v1/leases/" + other["token"], ci), "lock", None)
    denied(server.ask("POST", f"/v1/leases/{other['token']}/renew", ci), "lock", None)
    require(server.ask("GET", "/v1/leases/" + "0" * 32, ci)[0] == 404, "an unknown lease")
    status, own = server.ask("POST", "/v1/leases", ci, {"scope": "deploy/web", "holder": "c"})
    require(status == 200, own)
    for method, rest in (("GET", ""), ("POST", "/renew"), ("DELETE", "")):
        require(server.ask(method, f"/v1/leases/{own['token']}{rest}", ci)[0] == 200, "its own lease:", method)
    status, listing = server.ask("GET", "/v1/leases?limit=1", ci)
    require([lease["scope"]["name"] for lease in listing["leases"]] == ["deploy/old"] and "next" not in listing,
            "the listing shows too much:", listing)
    denied(server.ask("POST", "/v1/fence/check", ci, {"token": other["token"], "scope": "path:/etc/passwd"}),
           "read", "path:/etc/passwd")
    denied(server.ask("POST", "/v1/fence/bucket", ci, {"fencing_token": 5}), "lock", "bucket")
    denied(server.ask("GET", "/v1/fence/bucket", ci), "read", "bucket")
    denied(server.ask("DELETE", "/v1/fence/bucket", ci), "admin", "*")
    require(server.ask("POST", "/v1/fence/deploy%2Fbucket", ci, {"fencing_token": 5})[0] == 200, "a fence of its own")
    # the server itself
    for method, path, right in (("GET", "/metrics", "read"), ("GET", "/v1/sessions", "read"), ("GET", "/v1/backup", "admin"),
                                ("GET", "/v1/cluster", "read"),
                                ("DELETE", "/v1/sessions/1-1", "admin"), ("POST", "/v1/cluster/resign", "admin")):
        denied(server.ask(method, path, ci), right, "*")
    status, told = server.ask("GET", "/v1/status", ci)
    require(status == 200 and "figures" not in told and not told["admin"], "figures count what it may not see:", told)
    require([sorted(each) for each in told["listeners"]] == [["address", "name", "tls"]] and
            told["listeners"][0]["name"] == "files" and told["configuration"] == {"files-url": ""},
            "how the server was started:", told)
    told = server.ask("GET", "/v1/status", root)[1]
    require("figures" in told and told["listeners"] and "data" in told["configuration"], "root sees all of it")
    require(server.ask("GET", "/lock", "wrong")[0] == 401, "a wrong secret")


def acts(server, root):
    """What an administrator does is one line and one event each, with the name of the token."""
    stream = http.client.HTTPConnection("127.0.0.1", server.ports["http"], timeout=PATIENCE_S)
    stream.request("GET", "/v1/events", headers={"Authorization": "Bearer " + root})
    events = stream.getresponse()
    require(events.status == 200, "events")

    def take(name):
        status, lease = server.ask("POST", "/v1/leases", root, {"scope": name, "holder": "ann"})
        require(status == 201 or status == 200, lease)

    expected = []
    take("acts/lock")
    require(server.ask("DELETE", "/v1/locks/acts%2Flock", root)[1]["released"], "by force")
    expected.append(("force_release", "acts/lock"))
    require(not server.ask("DELETE", "/v1/locks/acts%2Flock", root)[1]["released"], "nobody held it: that is no act")

    state = "/v1/terraform/acts%2Fstate"
    for text in ('{"version": 4, "serial": 1}', '{"version": 4, "serial": 2}'):
        require(server.ask("POST", state, root, text)[0] == 200, "a state")
    require(server.ask("POST", state + "/lock", root, {"ID": "tf-1"})[0] == 200, "its lock")
    require(server.ask("DELETE", state + "/lock", root)[0] == 200, "force-unlock")
    expected.append(("force_release", "acts/state"))
    require(server.ask("POST", state + "/rollback?version=1", root)[0] == 200, "a rollback")
    expected.append(("roll_back", "acts/state, version 1"))

    connection = Line(server, "dflockd")
    require(connection.say(f"auth\n_\n{root}\n") == "ok", "auth")
    require(connection.say("l\nacts/session\n0\n").startswith("ok "), "a session")
    sessions = server.ask("GET", "/v1/sessions", root)[1]["sessions"]
    [held] = [each["id"] for each in sessions if each["door"] == "dflockd" and each["leases"]]
    require(server.ask("DELETE", "/v1/sessions/" + held, root)[0] == 200, "its end")
    expected.append(("end_session", held))
    logins = [server.ask("POST", "/auth/session", root, door="files")[1] for _ in range(2)]
    headers = {"Authorization": "Bearer " + logins[0]["sessionId"]}
    for name in (logins[1]["name"], logins[0]["name"]):  # the second one is its own: a logout
        require(server.ask("DELETE", "/auth/sessions/" + name, "", door="files", headers=headers)[0] == 204, "a login")
    expected.append(("end_session", logins[1]["name"]))

    seen, kind = [], ""
    while len(seen) < len(expected):
        line = events.readline().decode().rstrip("\n")
        if line.startswith("event: "):
            kind = line[7:]
        if kind == "audit" and line.startswith("data: "):
            data = json.loads(line[6:])
            require(data["by"] == "root", data)
            seen.append((data["action"], data["what"]))
    require(seen == expected, seen)
    stream.close()
    lines = [json.loads(line) for line in server.log_path.read_text().splitlines() if '"message":"audit"' in line]
    require([(line["level"], line["action"], line["what"], line["by"]) for line in lines] ==
            [("warning", action, what, "root") for action, what in expected], lines)
    past = server.ask("GET", "/v1/history?prefix=acts%2F", root)[1]["history"]
    ended = {row["scope"]["name"]: (row["ended"], row["ended_by"]) for row in past}
    require(ended == {"acts/lock": ("forced", "root"), "acts/state": ("forced", "root"),
                      "acts/session": ("session", "root")}, ended)


def sets(server, ci, root):
    """A lease on several scopes needs the right on each of them; who may not read all of them is not shown it."""
    both = {"scopes": ["deploy/set", "prod-set"], "holder": "o"}
    denied(server.ask("POST", "/v1/leases", ci, {**both, "holder": "c"}), "lock", "prod-set")
    status, lease = server.ask("POST", "/v1/leases", root, both)
    require(status == 200, lease)
    at = "/v1/leases/" + lease["token"]
    denied(server.ask("GET", at, ci), "read", None)
    denied(server.ask("POST", at + "/renew", ci), "lock", None)
    denied(server.ask("DELETE", at, ci), "lock", None)
    check = lambda token, scope: server.ask("POST", "/v1/fence/check", token, {"token": lease["token"], "scope": scope})
    require(len(check(root, "deploy/set")[1]["scopes"]) == 2, "root sees the whole lease")
    status, shown = check(ci, "deploy/set")
    require(status == 200 and "prod" not in json.dumps(shown) and shown["scope"]["name"] == "deploy/set", "a check:", shown)
    status, shown = check(ci, "deploy/nothing")
    require(status == 409 and "prod" not in json.dumps(shown), "a check for something else:", shown)
    shown = [one["holder"] for one in server.ask("GET", "/v1/leases", ci)[1]["leases"] if "scopes" in one]
    require(shown == [], "the listing shows a lease on something else, too:", shown)
    status, lock = server.ask("GET", "/v1/locks/deploy%2Fset", ci)
    require(status == 200 and lock["owner_id"] == "o" and lock["scopes"] == ["deploy/set"], "the lock shows too much:", lock)
    listed = [lock for lock in server.ask("GET", "/v1/locks", ci)[1]["locks"] if lock["lock_name"] == "deploy/set"]
    require(listed[0]["holders"][0]["scopes"] == ["deploy/set"], "the listing shows too much:", listed)
    require(server.ask("DELETE", at, root)[0] == 200, "root may release it")
    status, own = server.ask("POST", "/v1/leases", ci, {"scopes": ["deploy/set", "deploy/other"], "holder": "c"})
    require(status == 200, own)
    for method, rest in (("GET", ""), ("POST", "/renew"), ("DELETE", "")):
        require(server.ask(method, f"/v1/leases/{own['token']}{rest}", ci)[0] == 200, "its own lease:", method)


def deadlocks(server, ci, root):
    """Of a deadlock, a client sees only those who wait for something that it may read."""
    def ask(token, scope, holder, **more):
        return server.ask("POST", "/v1/leases", token, {"scope": scope, "holder": holder, **more})

    leases = [ask(ci, "deploy/dead", "c")[1], ask(root, "prod-dead", "o")[1]]

    def wait_for(scope, holder):
        leases.append(ask(root, scope, holder, wait_ms=60000)[1])

    waiters = [threading.Thread(target=wait_for, args=args) for args in (("deploy/dead", "o"), ("prod-dead", "c"))]
    waiters[0].start()
    end = time.monotonic() + PATIENCE_S
    while server.ask("GET", "/v1/locks/deploy%2Fdead?queue=true", root)[1]["queue_length"] == 0:
        require(time.monotonic() < end, "nobody waits")
    waiters[1].start()
    while not (seen := server.ask("GET", "/v1/deadlocks", root)[1]["deadlocks"]):
        require(time.monotonic() < end, "there is no deadlock")
    require([one["holder"] for one in seen[0]["cycle"]] == ["c", "o"], seen)
    status, told = server.ask("GET", "/v1/deadlocks", ci)
    require(status == 200 and len(told["deadlocks"]) == 1, told)
    hidden, shown = told["deadlocks"][0]["cycle"]
    require(hidden == {"hidden": True} and shown["holder"] == "o", "it shows too much:", told)
    for one in (0, 1):
        require(server.ask("DELETE", "/v1/leases/" + leases[one]["token"], root)[0] == 200, "the end of", leases[one])
    for waiter in waiters:
        waiter.join()
    for lease in leases[2:]:
        require(server.ask("DELETE", "/v1/leases/" + lease["token"], root)[0] == 200, "the end of", lease)


def history(server, ci, root):
    """Of the history, a client sees what it may read; of a set, what it may read whole."""
    for scopes in (["prod-past"], ["deploy/past"], ["deploy/past", "prod-past"]):
        status, lease = server.ask("POST", "/v1/leases", root, {"scopes": scopes, "holder": "o"})
        require(status == 200, lease)
        require(server.ask("DELETE", "/v1/leases/" + lease["token"], root)[0] == 200, "the end of", lease)

    def names(token, query):
        status, page = server.ask("GET", "/v1/history?" + query, token)
        require(status == 200, page)
        shown = [[one["scope"].get("name") for one in hold.get("scopes", [hold])] for hold in page["history"]]
        return shown, page.get("next")

    require(names(root, "limit=3")[0] == [["deploy/past", "prod-past"], ["deploy/past"], ["prod-past"]], "root sees all")
    shown, following = names(ci, "limit=1")
    require(shown == [["deploy/past"]], "the history shows too much:", shown)
    while following:
        more, following = names(ci, "limit=1&after=" + following)
        require(all(name.startswith("deploy/") for name in sum(more, [])), "a later page shows too much:", more)
    require(names(ci, "scope=prod-past") == ([], None), "it may not read prod-past")
    require(names(ci, "owner=o&prefix=prod") == ([], None), "nor by its prefix")


def elections(server, ci, root):
    denied(server.ask("GET", "/v1/elections/prod-lead", ci), "read", "prod-lead")
    denied(server.ask("GET", "/v1/elections/prod-lead?watch=true&after=1", ci), "read", "prod-lead")
    lease = server.ask("POST", "/v1/leases", root, {"scope": "prod-lead", "holder": "o", "value": "v"})[1]
    denied(server.ask("PUT", f"/v1/leases/{lease['token']}/value", ci, {"value": "mine"}), "lock", None)
    require(server.ask("GET", "/v1/elections/prod-lead", root)[1]["value"] == "v", "it is as it was")
    own = server.ask("POST", "/v1/leases", ci, {"scope": "deploy/lead", "holder": "c", "value": "v"})[1]
    require(server.ask("PUT", f"/v1/leases/{own['token']}/value", ci, {"value": "w"})[0] == 200, "a value of its own")
    require(server.ask("GET", "/v1/elections/deploy%2Flead", ci)[1]["value"] == "w", "its own election")
    for token in (lease["token"], own["token"]):
        require(server.ask("DELETE", "/v1/leases/" + token, root)[0] == 200, "the end of", token)


def terraform(server, ci, root):
    lock = {"ID": "1", "Operation": "apply", "Who": "o"}
    require(server.ask("POST", "/v1/terraform/live", root, '{"serial":1}')[0] == 200, "root may write")
    for method, path, right in (("GET", "", "read"), ("POST", "", "lock"), ("DELETE", "", "lock"), ("LOCK", "", "lock"),
                                ("UNLOCK", "", "lock"), ("POST", "/lock", "lock"), ("DELETE", "/lock", "lock"),
                                ("GET", "/versions", "read"), ("POST", "/rollback?version=1", "lock")):
        denied(server.ask(method, "/v1/terraform/live" + path, ci, lock), right, "live")
    own = "/v1/terraform/deploy%2Fnet"
    require(server.ask("POST", own, ci, '{"serial":1}')[0] == 200, "a state of its own")
    require(server.ask("LOCK", own, ci, lock)[0] == 200, "its lock")
    denied(server.ask("UNLOCK", own, ci), "admin", "deploy/net")
    require(server.ask("UNLOCK", own, ci, lock)[0] == 200, "its release")
    status, listing = server.ask("GET", "/v1/terraform", ci)
    require([state["name"] for state in listing["states"]] == ["deploy/net"], "the listing shows too much:", listing)
    basic = http.client.HTTPConnection("127.0.0.1", server.ports["http"], timeout=PATIENCE_S)
    password = base64.b64encode(f"anybody:{ci}".encode()).decode()
    basic.request("GET", "/v1/terraform/live", headers={"Authorization": "Basic " + password})
    require(basic.getresponse().status == 403, "Basic with any user is the token")
    basic.close()


def dflockd(server, ci):
    line = Line(server, "dflockd")
    require(line.say(f"auth\n_\n{ci}\n") == "ok", "auth")
    require(line.say("l\nprod\n0\n") == "error_denied lock prod", "l")
    require(line.say("e\nprod\n\n") == "error_denied lock prod", "e")
    require(line.say("w\nprod\n0\n") == "error_denied lock prod", "w")
    require(line.say(f"r\nprod\n{'0' * 32}\n") == "error_denied lock prod", "r")
    require(line.say(f"n\nprod\n{'0' * 32}\n") == "error_denied lock prod", "n")
    require(line.say("sl\nprod\n0 2\n") == "error_denied lock semaphore:prod", "sl")
    require(line.say("l\ndeploy/df\n0\n").startswith("ok "), "l of its own")
    stats = json.loads(line.say("stats\n_\n\n")[3:])
    require(sorted(lock["key"] for lock in stats["locks"]) == ["deploy/df", "deploy/old"], "stats:", stats)
    return line


def redis(server, ci):
    line = Line(server, "redis")
    require(line.say("GET prod\r\n") == "-NOAUTH Authentication required.", "no password")
    require(line.say(f"AUTH {ci}\r\n") == "+OK", "AUTH")
    for command in ("SET prod x NX", "GET prod", "DEL prod", "EXPIRE prod 1", "WATCH prod", "HOLDFAST.ACQUIRE prod w 9 0"):
        require(line.say(command + "\r\n").startswith("-NOPERM the token ci lacks the right "), command)
    require(line.say("EVAL \"return redis.call('get', KEYS[1])\" 1 prod\r\n").startswith("-NOPERM"), "a script")
    require(line.say("SET deploy/r x NX PX 60000\r\n") == "+OK", "SET of its own")
    return line


def files(server, ci, root, tree):
    login = lambda secret: server.ask("POST", "/auth/session", secret, door="files")
    status, session = login(ci)
    require(status == 201 and session["permissions"] == ["read", "write"], "login:", session)
    ask = lambda method, path, body=None, who=session["sessionId"]: server.ask(method, path, who, body, "files")
    master = login(root)[1]["sessionId"]
    for path in ("/secret.txt", "/shared/other.txt", "/shared/deploy/a.txt", "/shared/deploy/b.txt"):
        (tree / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        (tree / path[1:]).write_text("text")
    for method, path, right in (("GET", "/secret.txt", "read"), ("GET", "/nothing.txt", "read"), ("HEAD", "/secret.txt", ""),
                                ("PUT", "/secret.txt", "lock"), ("DELETE", "/secret.txt", "lock"), ("POST", "/new/", "lock"),
                                ("DELETE", "/shared/", "lock"), ("GET", "/secret.txt?lock=status", "read"),
                                ("GET", "/secret.txt?lock=acquire", "lock"), ("GET", "/shared/deploy?lock=status", "read")):
        answer = ask(method, path, "x" if method == "PUT" else None)
        if method == "HEAD":
            require(answer[0] == 403, path, answer)
        else:
            denied(answer, right, "path:" + path.split("?")[0].rstrip("/"))
    require(ask("GET", "/shared/deploy/a.txt") == (200, "text"), "its own file")
    require(ask("PUT", "/shared/deploy/a.txt", "new")[0] in (200, 201, 204), "its own file")
    names = lambda path: [each["path"] for each in ask("GET", path)[1]["entries"]]
    require(names("/") == ["/shared/"], "the root shows too much:", ask("GET", "/"))
    require(names("/shared/") == ["/shared/deploy/"], "the folder shows too much:", ask("GET", "/shared/"))
    page = ask("GET", "/?shallow=false&limit=2")[1]
    require([each["path"] for each in page["entries"]] == ["/shared/", "/shared/deploy/"], page)
    sessions = ask("GET", "/auth/sessions")[1]["sessions"]
    require([each["current"] for each in sessions] == [True], "it sees other sessions:", sessions)
    others = server.ask("GET", "/auth/sessions", master, door="files")[1]["sessions"]
    require(len(others) == 2, "root sees both:", others)
    stranger = next(each["name"] for each in others if each["current"])
    denied(ask("DELETE", "/auth/sessions/" + stranger), "lock", "*")
    return ask


def read_events(server, token, heard):
    connection = http.client.HTTPConnection("127.0.0.1", server.ports["http"], timeout=PATIENCE_S)
    connection.request("GET", "/v1/events", headers={"Authorization": "Bearer " + token})
    answer = connection.getresponse()
    heard.append(answer.readline())  # it is open

    def follow():
        for line in answer:
            heard.append(line)
            if b"deploy/last" in line:
                return
    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    return thread


def main(program):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "commands").mkdir()
        commands(program, folder / "commands")
        secret_files(program, folder / "commands")
        tokens, tree = folder / "tokens", folder / "tree"
        ci = new_token(program, tokens, "ci", "lock", "deploy/*", "path:/shared/deploy/*")
        root = new_token(program, tokens, "root", "admin", "*")
        ui = new_token(program, tokens, "ui", "read", "*")
        server = Server(program, folder, "--tokens", str(tokens), "--files-root", str(tree))
        events, all_events = [], []
        watchers = [read_events(server, ci, events), read_events(server, ui, all_events)]
        wrong_secrets(server, root)
        http_doors(server, ci, root)
        sets(server, ci, root)
        acts(server, root)
        deadlocks(server, ci, root)
        history(server, ci, root)
        elections(server, ci, root)
        terraform(server, ci, root)
        line = dflockd(server, ci)
        other = redis(server, ci)
        ask_files = files(server, ci, root, tree)
        server.ask("POST", "/lock?job=deploy/last&client=c", ci)
        for watcher in watchers:
            watcher.join(PATIENCE_S)
        heard, all_heard = (b"".join(lines).decode() for lines in (events, all_events))
        require("deploy/job" in heard and "deploy/last" in heard, "it hears of its own:", heard)
        for hidden in ("prod", "/etc/passwd", "session_opened"):
            require(hidden not in heard and hidden in all_heard, hidden, "in", heard)
        events = [json.loads(line[6:]) for line in all_heard.splitlines() if line.startswith("data: {")]
        for door in ("homelab", "lockserver", "scoped", "terraform", "dflockd", "redis", "hengdang"):
            asked = [event.get("by") for event in events if event.get("door") == door and "queue_length" in event]
            require({"ci", "root"} & set(asked), "who has asked at the door", door, asked)
        ended = server.ask("GET", "/v1/history?limit=1000", root)[1]["history"]
        names = {(hold["door"], hold.get("granted_by"), hold.get("ended_by")) for hold in ended}
        require(any(granted_by == "ci" for _, granted_by, _ in names), names)
        metrics = server.ask("GET", "/metrics", ui)[1]
        require('holdfast_denials_total{token="ci",right="admin"}' in metrics, metrics)
        require(server.ask("POST", "/lock?job=x&client=c", ui)[0] == 403, "ui may only read")

        # Other rights hold at once, on connections that are open and for logins, too.
        lines = tokens.read_text().splitlines()
        tokens.write_text("\n".join([lines[0].replace("deploy/*", "prod", 1), *lines[1:]]) + "\nbad line\n")
        server.reload("not reloaded")
        require(line.say("l\ndeploy/df2\n0\n").startswith("ok "), "a wrong file changes nothing")
        tokens.write_text("\n".join([lines[0].replace("deploy/*", "prod", 1), *lines[1:]]) + "\n")
        server.reload()
        require(line.say("l\ndeploy/df3\n0\n") == "error_denied lock deploy/df3", "new rights")
        require(line.say("l\nprod\n0\n") == "timeout", "new rights")
        require(other.say("GET deploy/r\r\n").startswith("-NOPERM"), "new rights")
        tokens.write_text("\n".join(lines[1:]) + "\n")
        server.reload()
        require(server.ask("GET", "/lock?job=prod", ci)[0] == 401, "it was withdrawn")
        require(line.say("l\nprod\n0\n") == "error_denied lock prod", "it was withdrawn")
        require(ask_files("GET", "/shared/deploy/a.txt")[0] == 401, "its logins end with it")
        server.stop()
        log = server.log_path.read_text()
        denied = [json.loads(line) for line in log.splitlines() if '"message":"denied"' in line]
        of_ci = [line for line in denied if line["token"] == "ci"]
        require(of_ci and all(line["right"] and line["scope"] and line["door"] for line in of_ci), denied)
        require(len(of_ci) < 20, "one line a second for each token:", of_ci)
        for secret in (ci, root, ui):
            require(secret not in log, "a secret is in the log")
    print("seen at every door")


if __name__ == "__main__":
    os.environ.pop("HOLDFAST_TOKENS", None)
    main(sys.argv[1])
