#!/usr/bin/env python3
"""The blocking client against the real server: what is not in the scenarios of scenarios_test.py.

    client_test.py HOLDFAST [unittest's arguments]
"""

import gc
import os
import signal
import socket
import threading
import time
from unittest import mock

import support
from support import ServerTest, lease_json, make_certificate, until

import holdfast


class Locks(ServerTest):
    def test_a_lock_object_is_used_again_and_again(self):
        lock = self.client.lock("x", metadata="m")
        tokens = []
        for _ in range(2):
            with lock as guard:
                tokens.append(guard.fencing_token)
                self.assertIsNone(lock.try_acquire())
        with lock.try_acquire() as guard:
            tokens.append(guard.fencing_token)
        self.assertEqual(tokens, sorted(set(tokens)))
        self.assertTrue(self.is_free("x"))

    def test_a_decorated_function_runs_under_the_lock(self):
        lock = self.client.locked("x")

        @lock
        def work(number, *, more):
            """Works."""
            self.assertEqual(self.client.get("x")["fencing_token"], lock.guard.fencing_token)
            return number + more

        self.assertEqual((work.__name__, work.__doc__), ("work", "Works."))
        self.assertEqual((work(1, more=2), work(2, more=3)), (3, 5))
        self.assertTrue(self.is_free("x"))
        with self.assertRaises(holdfast.HoldfastError):
            lock.guard

        async def never():
            pass

        with self.assertRaises(TypeError):
            lock(never)

    def test_a_guard_is_released_once(self):
        with self.client.lock("x") as guard:
            self.assertTrue(guard.release())
            other = self.client.acquire("x")
            self.assertTrue(guard.release())
        self.assertEqual(self.client.get("x")["fencing_token"], other.fencing_token)

    def test_a_release_that_cannot_be_told_does_not_hide_what_the_block_raised(self):
        proxy = self.proxy()
        with self.assertLogs("holdfast", "WARNING") as logs, self.assertRaises(ZeroDivisionError):
            with self.connect(proxy.url, retry_for=0.2).lock("x", 60) as guard:
                proxy.cut()
                raise ZeroDivisionError
        self.assertNotIn(guard.lease.token, str(logs.output))

    def test_a_block_whose_end_cannot_be_told_fails(self):
        proxy = self.proxy()
        with self.assertRaises(holdfast.ServerUnavailable):
            with self.connect(proxy.url, retry_for=0.2).lock("x", 60):
                proxy.cut()

    def test_a_block_whose_lock_was_taken_away_before_its_end_fails(self):
        with self.assertRaises(holdfast.LockLost):
            with self.client.lock("x", 600):
                self.client.force_release("x")  # long before the next renewal

    def test_a_release_waits_for_on_lost(self):
        may_end, told = threading.Event(), []

        def on_lost(loss):
            may_end.wait(support.PATIENCE_S)
            told.append(guard.release())  # waits for nobody

        guard = self.client.lock("x", 3, on_lost=on_lost).acquire()
        self.client.force_release("x")
        self.assertTrue(guard.lost.wait(support.PATIENCE_S))
        releasing = threading.Thread(target=guard.release, daemon=True)
        releasing.start()
        releasing.join(0.3)
        self.assertTrue(releasing.is_alive(), "the release has not waited for on_lost")
        may_end.set()
        releasing.join(support.PATIENCE_S)
        self.assertEqual((releasing.is_alive(), told), (False, [False]))

    def test_many_locks_are_renewed_by_few_threads(self):
        before = threading.active_count()
        guards = [self.client.lock(f"lock-{i}", 6).acquire() for i in range(30)]
        ends = [guard.lease.guaranteed_until for guard in guards]
        until(lambda: all(guard.lease.guaranteed_until > end for guard, end in zip(guards, ends)), "the renewals")
        self.assertLessEqual(threading.active_count() - before, 5)
        for guard in guards:
            self.assertTrue(guard.release())
        until(lambda: threading.active_count() <= before, "the end of the threads")
        with self.client.lock("again", 6) as guard:
            end = guard.lease.guaranteed_until
            until(lambda: guard.lease.guaranteed_until > end, "a renewal by new threads")

    def test_a_lease_is_kept_from_now_on(self):
        lease = self.client.acquire("x", 6, request_id="mine")
        found = self.client.get_lease(lease.token)
        self.assertFalse(found.is_guaranteed())
        with self.client.start_heartbeat(found) as guard:
            self.assertTrue(guard.is_held())
            self.assertEqual(guard.fencing_token, lease.fencing_token)
        with self.assertRaises(holdfast.LockLost):
            self.client.start_heartbeat(found)

    def test_a_child_after_fork_keeps_the_parents_lock_and_can_use_the_client(self):
        def child(guard):
            if guard.release():
                return "the child has released the parent's lock"
            with self.client.lock("y", 6) as mine:
                end = mine.lease.guaranteed_until
                until(lambda: mine.lease.guaranteed_until > end, "a renewal")
            return ""

        with self.client.lock("x", 60) as guard:
            reader, writer = os.pipe()
            process = os.fork()
            if process == 0:
                try:
                    said = child(guard)
                except BaseException as error:
                    said = repr(error)
                os.write(writer, said.encode() or b"well")
                os._exit(0)
            os.close(writer)
            with os.fdopen(reader) as said:
                self.assertEqual(said.read(), "well")
            os.waitpid(process, 0)
            self.assertEqual(self.client.get("x")["fencing_token"], guard.fencing_token)
        self.assertTrue(self.is_free("x"))

    def test_a_system_without_threads_is_told_and_nothing_stays_held(self):
        with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
            with self.assertRaises(RuntimeError):
                self.client.lock("x").acquire()
        self.assertTrue(self.is_free("x"))

    def test_an_interrupted_release_is_done_nevertheless(self):
        proxy = self.proxy()
        guard = self.connect(proxy.url).lock("x", 600).acquire()
        proxy.lose_answers(1, silently=True)
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

        def interrupt():
            until(lambda: proxy.lost == 1)
            os.kill(os.getpid(), signal.SIGINT)

        interrupted = self.in_background(interrupt)
        with self.assertRaises(KeyboardInterrupt):
            guard.release()
        interrupted()
        self.assertTrue(self.is_free("x"))


