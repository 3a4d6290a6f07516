#!/usr/bin/env python3
"""The Python client against the real server.

    holdfast_test.py HOLDFAST [unittest's arguments]
"""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import holdfast
from test_server import PATIENCE_S, Proxy, Server, until

PROGRAM = ""
HERE = pathlib.Path(__file__).resolve().parent


class ClientTest(unittest.TestCase):
    def serve(self, *flags, **options):
        server = Server(PROGRAM, *flags, **options)
        self.addCleanup(server.end)
        return server

    def setUp(self):
        self.server = self.serve()
        self.client = self.connect(self.server.url)

    def connect(self, url, **options):
        client = holdfast.Client(url, **{"timeout": 30, "retry_for": 30, **options})
        self.addCleanup(client.close)
        return client

    def proxy(self, path=None):
        proxy = Proxy(self.server, path)
        self.addCleanup(proxy.end)
        return proxy

    def in_background(self, work):
        """Runs it in a thread, and hands its result over when asked."""
        results = []

        def run():
            try:
                results.append(work())
            except BaseException as error:  # noqa: B902
                results.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()

        def result():
            thread.join(PATIENCE_S)
            self.assertTrue(results, "it never came to an end")
            return results[0]

        return result

    def wait_for_queue(self, name, length):
        until(lambda: self.client.get(name, queue=True).get("queue_length", 0) == length, "the queue")


class Guard(ClientTest):
    def test_holds_while_the_block_runs(self):
        with self.client.lock("x", metadata="build 7") as lock:
            lock.check()
            seen = self.client.get("x")
            self.assertEqual(seen["fencing_token"], lock.fencing_token)
            self.assertEqual((seen["owner_id"], seen["metadata"]), (self.client.owner, "build 7"))
        self.assertFalse(self.client.get("x")["held"])
        self.assertFalse(lock.lost.is_set())
        with self.assertRaises(holdfast.LockLost):
            lock.check()

    def test_releases_when_the_block_raises(self):
        with self.assertRaises(ZeroDivisionError), self.client.lock("x"):
            raise ZeroDivisionError
        self.assertFalse(self.client.get("x")["held"])

    def test_releases_once(self):
        with self.client.lock("x") as lock:
            self.assertTrue(lock.release())
            other = self.client.acquire("x")
            self.assertTrue(lock.release())
        self.assertEqual(self.client.get("x")["lease_id"], other.lease_id)

    def test_try_lock_says_none_when_it_is_held(self):
        first = self.client.try_lock("x")
        self.assertIsNone(self.client.try_lock("x"))
        with first:
            first.check()
        self.assertIsNotNone(self.client.try_lock("x"))

    def test_keeps_a_short_lease_alive_far_beyond_its_ttl(self):
        ttl = 4
        lost = []
        with self.client.lock("x", ttl, on_lost=lost.append) as lock:
            token = lock.fencing_token
            time.sleep(2.5 * ttl)
            lock.check()
            self.assertEqual(self.client.get("x")["fencing_token"], token)
        self.assertEqual(lost, [])

    def test_learns_that_its_lease_was_ended(self):
        lost = []
        with self.assertRaises(holdfast.LockLost):
            with self.client.lock("x", 3, on_lost=lost.append) as lock:
                self.assertEqual(self.client.force_release("x"), 1)
                self.assertTrue(lock.lost.wait(PATIENCE_S))
                self.assertFalse(lock.is_held())
                with self.assertRaises(holdfast.LockLost):
                    lock.check()
        until(lambda: lost)
        self.assertEqual([type(loss) for loss in lost], [holdfast.LockLost])

    def test_is_lost_before_the_lease_ends_when_the_server_stands_still(self):
        ttl = 12
        noticed_at = []
        lock = self.client.lock("x", ttl, on_lost=lambda loss: noticed_at.append(holdfast._clock())).acquire()
        until(lambda: self.client.get("x")["version"] > 1, "a renewal")
        self.server.stop()
        try:
            self.assertTrue(lock.lost.wait(PATIENCE_S))
            lease_end = lock.lease.guaranteed_until + lock.lease.margin
            until(lambda: noticed_at)
            self.assertLess(noticed_at[0], lease_end)
            self.assertFalse(lock.is_held())
        finally:
            self.server.go_on()
        self.assertIsInstance(lock.release(), bool)

    def test_goes_on_when_the_server_is_killed_and_started_again_within_the_lease(self):
        proxy = self.proxy()
        with self.connect(proxy.url).lock("x", 15) as lock:
            sure_until = lock.lease.guaranteed_until
            self.server.restart()
            until(lambda: lock.lease.guaranteed_until > sure_until, "a renewal")
            lock.check()
            seen = self.connect(self.server.url).get("x")
            self.assertEqual(seen["fencing_token"], lock.fencing_token)
        self.assertFalse(self.connect(self.server.url).get("x")["held"])


    def test_and_a_wait_go_on_when_the_server_is_restarted_in_good_order(self):
        proxy = self.proxy()
        far = self.connect(proxy.url)
        with far.lock("x", ttl=60) as lock:
            token = lock.fencing_token
            waiting = self.in_background(lambda: self.connect(proxy.url).acquire("x", 60, wait=None))
            self.wait_for_queue("x", 1)
            self.server.restart_in_good_order()
            self.client = self.connect(self.server.url)
            self.wait_for_queue("x", 1)
            lock.check()
            self.assertEqual(self.client.get("x")["fencing_token"], token)
        self.assertGreater(waiting().fencing_token, token)


