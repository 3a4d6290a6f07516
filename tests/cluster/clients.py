"""Clients of every door that take the same locks and write down what they were told.

Each one goes its way for ever: it connects to any node, asks for a lock, holds it for a while, perhaps renews it, and releases
it, or forgets to. When it gets no answer it does not know what happened, as in life.
"""

import http.client
import json
import random
import socket
import threading
import time
import uuid

from history import Claim

TTL = 4.0
LOCKS = [f"lock-{n}" for n in range(8)]
TIMEOUT = 6.0


class Unanswered(Exception):
    """It is not known whether the request was done."""


class Client(threading.Thread):
    door = ""

    def __init__(self, lab, history, number):
        super().__init__(daemon=True)
        self.lab, self.history, self.number = lab, history, number
        self.name = f"{self.door}-{number}"
        self.is_over = threading.Event()
        self.random = random.Random(number)

    def run(self):
        while not self.is_over.is_set():
            try:
                self.cycle(self.random.choice(LOCKS))
            except Unanswered:
                self.history.count(self.door, "unanswered")
                self.is_over.wait(self.random.uniform(0.02, 0.3))
            except Exception as fault:  # so that a mistake in here is not mistaken for a quiet server
                self.history.count(self.door, f"mistake of the test: {fault!r}")
                self.is_over.wait(1)

    def pause(self, least, most):
        self.is_over.wait(self.random.uniform(least, most))

    def claim(self, lock, sent, client=None, **more):
        told = time.monotonic()
        claim = Claim(lock=lock, client=client or self.name, door=self.door, sent=sent, told=told, confirmed=told,
                      sure_until=sent + TTL, **more)
        self.history.add(claim)
        return claim

    def refused(self, least=0.02, most=0.3):
        self.history.count(self.door, "refused")
        self.pause(least, most)

    def hold(self, claim, renew, release):
        """`renew` returns whether the lease goes on: True, False, or None if that is not known."""
        while not self.is_over.is_set() and self.random.random() < 0.5:
            self.pause(0.1, TTL / 3)
            sent = time.monotonic()
            if sent > claim.sure_until:
                return
            is_renewed = renew()
            if is_renewed is False:
                return self.history.lost(claim, time.monotonic())
            if is_renewed and sent + TTL > claim.sure_until and time.monotonic() < claim.sure_until:
                claim.sure_until, claim.confirmed = sent + TTL, time.monotonic()
                self.history.count(self.door, "renewed")
        if self.random.random() < 0.1:
            return  # forgets to release
        claim.released = min(claim.released, time.monotonic())
        release()


class HttpClient(Client):
    def ask(self, method, path, body=None):
        """Status and JSON of the answer of some node."""
        node = self.random.choice(self.lab.nodes)
        connection = http.client.HTTPConnection("127.0.0.1", node.http, timeout=TIMEOUT)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text)
        except (OSError, http.client.HTTPException, ValueError) as fault:
            raise Unanswered from fault
        finally:
            connection.close()


class Homelab(HttpClient):
    """Has no token: its name is its proof. A request of its own that is done late would be taken for a newer one, so after
    one that was not answered it takes another name."""

    door = "homelab"

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.life = 0
        self.claims = {}  # the last one by lock and name

    def cycle(self, lock):
        try:
            self.live(lock, f"{self.door}-{self.number}-{self.life}")
        except Unanswered:
            self.life += 1
            raise

    def live(self, lock, name):
        path = f"/lock?client={name}&job={lock}"
        sent = time.monotonic()
        status, _ = self.ask("POST", f"{path}&ttl={TTL}s")
        if status != 200:
            return self.refused()
        claim = self.claim(lock, sent, client=name)
        # If it has forgotten a claim to the same lock, that goes on as this one.
        forgotten = self.claims.get((lock, name))
        if forgotten:
            forgotten.released = min(forgotten.released, claim.told)
        self.claims[lock, name] = claim

        def renew():
            renewed, _ = self.ask("POST", f"{path}&ttl={TTL}s")
            return True if renewed == 200 else False if renewed == 409 else None

        self.hold(claim, renew, lambda: self.ask("DELETE", path))