class Leases(ServerTest):
    def test_a_lease_that_was_waited_for_longer_than_its_ttl_is_whole(self):
        first = self.client.acquire("x", 60)
        waiting = self.in_background(lambda: (self.client.acquire("x", 6, wait=None), holdfast.clock()))
        self.wait_for_queue("x", 1)
        time.sleep(6.5)
        self.client.release(first)
        lease, granted_at = waiting()
        self.assertGreater(lease.guaranteed_until, granted_at + 2)
        self.assertTrue(self.client.release(lease))

    def test_shared_holders_hold_together_and_permits_are_counted(self):
        readers = [self.client.acquire("r", shared=True) for _ in range(2)]
        self.assertEqual(readers[0].mode, "shared")
        with self.assertRaises(holdfast.LockHeld):
            self.client.acquire("r")
        permits = [self.client.acquire("s", limit=2), self.client.acquire("semaphore:s", limit=2)]
        with self.assertRaises(holdfast.LockHeld):
            self.client.acquire("s", limit=2)
        for limit, code in ((3, "LimitMismatch"), (None, "KindMismatch"), (1, "KindMismatch")):
            with self.subTest(limit), self.assertRaises(holdfast.BadRequest) as refusal:
                self.client.acquire("s", limit=limit)
            self.assertEqual((refusal.exception.status, refusal.exception.code), (409, code))
        for lease in readers + permits:
            self.assertTrue(self.client.release(lease))

    def test_a_restarted_program_finds_its_lease_by_its_own_request_id(self):
        first = self.connect(self.server.url, owner="me").acquire("x", 60, request_id="nightly")
        again = self.connect(self.server.url, owner="me").acquire("x", 60, request_id="nightly")
        self.assertEqual((again.token, again.fencing_token), (first.token, first.fencing_token))
        self.assertTrue(again.is_guaranteed())
        self.client.release(again)
        with self.assertRaises(holdfast.LockLost):
            self.connect(self.server.url, owner="me").acquire("x", 60, request_id="nightly")

    def test_asking_again_and_again_is_bounded_and_takes_what_comes_free(self):
        first = self.client.acquire("x", 60)
        with self.assertRaises(holdfast.LockHeld):
            self.client.acquire_with_retry("x", max_retries=2, max_retry=0.03)
        with self.assertRaises(holdfast.LockHeld):
            self.client.acquire_with_retry("x", max_total_wait=0.2)
        stop = holdfast.Stop()
        stopped = self.in_background(lambda: self.client.acquire_with_retry("x", max_retries=10000, stop=stop))
        waiting = self.in_background(lambda: self.client.acquire_with_retry("x", max_retries=10000, max_retry=0.05))
        stop.set()
        self.assertIsInstance(stopped(), holdfast.Cancelled)
        self.client.release(first)
        self.assertGreater(waiting().fencing_token, first.fencing_token)

    def test_a_lease_of_retries_is_renewed_only_by_its_heartbeat(self):
        lease = None
        try:
            lease = self.client.acquire_with_retry("job-lock", 3, owner="worker-1")
            self.client.start_heartbeat(lease)
            gc.collect()  # the guard is not needed
            before = lease.expires_at
            support.until(lambda: lease.expires_at > before, "it is renewed")
            self.assertEqual(self.client.get("job-lock")["owner_id"], "worker-1")
            self.assertTrue(lease.is_guaranteed())
        finally:
            self.assertTrue(self.client.release_once(lease))
        self.assertFalse(self.client.get("job-lock")["held"])
        again = self.client.acquire_with_retry("job-lock", 0.4)
        self.assertEqual(again.owner, self.client.owner)
        self.assertGreater(again.fencing_token, lease.fencing_token)
        time.sleep(0.6)
        self.assertTrue(self.is_free("job-lock"), "it ended by itself")
        self.assertFalse(again.is_guaranteed())

    def test_are_given_back_once(self):
        lost = []
        lease = self.client.acquire("x", 60)
        guard = self.client.start_heartbeat(lease, on_lost=lost.append)
        self.assertTrue(self.client.release_once(lease))
        self.assertFalse(guard.is_held())
        self.assertEqual(lost, [], "giving it back is no loss")
        self.assertFalse(self.client.release_once(None))
        loose = self.client.acquire("x", 60)
        self.assertTrue(self.client.release_once(loose))
        self.assertFalse(self.client.release_once(loose))
        guard = self.client.try_lock("x")
        self.assertTrue(self.client.release_once(guard))

    def test_are_renewed_and_end(self):
        lease = self.client.acquire("path:/a/b", 60)
        before = lease.guaranteed_until
        self.assertIs(self.client.renew(lease), lease)
        self.assertGreater(lease.guaranteed_until, before)
        self.client.renew(lease, 10)
        self.assertLess(lease.guaranteed_until, before)
        self.assertTrue(self.client.release(lease))
        self.assertFalse(self.client.release(lease))
        for ask in (lambda: self.client.renew(lease), lambda: self.client.get_lease(lease.token)):
            with self.assertRaises(holdfast.LockLost) as lost:
                ask()
            self.assertNotIn(lease.token, str(lost.exception))

    def test_a_renewal_whose_answer_is_lost_may_have_made_the_lease_shorter(self):
        proxy = self.proxy()
        far = self.connect(proxy.url, retry_for=0)
        lease = far.acquire("x", 60)
        proxy.lose_answers(1)
        with self.assertRaises(holdfast.ServerUnavailable):
            far.renew(lease, 10)
        self.assertLess(lease.guaranteed_until, holdfast.clock() + 10)

    def test_the_token_of_a_lease_is_never_shown(self):
        with self.client.lock("x") as guard:
            for shown in (repr(guard), str(guard), repr(guard.lease), str(guard.lease)):
                self.assertNotIn(guard.lease.token, shown)
            with self.assertRaises(holdfast.ScopeMismatch) as mismatch:
                self.client.check(guard, "y")
            self.assertNotIn(guard.lease.token, str(mismatch.exception))