class Contention(ClientTest):
    def test_a_wait_that_the_server_answers_goes_on_with_the_same_id(self):
        seen, answers = [], [holdfast._Answer(409, {"acquired": False, "reason": "STILL_WAITING"}),
                             holdfast._Answer(409, {"acquired": False, "reason": "BUSY_RETRY"}),
                             holdfast._Answer(200, {"acquired": True, "owner_id": "a", "lease_id": "l",
                                                    "fencing_token": 7, "lease_expiry_ms": 1})]

        def exchange(method, path, body, timeout, is_repeatable):
            seen.append((dict(body), timeout))
            return answers[len(seen) - 1]

        client = self.connect(self.server.url)
        client._transport.exchange = exchange
        self.assertEqual(client.acquire("x", 60, wait=None).fencing_token, 7)
        self.assertEqual(len({body["request_id"] for body, _ in seen}), 1)
        self.assertEqual([body["wait_ms"] for body, _ in seen], [365 * 86400 * 1000] * 3)
        self.assertEqual(seen[0][1], client.timeout + 600)

    def test_one_at_a_time_each_with_a_larger_token(self):
        entries, inside = [], []

        def work():
            for _ in range(5):
                with self.connect(self.server.url).lock("x", 30) as lock:
                    inside.append(lock)
                    entries.append((lock.fencing_token, len(inside)))
                    time.sleep(0.002)
                    inside.remove(lock)

        workers = [self.in_background(work) for _ in range(8)]
        for worker in workers:
            self.assertIsNone(worker())
        self.assertEqual({count for _, count in entries}, {1})
        tokens = [token for token, _ in entries]
        self.assertEqual((len(tokens), tokens), (40, sorted(set(tokens))))

    def test_a_refusal_says_who_holds_it_and_until_when(self):
        lease = self.client.acquire("x", 60)
        with self.assertRaises(holdfast.LockHeld) as refusal:
            self.connect(self.server.url).acquire("x")
        self.assertEqual(refusal.exception.holder, self.client.owner)
        self.assertAlmostEqual(refusal.exception.expires_at, lease.expires_at, delta=0.01)
        self.assertLessEqual(refusal.exception.retry_after, 1)

    def test_a_wait_ends_in_time(self):
        self.client.acquire("x", 60)
        with self.assertRaises(holdfast.WaitTimedOut):
            self.client.acquire("x", wait=0.05)
        self.wait_for_queue("x", 0)

    def test_a_lease_that_was_waited_for_longer_than_its_ttl_is_whole(self):
        first = self.client.acquire("x", 60)
        waiting = self.in_background(lambda: (self.client.acquire("x", 4, wait=None), holdfast._clock()))
        self.wait_for_queue("x", 1)
        time.sleep(4.5)
        self.client.release(first)
        lease, granted_at = waiting()
        self.assertGreater(lease.guaranteed_until, granted_at)
        self.assertTrue(self.client.release(lease))

    def test_shared_holders_hold_together_and_permits_are_counted(self):
        readers = [self.client.acquire("r", shared=True) for _ in range(2)]
        self.assertEqual(readers[0].mode, "shared")
        with self.assertRaises(holdfast.LockHeld):
            self.client.acquire("r")
        permits = [self.client.acquire("s", limit=2) for _ in range(2)]
        with self.assertRaises(holdfast.LockHeld):
            self.client.acquire("s", limit=2)
        with self.assertRaises(holdfast.BadRequest):
            self.client.acquire("s", limit=3)
        for lease in readers + permits:
            self.assertTrue(self.client.release(lease))

    def test_asking_again_and_again_is_bounded_and_takes_what_comes_free(self):
        first = self.client.acquire("x", 60)
        with self.assertRaises(holdfast.LockHeld):
            self.client.acquire_with_retry("x", max_retries=2, max_retry=0.03)
        with self.assertRaises(holdfast.LockHeld):
            self.client.acquire_with_retry("x", max_total_wait=0.2)
        waiting = self.in_background(lambda: self.client.acquire_with_retry("x", max_retries=10000, max_retry=0.05))
        self.client.release(first)
        self.assertGreater(waiting().fencing_token, first.fencing_token)

    def interrupt_when(self, is_time, work):
        def interrupt():
            until(is_time, "the time to interrupt")
            os.kill(os.getpid(), signal.SIGINT)

        # Whoever starts us may have us ignore the signal.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        interrupted = self.in_background(interrupt)
        with self.assertRaises(KeyboardInterrupt):
            work()
        self.assertIsNone(interrupted())

    def test_an_interrupted_wait_leaves_nothing_behind(self):
        first = self.client.acquire("x", 60)
        self.interrupt_when(lambda: self.client.get("x", queue=True)["queue_length"] == 1,
                            lambda: self.connect(self.server.url).acquire("x", wait=PATIENCE_S))
        self.wait_for_queue("x", 0)
        self.client.release(first)
        self.assertFalse(self.client.get("x")["held"])

    def test_what_was_granted_to_somebody_interrupted_is_given_back(self):
        proxy = self.proxy()
        proxy.lose_answers(1, silently=True)
        self.interrupt_when(lambda: self.client.get("x")["held"] and proxy.lost == 1,
                            lambda: self.connect(proxy.url).acquire("x", 600))
        self.assertFalse(self.client.get("x")["held"])