class Lockserver(HttpClient):
    door = "lockserver"

    def cycle(self, lock):
        body = {"owner_id": self.name, "ttl_ms": int(TTL * 1000), "request_id": str(uuid.uuid4()),
                "wait_ms": self.random.choice([0, 1000, 3000])}
        answer, sent = self.ask_until_answered(lock, body)
        if answer is None or not answer.get("acquired"):
            return self.refused()
        claim = self.claim(lock, sent, fence=answer["fencing_token"], request_id=body["request_id"])
        proof = {key: answer[key] for key in ("owner_id", "lease_id", "fencing_token")}

        def renew():
            _, said = self.ask("POST", f"/v1/locks/{lock}/renew", {**proof, "extend_by_ms": int(TTL * 1000)})
            if said.get("renewed"):
                return True
            return False if said.get("reason") == "NOT_OWNER_OR_EXPIRED" else None

        self.hold(claim, renew, lambda: self.ask("POST", f"/v1/locks/{lock}/release", proof))

    def ask_until_answered(self, lock, body):
        """Asks again with the same id, as clients should, while the first lease could be alive."""
        sent = time.monotonic()
        while not self.is_over.is_set() and time.monotonic() < sent + TTL:
            try:
                asked = time.monotonic()
                status, answer = self.ask("POST", f"/v1/locks/{lock}/acquire", body)
                if status in (200, 409) and answer.get("reason") != "BUSY_RETRY":
                    # A lease that an earlier attempt got has run since then.
                    return answer, sent if answer.get("acquired") else asked
            except Unanswered:
                self.history.count(self.door, "asked again")
            self.pause(0.05, 0.2)
        return None, sent


class Scoped(HttpClient):
    door = "scoped"

    def cycle(self, lock):
        sent = time.monotonic()
        status, answer = self.ask("POST", "/v1/leases", {
            "scope": {"kind": "named", "name": lock}, "holder": self.name, "duration_ms": int(TTL * 1000),
            "wait_ms": self.random.choice([0, 1500])})
        if status != 200:
            return self.refused()
        claim = self.claim(lock, sent, fence=answer["fencing_token"])
        path = f"/v1/leases/{answer['token']}"

        def renew():
            status, _ = self.ask("POST", path + "/renew", {})
            return True if status == 200 else False if status in (404, 410) else None

        self.hold(claim, renew, lambda: self.ask("DELETE", path))


class Dflockd(Client):
    """Its locks end with its connection, but only if the client itself has gone."""

    door = "dflockd"

    def cycle(self, lock):
        node = self.random.choice(self.lab.nodes)
        try:
            with socket.create_connection(("127.0.0.1", node.dflockd), timeout=TIMEOUT) as connection:
                self.talk(connection, connection.makefile("r"), lock)
        except (OSError, ValueError) as fault:
            raise Unanswered from fault

    def talk(self, connection, lines, lock):
        sent = time.monotonic()
        answer = self.say(connection, lines, "l", lock, f"{self.random.choice([0, 2])} {int(TTL)}")
        if not answer.startswith("ok "):
            return self.refused()
        token = answer.split()[1]
        claim = self.claim(lock, sent, fence=int(token[:16], 16))
        try:
            self.hold(claim, lambda: self.renew(connection, lines, lock, token),
                      lambda: self.say(connection, lines, "r", lock, token))
        except (OSError, ValueError):
            # Its connection is gone, and it goes on with its work until its time is over.
            self.history.count(self.door, "cut off")
            self.is_over.wait(max(0, claim.sure_until - time.monotonic()))
            return
        # It closes the connection itself, which releases what it has forgotten.
        claim.released = min(claim.released, time.monotonic())

    def renew(self, connection, lines, lock, token):
        return True if self.say(connection, lines, "n", lock, f"{token} {int(TTL)}").startswith("ok") else None

    def say(self, connection, lines, *request):
        connection.sendall("".join(line + "\n" for line in request).encode())
        answer = lines.readline()
        if not answer:
            raise OSError("the connection was closed")
        return answer.strip()


DOORS = [Homelab, Lockserver, Scoped, Dflockd]