class LostAnswers(ServerTest):
    def test_of_what_is_not_safe_twice_are_not_asked_for_again(self):
        proxy = self.proxy()
        self.client.acquire("x", 60)
        proxy.lose_answers(1)
        with self.assertRaises(holdfast.ServerUnavailable):
            self.connect(proxy.url).force_release("x")
        self.assertTrue(self.is_free("x"))

    def test_what_was_certainly_not_done_is_asked_for_again(self):
        nowhere = self.script(lambda index, request: None)
        nowhere.end()
        self.client.acquire("x", 60)
        self.assertEqual(self.connect([nowhere.url, self.server.url]).force_release("x"), 1)

    def test_nobody_there_is_said_so(self):
        proxy = self.proxy()
        proxy.cut()
        with self.assertRaises(holdfast.ServerUnavailable) as caught:
            self.connect(proxy.url, retry_for=0.3).acquire("x")
        self.assertIn(proxy.url, str(caught.exception))

    def test_a_server_that_says_later_is_asked_again_at_its_pace(self):
        def reply(index, request):
            if index < 2:
                return 503, {"error": "StoreBusy", "message": "later"}, {"Retry-After": "1"}
            return 200, lease_json()

        scripted = self.script(reply)
        began_at = holdfast.clock()
        self.assertEqual(self.connect(scripted.url).acquire("x", 60).fencing_token, 7)
        self.assertGreaterEqual(holdfast.clock() - began_at, 2)
        self.assertEqual(len({request["body"]["request_id"] for request in scripted.seen}), 1)

    def test_an_idle_connection_that_the_server_has_closed_does_not_change_the_server(self):
        proxy = self.proxy()
        other = self.script(lambda index, request: (200, {"held": False}))
        client = self.connect([proxy.url, other.url])
        client.get("x")
        proxy.cut()
        proxy.heal()
        client.get("x")
        self.assertEqual(other.seen, [])