class LostAnswers(ClientTest):
    def setUp(self):
        super().setUp()
        self.between = self.proxy()
        self.far = self.connect(self.between.url)

    def test_of_an_acquire_leave_no_hold_that_nobody_knows_of(self):
        self.between.lose_answers(2)
        lease = self.far.acquire("s", 60, limit=2)
        self.assertEqual(self.between.lost, 2)
        seen = self.client.get("s")
        self.assertNotIn("holders", seen, "there is more than one")
        self.assertEqual(seen["lease_id"], lease.lease_id)
        self.assertTrue(self.far.release(lease))
        self.assertFalse(self.client.get("s")["held"])

    def test_of_a_waiting_acquire_are_asked_for_again(self):
        first = self.client.acquire("x", 60)
        waiting = self.in_background(lambda: self.far.acquire("x", 60, wait=None))
        self.wait_for_queue("x", 1)
        self.between.lose_answers(1)
        self.client.release(first)
        self.assertEqual(self.client.get("x")["lease_id"], waiting().lease_id)
        self.assertEqual(self.between.lost, 1)

    def test_of_a_release_count_as_released(self):
        lease = self.far.acquire("x", 60)
        self.between.lose_answers(1)
        self.assertTrue(self.far.release(lease))
        self.assertFalse(self.client.release(lease))

    def test_of_a_lease_on_a_range_leave_nothing_behind(self):
        self.between.lose_answers(1)
        with self.far.lease("range:7:0-4096", 60) as lock:
            self.assertEqual([lease["fencing_token"] for lease in self.client.leases(inode=7)], [lock.fencing_token])
        self.assertEqual(list(self.client.leases(inode=7)), [])

    def test_of_what_is_not_safe_twice_are_not_asked_for_again(self):
        self.client.acquire("x", 60)
        self.between.lose_answers(1)
        with self.assertRaises(holdfast.ServerUnavailable):
            self.far.force_release("x")
        self.assertFalse(self.client.get("x")["held"])

    def test_nobody_there_is_said_so(self):
        self.between.cut()
        with self.assertRaises(holdfast.ServerUnavailable):
            self.connect(self.between.url, retry_for=0.3).acquire("x")


