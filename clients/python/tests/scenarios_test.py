#!/usr/bin/env python3
"""The scenarios of clients/scenarios.md, with the blocking client against the real server.

    scenarios_test.py HOLDFAST [unittest's arguments]
"""

import os
import signal
import threading
import time
from unittest import mock

import support
from support import PATIENCE_S, ServerTest, lease_json, until

import holdfast


class Scenarios(ServerTest):
    def test_S1_take_renew_give_back(self):
        with self.client.lock("x", 6, metadata="build 7") as guard:
            first = guard.fencing_token
            seen = self.client.get("x")
            self.assertEqual((seen["owner_id"], seen["fencing_token"], seen["metadata"]),
                             (self.client.owner, first, "build 7"))
            sure_until = guard.lease.guaranteed_until
            until(lambda: guard.lease.guaranteed_until > sure_until, "a renewal")
            guard.check()
        self.assertTrue(self.is_free("x"))
        self.assertFalse(guard.lost.is_set())
        with self.assertRaises(holdfast.LockLost):
            guard.check()
        with self.assertRaises(ZeroDivisionError), self.client.lock("x") as guard:
            self.assertGreater(guard.fencing_token, first)
            raise ZeroDivisionError
        self.assertTrue(self.is_free("x"))

    def test_S2_somebody_else_holds_it(self):
        lease = self.client.acquire("x", 60)
        other = self.connect(self.server.url)
        with self.assertRaises(holdfast.LockHeld) as refusal:
            other.acquire("x")
        self.assertNotIsInstance(refusal.exception, holdfast.WaitTimedOut)
        self.assertEqual(refusal.exception.holder, self.client.owner)
        self.assertAlmostEqual(refusal.exception.expires_at, lease.expires_at, delta=0.01)
        self.assertTrue(0 < refusal.exception.retry_after <= 1)
        self.assertIn(self.client.owner, str(refusal.exception))
        self.assertIsNone(other.try_lock("x"))
        self.assertEqual(list(self.client.leases(holder=other.owner)), [])

    def test_S3_wait_in_the_queue(self):
        first = self.client.acquire("x", 60)
        served = []

        def wait(name):
            with self.connect(self.server.url, owner=name).lock("x", 60):
                served.append(name)

        waiting = []
        for name in ("b", "c", "d"):
            waiting.append(self.in_background(lambda name=name: wait(name)))
            self.wait_for_queue("x", len(waiting))
        self.client.release(first)
        self.assertEqual([result() for result in waiting], [None] * 3)
        self.assertEqual(served, ["b", "c", "d"])

    def test_S4_a_wait_that_ends(self):
        self.client.acquire("x", 60)
        began_at = holdfast.clock()
        with self.assertRaises(holdfast.WaitTimedOut) as refusal:
            self.connect(self.server.url).acquire("x", wait=0.3)
        self.assertGreaterEqual(holdfast.clock() - began_at, 0.3)
        self.assertIsInstance(refusal.exception, holdfast.LockHeld)
        self.assertEqual(refusal.exception.holder, self.client.owner)
        self.assertEqual(self.queue_length("x"), 0)

    def test_S5_a_wait_that_is_cancelled(self):
        first = self.client.acquire("x", 60)
        stop = holdfast.Stop()
        waiting = self.in_background(lambda: self.client.acquire("x", wait=None, stop=stop))
        self.wait_for_queue("x", 1)
        stop.set()
        self.assertIsInstance(waiting(), holdfast.Cancelled)
        self.assertEqual(self.queue_length("x"), 0)
        self.client.release(first)
        self.assertTrue(self.is_free("x"))

    def test_S5_a_cancelled_wait_gives_back_what_was_granted_meanwhile(self):
        proxy = self.proxy()
        stop = holdfast.Stop()
        proxy.lose_answers(1, silently=True)
        waiting = self.in_background(lambda: self.connect(proxy.url).acquire("x", 600, stop=stop))
        until(lambda: proxy.lost == 1 and not self.is_free("x"), "the grant")
        stop.set()
        self.assertIsInstance(waiting(), holdfast.Cancelled)
        self.assertTrue(self.is_free("x"))

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

    def test_S5_an_interrupted_wait_leaves_nothing_behind(self):
        first = self.client.acquire("x", 60)
        self.interrupt_when(lambda: self.queue_length("x") == 1,
                            lambda: self.connect(self.server.url).acquire("x", wait=PATIENCE_S))
        self.assertEqual(self.queue_length("x"), 0)
        self.client.release(first)
        proxy = self.proxy()
        proxy.lose_answers(1, silently=True)
        self.interrupt_when(lambda: proxy.lost == 1 and not self.is_free("x"),
                            lambda: self.connect(proxy.url).acquire("x", 600))
        self.assertTrue(self.is_free("x"))

    def test_S6_the_answer_of_an_acquire_is_lost(self):
        proxy = self.proxy()
        proxy.lose_answers(2)
        lease = self.connect(proxy.url).acquire("s", 60, limit=2)  # a second grant would be possible
        self.assertEqual(proxy.lost, 2)
        self.assertEqual([one["fencing_token"] for one in self.client.leases()], [lease.fencing_token])

    def test_S6_the_answer_of_a_waiting_acquire_is_lost(self):
        proxy = self.proxy()
        first = self.client.acquire("x", 60)
        waiting = self.in_background(lambda: self.connect(proxy.url).acquire("x", 60, wait=None))
        self.wait_for_queue("x", 1)
        proxy.lose_answers(1)
        self.client.release(first)
        self.assertEqual(waiting().fencing_token, self.client.get("x")["fencing_token"])
        self.assertEqual(proxy.lost, 1)

    def test_S7_the_answer_of_a_release_is_lost(self):
        proxy = self.proxy()
        far = self.connect(proxy.url)
        lease = far.acquire("x", 60)
        proxy.lose_answers(1)
        self.assertTrue(far.release(lease))
        self.assertEqual(proxy.lost, 1)
        self.assertTrue(self.is_free("x"))
        self.assertFalse(self.client.release(lease), "it had ended before")

    def test_S8_the_server_is_restarted_while_the_lock_is_held(self):
        proxy = self.proxy()
        losses = []
        with self.connect(proxy.url).lock("x", 15, on_lost=losses.append) as guard:
            sure_until = guard.lease.guaranteed_until
            self.server.restart()
            until(lambda: guard.lease.guaranteed_until > sure_until, "a renewal")
            guard.check()
            self.client = self.connect(self.server.url)
            self.assertEqual(self.client.get("x")["fencing_token"], guard.fencing_token)
        self.assertTrue(self.is_free("x"))
        self.assertEqual(losses, [])

    def test_S8_a_wait_goes_on_when_the_server_is_restarted(self):
        proxy = self.proxy()
        with self.connect(proxy.url).lock("x", 60) as guard:
            waiting = self.in_background(lambda: self.connect(proxy.url).acquire("x", 60, wait=None))
            self.wait_for_queue("x", 1)
            self.server.restart_in_good_order()
            self.client = self.connect(self.server.url)
            self.wait_for_queue("x", 1)
            guard.check()
        self.assertGreater(waiting().fencing_token, guard.fencing_token)

    def test_S9_the_server_is_killed_and_stays_away(self):
        losses, told_at = [], []

        def on_lost(loss):
            told_at.append(holdfast.clock())
            losses.append(loss)

        guard = self.client.lock("x", 12, on_lost=on_lost).acquire()
        lease_ends_at = guard.lease.lasts_until
        self.server.kill()
        try:
            self.assertTrue(guard.lost.wait(PATIENCE_S))
            until(lambda: losses)
            self.assertLess(told_at[0], lease_ends_at)
            self.assertFalse(guard.is_held())
            with self.assertRaises(holdfast.LockLost):
                guard.check()
            self.assertIn("no renewal was confirmed in time (", str(losses[0]))
        finally:
            self.server.start()
        time.sleep(1.5)
        self.assertEqual(len(losses), 1)

    def test_S9_a_renewal_that_hangs_does_not_hide_the_loss(self):
        guard = self.client.lock("x", 9).acquire()
        lease_ends_at = guard.lease.lasts_until
        self.server.stop()
        try:
            self.assertTrue(guard.lost.wait(PATIENCE_S))
            self.assertLess(holdfast.clock(), lease_ends_at)
        finally:
            self.server.go_on()

    def test_S10_the_lock_is_taken_away(self):
        losses = []
        with self.assertRaises(holdfast.LockLost):
            with self.client.lock("x", 6, on_lost=losses.append) as guard:
                self.assertEqual(self.client.force_release("x"), 1)
                self.assertTrue(guard.lost.wait(PATIENCE_S))
                self.assertGreater(guard.lease.guaranteed_until, holdfast.clock(), "the next renewal tells it")
                with self.assertRaises(holdfast.LockLost):
                    guard.check()
                with self.assertRaises(holdfast.LockLost):
                    self.client.check(guard, "x")
        until(lambda: losses)
        self.assertEqual([type(loss) for loss in losses], [holdfast.LockLost])

    def test_S11_the_wall_clock_is_set_forwards_and_back(self):
        real = time.time
        shift = [0.0]
        with mock.patch.object(time, "time", lambda: real() + shift[0]):
            with self.client.lock("x", 6) as guard:
                for shift[0] in (86400.0, -86400.0):
                    guard.check()
                    self.assertTrue(0 < guard.time_left() <= 5)
                    sure_until = guard.lease.guaranteed_until
                    until(lambda: guard.lease.guaranteed_until > sure_until, "a renewal")
        self.assertTrue(self.is_free("x"))

    def test_S12_a_wait_of_more_than_ten_minutes(self):
        def reply(index, request):
            if index < 2:
                return 409, {"error": "StillWaiting", "message": "wait on", "place_kept_ms": 5000}
            return 200, lease_json()

        scripted = self.script(reply)
        began_at = holdfast.clock()
        lease = self.connect(scripted.url).acquire("x", 60, wait=None)
        self.assertEqual(lease.fencing_token, 7)
        self.assertLess(holdfast.clock() - began_at, 5, "the place in the queue is kept for five seconds")
        bodies = [request["body"] for request in scripted.seen]
        self.assertEqual(len(bodies), 3)
        self.assertEqual(len({body["request_id"] for body in bodies}), 1)
        self.assertEqual({body["wait_ms"] for body in bodies}, {365 * 86400 * 1000})

    def test_S13_several_servers(self):
        nowhere = self.script(lambda index, request: None)
        nowhere.end()
        proxy = self.proxy()
        client = self.connect(f"{nowhere.url},{proxy.url}, {self.server.url}")
        proxy.lose_answers(1)
        lease = client.acquire("s", 60, limit=2)
        self.assertEqual(proxy.lost, 1)
        self.assertEqual([one["fencing_token"] for one in self.client.leases()], [lease.fencing_token])

    def test_S13_the_next_server_gets_the_same_request_id(self):
        servers = [self.script(lambda index, request: None), self.script(lambda index, request: (200, lease_json()))]
        self.connect([server.url for server in servers]).acquire("x", 60)
        ids = [[request["body"]["request_id"] for request in server.seen] for server in servers]
        self.assertEqual((len(ids[0]), ids[0]), (1, ids[1]))

    def test_S14_two_threads_use_one_client_at_the_same_time(self):
        barrier = threading.Barrier(2)

        def work(name):
            barrier.wait(PATIENCE_S)
            tokens = []
            for _ in range(20):
                with self.client.lock(name, 60) as guard:
                    guard.check()
                    tokens.append((guard.name, guard.fencing_token))
            return tokens

        results = [self.in_background(lambda name=name: work(name)) for name in ("a", "b")]
        for name, result in zip("ab", results):
            tokens = result()
            self.assertEqual([one for one, _ in tokens], [name] * 20)
            self.assertEqual(tokens, sorted(set(tokens)))

    def test_S14_one_lock_object_lets_one_thread_in_at_a_time(self):
        lock = self.client.lock("x")
        inside, entries = [], []

        def work():
            for _ in range(5):
                with lock as guard:
                    self.assertIs(lock.guard, guard)
                    inside.append(guard)
                    entries.append((guard.fencing_token, len(inside)))
                    time.sleep(0.002)
                    inside.remove(guard)

        workers = [self.in_background(work) for _ in range(8)]
        self.assertEqual([worker() for worker in workers], [None] * 8)
        self.assertEqual({count for _, count in entries}, {1})
        tokens = [token for token, _ in entries]
        self.assertEqual((len(tokens), tokens), (40, sorted(set(tokens))))


if __name__ == "__main__":
    support.main()