class Scopes(ServerTest):
    def test_regions_conflict_where_they_overlap(self):
        with self.client.lock({"kind": "range", "inode": 7, "start": 0, "end": 4096}) as guard:
            self.assertEqual(guard.name, "range:7:0-4096")
            with self.client.lock("range:7:4096-", 10), self.client.lock("path:/a", 10):
                self.assertEqual(len(list(self.client.leases(page_size=1))), 3)
                self.assertEqual(len(list(self.client.leases(path="/a"))), 1)
            with self.assertRaises(holdfast.LockHeld) as refusal:
                self.client.acquire("inode:7")
            self.assertEqual(refusal.exception.holder, self.client.owner)
            with self.assertRaises(holdfast.WaitTimedOut) as refusal:
                self.connect(self.server.url).acquire("range:7:0-1", wait=0.01)
            self.assertEqual(refusal.exception.holder, self.client.owner)
        self.assertEqual(list(self.client.leases()), [])

    def test_a_name_with_and_without_its_kind_is_the_same_lock(self):
        for name, same in (("x", "named:x"), ("job:7", "named:job:7"), ("a/b c?", "named:a/b c?")):
            self.client.acquire(name)
            self.assertIsNone(self.client.try_lock(same))
            self.assertFalse(self.is_free(same))
            self.assertEqual(self.client.force_release(same), 1)
            self.assertTrue(self.is_free(name))
            self.client.acquire(name)
            self.client.force_release(name)

    def test_other_kinds_are_shown_and_taken_away(self):
        for scope in ("path:/a/b", "inode:7", "range:8:0-9", "semaphore:s"):
            self.client.acquire(scope, limit=2 if scope.startswith("semaphore") else None)
            self.assertFalse(self.is_free(scope))
            self.assertEqual(self.client.force_release(scope), 1)
            self.assertTrue(self.is_free(scope))

    def test_tokens_are_checked_for_what_they_cover(self):
        with self.client.lock("range:7:0-4096") as guard:
            self.assertEqual(self.client.check(guard, "range:7:0-512").mode, "exclusive")
            self.assertEqual(self.client.check(guard.lease.token, "range:7:0-512").name, "range:7:0-4096")
            with self.assertRaises(holdfast.ScopeMismatch) as mismatch:
                self.client.check(guard.lease, "range:7:0-5000")
            self.assertEqual(mismatch.exception.scope["end"], 4096)
        with self.assertRaises(holdfast.LockLost):
            self.client.check(guard, "range:7:0-512")

    def test_a_fence_refuses_an_older_number(self):
        old = self.client.acquire("x")
        self.client.release(old)
        with self.client.lock("x") as new:
            self.assertIsNone(self.client.get_fence("a/bucket"))
            self.assertEqual(self.client.pass_fence("a/bucket", new), new.fencing_token)
            with self.assertRaises(holdfast.StaleFence) as stale:
                self.client.pass_fence("a/bucket", old)
            self.assertEqual(stale.exception.highest, new.fencing_token)
            self.assertEqual(self.client.get_fence("a/bucket"), new.fencing_token)
        self.client.drop_fence("a/bucket")
        self.assertEqual(self.client.pass_fence("a/bucket", old.fencing_token), old.fencing_token)

    def test_what_makes_no_sense_is_refused(self):
        for ask in (lambda: self.client.lock("x", 0), lambda: self.client.lock("x", limit=0),
                    lambda: self.client.lock("path:/a", limit=2)):
            with self.assertRaises(ValueError):
                ask()
        for scope in ("range:7:9-8", "inode:x", "named:", ""):
            with self.subTest(scope), self.assertRaises(holdfast.BadRequest):
                self.client.acquire(scope)