class Scoped(ClientTest):
    def test_regions_conflict_where_they_overlap(self):
        with self.client.lease({"kind": "range", "inode": 7, "start": 0, "end": 4096}) as lock:
            self.assertEqual(lock.name, "range:7:0-4096")
            with self.client.lease("range:7:4096-", 10), self.client.lease("path:/a", 10):
                self.assertEqual(len(list(self.client.leases(page_size=1))), 3)
            with self.assertRaises(holdfast.LockHeld) as refusal:
                self.client.acquire_lease("inode:7", wait=0)
            self.assertEqual(refusal.exception.holder, self.client.owner)
            with self.assertRaises(holdfast.WaitTimedOut):
                self.client.acquire_lease("inode:7", wait=0.01)
            self.assertEqual(self.client.get_lease(lock.lease.token)["holder"], self.client.owner)
        self.assertEqual(list(self.client.leases()), [])

    def test_are_renewed_and_end(self):
        lease = self.client.acquire_lease("path:/a/b", 60)
        before = lease.guaranteed_until
        self.client.renew(lease)
        self.assertGreater(lease.guaranteed_until, before)
        self.client.renew(lease, 10)
        self.assertLess(lease.guaranteed_until, before)
        self.assertTrue(self.client.release(lease))
        self.assertFalse(self.client.release(lease))
        for ask in (lambda: self.client.renew(lease), lambda: self.client.get_lease(lease.token)):
            with self.assertRaises(holdfast.LockLost):
                ask()

    def test_tokens_are_checked_for_what_they_cover(self):
        with self.client.lease("range:7:0-4096") as lock:
            self.assertEqual(self.client.check(lock, "range:7:0-512")["mode"], "exclusive")
            with self.assertRaises(holdfast.ScopeMismatch) as mismatch:
                self.client.check(lock, "range:7:0-5000")
            self.assertEqual(mismatch.exception.scope["end"], 4096)
        with self.assertRaises(holdfast.LockLost):
            self.client.check(lock, "range:7:0-512")

    def test_fences_refuse_smaller_tokens(self):
        old = self.client.acquire("x")
        self.client.release(old)
        new = self.client.acquire("x")
        self.assertIsNone(self.client.get_fence("a/bucket"))
        self.assertEqual(self.client.fence("a/bucket", new), new.fencing_token)
        with self.assertRaises(holdfast.StaleFence) as stale:
            self.client.fence("a/bucket", old)
        self.assertEqual(stale.exception.highest, new.fencing_token)
        self.assertEqual(self.client.get_fence("a/bucket"), new.fencing_token)
        self.client.drop_fence("a/bucket")
        self.assertEqual(self.client.fence("a/bucket", old), old.fencing_token)


class Looking(ClientTest):
    def test_lists_page_by_page(self):
        names = [f"job/{i}" for i in range(5)]
        for name in names:
            self.client.acquire(name)
        self.client.acquire("other")
        self.assertEqual(sorted(lock["lock_name"] for lock in self.client.list("job/", page_size=2)), names)

    def test_events_go_on_where_they_were_cut_off(self):
        proxy = self.proxy()
        seen = []

        def watch():
            for event in self.connect(proxy.url).events("x", after=0):
                seen.append(event)
                if event.data.get("metadata") == "last":
                    return

        watching = self.in_background(watch)
        for _ in range(2):
            self.client.release(self.client.acquire("x"))
        self.client.acquire("y")
        until(lambda: seen and seen[-1].kind == "released")
        proxy.cut()
        for _ in range(3):
            self.client.release(self.client.acquire("x"))
        proxy.heal()
        self.client.acquire("x", metadata="last")
        self.assertIsNone(watching())
        happened = [event for event in seen if event.kind != "gap"]
        self.assertEqual([event.kind for event in happened], ["granted", "released"] * 5 + ["granted"])
        tokens = [event.data["fencing_token"] for event in happened]
        self.assertEqual((tokens, len(set(tokens))), (sorted(tokens), 6))
        ids = [event.id for event in happened]
        self.assertEqual(ids, sorted(set(ids)))