class Looking(ServerTest):
    def test_lists_page_by_page(self):
        names = [f"job/{i}" for i in range(5)]
        for name in names:
            self.client.acquire(name)
        self.client.acquire("other")
        self.assertEqual(sorted(lock["lock_name"] for lock in self.client.list("job/", page_size=2)), names)

    def test_events_go_on_where_they_were_cut_off(self):
        proxy = self.proxy()
        seen, opened = [], []

        def watch():
            for event in self.connect(proxy.url).watch("x", on_open=lambda: opened.append(1)):
                seen.append(event)
                if event.data.get("metadata") == "last":
                    return

        watching = self.in_background(watch)
        until(lambda: opened)
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
        self.assertEqual([event.kind for event in seen], ["granted", "released"] * 5 + ["granted"])
        self.assertEqual({event.name for event in seen}, {"x"})
        ids = [event.id for event in seen]
        self.assertEqual(ids, sorted(set(ids)))

    def test_a_stream_may_be_the_last_answer_of_its_connection(self):
        def reply(index, request):
            return 200, b"id: %d\nevent: granted\ndata: {}\n\n" % index, {"Connection": "close"}

        stop = holdfast.Stop()
        events = self.connect(self.script(reply).url).watch(stop=stop)
        self.assertEqual([next(events).id, next(events).id], [0, 1])
        stop.set()
        self.assertEqual(list(events), [])

    def test_watching_and_observing_end_when_they_are_stopped(self):
        for follow in (self.client.watch, lambda **options: self.client.observe("boss", **options)):
            stop = holdfast.Stop()
            opened = threading.Event()
            following = self.in_background(lambda: [opened.set() for _ in follow(stop=stop)])
            while not opened.wait(0.05):
                self.client.release(self.client.acquire("boss"))
            stop.set()
            self.assertTrue(following())

    def test_an_election_has_one_leader_at_a_time(self):
        seen = []
        stop = holdfast.Stop()
        looking = self.in_background(lambda: [seen.append(leader) for leader in self.client.observe("boss", stop=stop)])
        until(lambda: seen == [None])
        candidates = [self.connect(self.server.url) for _ in range(2)]
        first = candidates[0].campaign("boss", "a")
        second = self.in_background(lambda: candidates[1].campaign("boss", "b"))
        self.wait_for_queue("boss", 1)
        first.release()
        second = second()
        until(lambda: seen[-1] and seen[-1].value == "b")
        self.assertEqual([(leader.candidate, leader.value, leader.fencing_token) for leader in seen if leader],
                         [(candidates[0].owner, "a", first.fencing_token),
                          (candidates[1].owner, "b", second.fencing_token)])
        second.release()
        until(lambda: seen[-1] is None)
        stop.set()
        self.assertIsInstance(looking(), list)


class Secrets(ServerTest):
    def setUp(self):
        self.files = self.folder()

    def write(self, name, text):
        path = self.files / name
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
                next(self.connect(server.url, **options).watch())
        with mock.patch.dict(os.environ, {"HOLDFAST_TOKEN": "the-users", "HOLDFAST_SERVER": server.url}):
            user = self.connect(None)
        user.acquire("x")
        with self.assertRaises(holdfast.Forbidden) as denied:
            user.force_release("x")
        self.assertEqual((denied.exception.right, denied.exception.on), ("admin", "*"))
        with mock.patch.dict(os.environ, {"HOLDFAST_TOKEN_FILE": admin}):
            boss = self.connect(server.url)
        self.assertEqual(boss.force_release("x"), 1)

    def test_a_new_one_in_the_file_is_used(self):
        auth = self.write("auth", "first")
        server = self.serve("--auth-token-file", auth)
        user = self.connect(server.url, token_file=auth)
        lease = user.acquire("x", 60)
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
        certificate, key = make_certificate(self.files)
        server = self.serve("--tls-cert", certificate, "--tls-key", key, scheme="https")
        with mock.patch.dict(os.environ, {"HOLDFAST_CA_FILE": certificate}):
            client = self.connect(server.url)
        with client.lock("x") as guard:
            guard.check()
            stop = holdfast.Stop()
            waiting = self.in_background(lambda: client.acquire("x", wait=None, stop=stop))
            until(lambda: client.get("x", queue=True)["queue_length"] == 1)
            stop.set()
            self.assertIsInstance(waiting(), holdfast.Cancelled)
        with self.assertRaises(holdfast.ServerUnavailable):
            self.connect(server.url).acquire("x")


class Addresses(ServerTest):
    def test_an_address_needs_no_scheme(self):
        self.assertFalse(self.connect(f"127.0.0.1:{self.server.port}").get("x")["held"])

    def test_a_unix_socket_is_a_server_like_any_other(self):
        proxy = self.proxy(str(self.folder() / "s"))
        client = self.connect(proxy.url)
        with client.lock("x") as guard:
            guard.check()
            self.assertFalse(self.is_free("x"))
        proxy.lose_answers(1)
        client.release(client.acquire("x"))
        self.assertEqual(proxy.lost, 1)

    def test_a_unix_socket_says_why_there_is_no_server(self):
        path = str(self.folder() / "s")

        def problem():
            with self.assertRaises(holdfast.ServerUnavailable) as caught:
                self.connect("unix:" + path, retry_for=0).acquire("x")
            return str(caught.exception)

        self.assertIn("No such file or directory", problem())
        with socket.socket(socket.AF_UNIX) as left_behind:
            left_behind.bind(path)
        self.assertIn("Connection refused", problem())

    def test_whatever_answers_without_being_holdfast_is_called_that(self):
        answers = [(200, b"<html>"), (404, b'{"detail":"Not Found"}'), (404, b'{"error":"nothing here"}'), (404, b""),
                   (200, b'{"ok":true}'), (200, b"[]"), (302, b""), (500, b"oops")]
        for said in answers:
            scripted = self.script(lambda index, request, said=said: said)
            client = self.connect(scripted.url)
            for ask in (lambda: client.acquire("x"), lambda: client.get("x"), lambda: client.get_fence("x")):
                with self.subTest(said), self.assertRaises(holdfast.NotHoldfast) as caught:
                    ask()
                self.assertIn(scripted.url, str(caught.exception))

    def test_an_answer_has_a_length_and_is_read_to_its_end(self):
        def reply(index, request):
            if index == 0:
                return 200, b'{"token', {"Content-Length": "1000", "Connection": "close"}
            return 200, lease_json()

        scripted = self.script(reply)
        self.assertEqual(self.connect(scripted.url).acquire("x").fencing_token, 7)
        self.assertEqual(len(scripted.seen), 2, "an answer that is cut off is asked for again")
        with mock.patch("holdfast.transport.ANSWER_MAX", 100), self.assertRaises(holdfast.NotHoldfast) as caught:
            self.connect(scripted.url).acquire("x")
        self.assertIn("no end", str(caught.exception))

    def test_what_does_not_speak_http_is_not_holdfast(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def greet():
                connection, _ = listener.accept()
                connection.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")
                connection.recv(65536)
                connection.close()

            threading.Thread(target=greet, daemon=True).start()
            with self.assertRaises(holdfast.NotHoldfast):
                self.connect("127.0.0.1:%d" % listener.getsockname()[1]).acquire("x")


if __name__ == "__main__":
    support.main()