class Secrets(ClientTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text + "\n", encoding="ascii")
        path.chmod(0o600)
        return str(path)

    def test_a_wrong_one_is_refused_and_only_the_admin_may_end_what_is_others(self):
        auth, admin = self.write("auth", "the-users"), self.write("admin", "the-admins")
        server = self.serve("--auth-token-file", auth, "--admin-token-file", admin)
        for options in ({}, {"token": "wrong"}):
            with self.assertRaises(holdfast.Unauthorized):
                self.connect(server.url, **options).acquire("x")
            with self.assertRaises(holdfast.Unauthorized):
                next(self.connect(server.url, **options).events())
        user = self.connect(server.url, token="the-users")
        user.acquire("x")
        with self.assertRaises(holdfast.Forbidden):
            user.force_release("x")
        self.assertEqual(self.connect(server.url, token_file=admin).force_release("x"), 1)

    def test_a_new_one_in_the_file_is_used(self):
        auth = self.write("auth", "first")
        server = self.serve("--auth-token-file", auth)
        user = self.connect(server.url, token_file=auth)
        lease = user.acquire("x")
        self.write("auth", "second")
        server.process.send_signal(signal.SIGHUP)

        def is_reloaded():
            try:
                return self.connect(server.url, token="second").get("x")["held"]
            except holdfast.Unauthorized:
                return False

        until(is_reloaded)
        user.renew(lease)
        self.assertTrue(user.release(lease))

    def test_tls_is_spoken_with_those_we_trust(self):
        certificate, key = str(self.folder / "cert.pem"), str(self.folder / "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                        "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", key, "-out", certificate], check=True, capture_output=True)
        server = self.serve("--tls-cert", certificate, "--tls-key", key, scheme="https")
        with self.connect(server.url, ca_file=certificate).lock("x") as lock:
            lock.check()
        with self.assertRaises(holdfast.ServerUnavailable):
            self.connect(server.url).acquire("x")


class UnixSocket(ClientTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = folder.name + "/holdfast.sock"

    def test_it_is_a_server_like_any_other(self):
        proxy = self.proxy(self.path)
        client = self.connect(proxy.url)
        with client.lock("x") as lock:
            lock.check()
            self.assertTrue(self.client.get("x")["held"])
        proxy.lose_answers(1)
        client.release(client.acquire("x"))
        self.assertEqual(proxy.lost, 1)

    def test_it_says_why_there_is_no_server(self):
        def problem():
            with self.assertRaises(holdfast.ServerUnavailable) as caught:
                self.connect("unix:" + self.path, retry_for=0).acquire("x")
            return str(caught.exception)

        self.assertIn("No such file or directory", problem())
        with socket.socket(socket.AF_UNIX) as left_behind:
            left_behind.bind(self.path)
        self.assertIn("Connection refused", problem())
        for server in ("unix:" + 108 * "p", "unix:"):
            with self.assertRaises(ValueError):
                holdfast.Client(server)


class Readme(ClientTest):
    def test_its_example_runs_and_prints_what_it_says(self):
        text = (HERE / "README.md").read_text(encoding="utf-8")
        program, output = re.search(r"```python\n(.*?)```\n.*?```text\n(.*?)```", text, re.S).groups()
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S,
                             env={**os.environ, "HOLDFAST_SERVER": self.server.url, "PYTHONPATH": str(HERE)})
        self.assertEqual((ran.stderr, ran.stdout), ("", output))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    for variable in [name for name in os.environ if name.startswith("HOLDFAST_")]:
        del os.environ[variable]
    unittest.main()
