#!/usr/bin/env python3
"""The asyncio client against the real server: the scenarios of clients/scenarios.md, and what is peculiar to asyncio.

    aio_test.py HOLDFAST [unittest's arguments]
"""

import asyncio
import gc
import tempfile
import time
import unittest
import warnings
from unittest import mock

import support
from support import PATIENCE_S, Proxy, Scripted, Server, lease_json, make_certificate

import holdfast
from holdfast import aio


async def until(is_so, what="it"):
    deadline = time.monotonic() + PATIENCE_S
    while True:
        so = is_so()
        if await so if asyncio.iscoroutine(so) else so:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} never came about")
        await asyncio.sleep(0.01)


class AsyncTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        loop = asyncio.get_running_loop()
        loop.slow_callback_duration = PATIENCE_S  # the machine is slow, and nobody wants to know
        self.complaints = []
        loop.set_exception_handler(lambda loop, context: self.complaints.append(context["message"]))
        self.server = self.serve()
        self.client = self.connect(self.server.url)

    async def asyncTearDown(self):
        gc.collect()
        self.assertEqual(self.complaints, [], "such as: Task exception was never retrieved")

    def serve(self, *flags, **options):
        server = Server(*flags, **options)
        self.addCleanup(server.end)
        return server

    def connect(self, url, **options):
        client = aio.Client(url, **{"timeout": 30, "retry_for": 30, **options})
        self.addAsyncCleanup(client.close)
        return client

    def proxy(self, path=None):
        proxy = Proxy(self.server, path)
        self.addCleanup(proxy.end)
        return proxy

    def script(self, reply):
        scripted = Scripted(reply)
        self.addCleanup(scripted.end)
        return scripted

    async def queue_length(self, name):
        return (await self.client.get(name, queue=True)).get("queue_length", 0)

    async def wait_for_queue(self, name, length):
        async def is_so():
            return await self.queue_length(name) == length

        await until(is_so, "the queue")

    async def is_free(self, name):
        return not (await self.client.get(name))["held"]

    async def result_of(self, task):
        """What a task returned or raised."""
        done, _ = await asyncio.wait({task}, timeout=PATIENCE_S)
        self.assertTrue(done, "it never came to an end")
        return (await asyncio.gather(task, return_exceptions=True))[0]

    async def tokens(self):
        return [lease["fencing_token"] async for lease in self.client.leases()]


class Scenarios(AsyncTest):
    async def test_S1_take_renew_give_back(self):
        async with self.client.lock("x", 6) as guard:
            first = guard.fencing_token
            self.assertEqual((await self.client.get("x"))["fencing_token"], first)
            sure_until = guard.lease.guaranteed_until
            await until(lambda: guard.lease.guaranteed_until > sure_until, "a renewal")
            guard.check()
        self.assertTrue(await self.is_free("x"))
        self.assertFalse(guard.lost.is_set())
        with self.assertRaises(holdfast.LockLost):
            guard.check()
        with self.assertRaises(ZeroDivisionError):
            async with self.client.lock("x") as guard:
                self.assertGreater(guard.fencing_token, first)
                raise ZeroDivisionError
        self.assertTrue(await self.is_free("x"))

    async def test_S2_somebody_else_holds_it(self):
        lease = await self.client.acquire("x", 60)
        other = self.connect(self.server.url)
        with self.assertRaises(holdfast.LockHeld) as refusal:
            await other.acquire("x")
        self.assertEqual(refusal.exception.holder, self.client.owner)
        self.assertAlmostEqual(refusal.exception.expires_at, lease.expires_at, delta=0.01)
        self.assertTrue(0 < refusal.exception.retry_after <= 1)
        self.assertIsNone(await other.try_lock("x"))
        self.assertEqual(await self.tokens(), [lease.fencing_token])

    async def test_S3_wait_in_the_queue(self):
        first = await self.client.acquire("x", 60)
        served = []

        async def wait(name):
            async with self.connect(self.server.url, owner=name).lock("x", 60):
                served.append(name)

        waiting = []
        for name in ("b", "c", "d"):
            waiting.append(asyncio.ensure_future(wait(name)))
            await self.wait_for_queue("x", len(waiting))
        await self.client.release(first)
        self.assertEqual([await self.result_of(task) for task in waiting], [None] * 3)
        self.assertEqual(served, ["b", "c", "d"])

    async def test_S4_a_wait_that_ends(self):
        await self.client.acquire("x", 60)
        began_at = holdfast.clock()
        with self.assertRaises(holdfast.WaitTimedOut) as refusal:
            await self.connect(self.server.url).acquire("x", wait=0.3)
        self.assertGreaterEqual(holdfast.clock() - began_at, 0.3)
        self.assertEqual(refusal.exception.holder, self.client.owner)
        self.assertEqual(await self.queue_length("x"), 0)

    async def test_S5_a_wait_that_is_cancelled(self):
        first = await self.client.acquire("x", 60)
        waiting = asyncio.ensure_future(self.client.acquire("x", wait=None))
        await self.wait_for_queue("x", 1)
        waiting.cancel()
        self.assertIsInstance(await self.result_of(waiting), asyncio.CancelledError)
        self.assertEqual(await self.queue_length("x"), 0)
        await self.client.release(first)
        self.assertTrue(await self.is_free("x"))

    async def test_S5_a_wait_with_a_time_limit_of_asyncio(self):
        await self.client.acquire("x", 60)
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(self.client.acquire("x", wait=None), 0.2)
        self.assertEqual(await self.queue_length("x"), 0)

    async def test_S5_a_cancelled_wait_gives_back_what_was_granted_meanwhile(self):
        proxy = self.proxy()
        proxy.lose_answers(1, silently=True)
        waiting = asyncio.ensure_future(self.connect(proxy.url).acquire("x", 600))

        async def is_granted():
            return proxy.lost == 1 and not await self.is_free("x")

        await until(is_granted, "the grant")
        waiting.cancel()
        self.assertIsInstance(await self.result_of(waiting), asyncio.CancelledError)
        self.assertTrue(await self.is_free("x"))

    async def test_S5_cancelling_twice_returns_at_once_and_leaves_nothing_behind(self):
        proxy = self.proxy()
        far = self.connect(proxy.url)
        proxy.lose_answers(2, silently=True)  # that of the acquire, and the first of the abandonment
        waiting = asyncio.ensure_future(far.acquire("x", 600))
        await until(lambda: proxy.lost == 1, "the grant")
        waiting.cancel()
        await until(lambda: proxy.lost == 2, "the abandonment")
        waiting.cancel()
        self.assertIsInstance(await self.result_of(waiting), asyncio.CancelledError)
        await far.close()
        self.assertTrue(await self.is_free("x"))

    async def test_S5_a_cancelled_block_gives_back(self):
        entered = asyncio.Event()

        async def work():
            async with self.client.lock("x"):
                entered.set()
                await asyncio.sleep(PATIENCE_S)

        working = asyncio.ensure_future(work())
        await entered.wait()
        working.cancel()
        self.assertIsInstance(await self.result_of(working), asyncio.CancelledError)
        self.assertTrue(await self.is_free("x"))

    async def test_S6_the_answer_of_an_acquire_is_lost(self):
        proxy = self.proxy()
        proxy.lose_answers(2)
        lease = await self.connect(proxy.url).acquire("s", 60, limit=2)  # a second grant would be possible
        self.assertEqual(proxy.lost, 2)
        self.assertEqual(await self.tokens(), [lease.fencing_token])

    async def test_S7_the_answer_of_a_release_is_lost(self):
        proxy = self.proxy()
        far = self.connect(proxy.url)
        lease = await far.acquire("x", 60)
        proxy.lose_answers(1)
        self.assertTrue(await far.release(lease))
        self.assertEqual(proxy.lost, 1)
        self.assertFalse(await self.client.release(lease), "it had ended before")

    async def test_S8_the_server_is_restarted_while_the_lock_is_held(self):
        proxy = self.proxy()
        losses = []
        async with self.connect(proxy.url).lock("x", 15, on_lost=losses.append) as guard:
            waiting = asyncio.ensure_future(self.connect(proxy.url).acquire("x", 60, wait=None))
            await self.wait_for_queue("x", 1)
            sure_until = guard.lease.guaranteed_until
            self.server.restart_in_good_order()
            await until(lambda: guard.lease.guaranteed_until > sure_until, "a renewal")
            guard.check()
        self.assertGreater((await self.result_of(waiting)).fencing_token, guard.fencing_token)
        self.assertEqual(losses, [])

    async def test_S9_the_server_is_killed_and_stays_away(self):
        losses, told_at = [], []

        async def on_lost(loss):
            told_at.append(holdfast.clock())
            losses.append(loss)

        guard = await self.client.lock("x", 12, on_lost=on_lost).acquire()
        lease_ends_at = guard.lease.lasts_until
        self.server.kill()
        try:
            await asyncio.wait_for(guard.lost.wait(), PATIENCE_S)
            await until(lambda: losses)
            self.assertLess(told_at[0], lease_ends_at)
            self.assertFalse(guard.is_held())
            with self.assertRaises(holdfast.LockLost):
                guard.check()
        finally:
            self.server.start()
        await asyncio.sleep(1.5)
        self.assertEqual(len(losses), 1)

    async def test_S9_a_renewal_that_hangs_does_not_hide_the_loss(self):
        guard = await self.client.lock("x", 9).acquire()
        lease_ends_at = guard.lease.lasts_until
        self.server.stop()
        try:
            await asyncio.wait_for(guard.lost.wait(), PATIENCE_S)
            self.assertLess(holdfast.clock(), lease_ends_at)
        finally:
            self.server.go_on()

    async def test_S10_the_lock_is_taken_away(self):
        losses = []
        with self.assertRaises(holdfast.LockLost):
            async with self.client.lock("x", 6, on_lost=losses.append) as guard:
                self.assertEqual(await self.client.force_release("x"), 1)
                await asyncio.wait_for(guard.lost.wait(), PATIENCE_S)
                self.assertGreater(guard.lease.guaranteed_until, holdfast.clock(), "the next renewal tells it")
                with self.assertRaises(holdfast.LockLost):
                    guard.check()
        await until(lambda: losses)
        self.assertEqual([type(loss) for loss in losses], [holdfast.LockLost])

    async def test_S11_the_wall_clock_is_set_forwards_and_back(self):
        real = time.time
        shift = [0.0]
        with mock.patch.object(time, "time", lambda: real() + shift[0]):
            async with self.client.lock("x", 6) as guard:
                for shift[0] in (86400.0, -86400.0):
                    guard.check()
                    self.assertTrue(0 < guard.time_left() <= 5)
                    sure_until = guard.lease.guaranteed_until
                    await until(lambda: guard.lease.guaranteed_until > sure_until, "a renewal")

    async def test_S12_a_wait_of_more_than_ten_minutes(self):
        def reply(index, request):
            if index < 2:
                return 409, {"error": "StillWaiting", "message": "wait on", "place_kept_ms": 5000}
            return 200, lease_json()

        scripted = self.script(reply)
        lease = await self.connect(scripted.url).acquire("x", 60, wait=None)
        self.assertEqual(lease.fencing_token, 7)
        bodies = [request["body"] for request in scripted.seen]
        self.assertEqual((len(bodies), len({body["request_id"] for body in bodies})), (3, 1))
        self.assertEqual({body["wait_ms"] for body in bodies}, {365 * 86400 * 1000})

    async def test_S13_several_servers(self):
        nowhere = self.script(lambda index, request: None)
        nowhere.end()
        proxy = self.proxy()
        proxy.lose_answers(1)
        lease = await self.connect(f"{nowhere.url},{proxy.url},{self.server.url}").acquire("s", 60, limit=2)
        self.assertEqual(proxy.lost, 1)
        self.assertEqual(await self.tokens(), [lease.fencing_token])

    async def test_S14_two_tasks_use_one_client_at_the_same_time(self):
        async def work(name):
            tokens = []
            for _ in range(20):
                async with self.client.lock(name, 60) as guard:
                    guard.check()
                    tokens.append((guard.name, guard.fencing_token))
            return tokens

        results = await asyncio.gather(work("a"), work("b"))
        for name, tokens in zip("ab", results):
            self.assertEqual([one for one, _ in tokens], [name] * 20)
            self.assertEqual(tokens, sorted(set(tokens)))

    async def test_S14_one_lock_object_lets_one_task_in_at_a_time(self):
        lock = self.client.lock("x")
        inside, tokens = [], []

        async def work():
            for _ in range(5):
                async with lock as guard:
                    self.assertIs(lock.guard, guard)
                    self.assertEqual(inside, [])
                    inside.append(guard)
                    tokens.append(guard.fencing_token)
                    await asyncio.sleep(0.002)
                    inside.remove(guard)

        await asyncio.gather(*(work() for _ in range(8)))
        self.assertEqual((len(tokens), tokens), (40, sorted(set(tokens))))


class Calls(AsyncTest):
    async def test_a_decorated_function_runs_under_the_lock(self):
        lock = self.client.locked("x")

        @lock
        async def work(number):
            self.assertEqual((await self.client.get("x"))["fencing_token"], lock.guard.fencing_token)
            return number + 1

        self.assertEqual((work.__name__, await work(1), await work(2)), ("work", 2, 3))
        self.assertTrue(await self.is_free("x"))
        with self.assertRaises(holdfast.HoldfastError):
            lock.guard
        with self.assertRaises(TypeError):
            lock(lambda: None)

    async def test_fences_and_checks(self):
        async with self.client.lock("range:7:0-4096") as guard:
            self.assertEqual((await self.client.check(guard, "range:7:0-512")).fencing_token, guard.fencing_token)
            with self.assertRaises(holdfast.ScopeMismatch):
                await self.client.check(guard, "range:7:0-5000")
            self.assertIsNone(await self.client.get_fence("bucket"))
            self.assertEqual(await self.client.pass_fence("bucket", guard), guard.fencing_token)
            with self.assertRaises(holdfast.StaleFence):
                await self.client.pass_fence("bucket", guard.fencing_token - 1)
            await self.client.drop_fence("bucket")
            self.assertIsNone(await self.client.get_fence("bucket"))

    async def test_an_election_has_one_leader_at_a_time(self):
        seen = []

        async def look():
            async for leader in self.client.observe("boss"):
                seen.append(leader.value if leader else None)
                if leader and leader.value == "b":
                    return

        looking = asyncio.ensure_future(look())
        await until(lambda: seen == [None])
        first = await self.connect(self.server.url).campaign("boss", "a")
        second = asyncio.ensure_future(self.connect(self.server.url).campaign("boss", "b"))
        await self.wait_for_queue("boss", 1)
        self.assertFalse(second.done())
        await first.release()
        second = await self.result_of(second)
        self.assertGreater(second.fencing_token, first.fencing_token)
        await self.result_of(looking)
        self.assertEqual([value for value in seen if value], ["a", "b"])

    async def test_events_go_on_where_they_were_cut_off(self):
        proxy = self.proxy()
        far = self.connect(proxy.url)
        seen = []
        opened = []

        async def watch():
            async for event in far.watch("x", on_open=lambda: opened.append(1)):
                seen.append(event)
                if event.data.get("metadata") == "last":
                    return

        watching = asyncio.ensure_future(watch())
        await until(lambda: opened)
        await self.client.release(await self.client.acquire("x"))
        await until(lambda: len(seen) == 2)
        proxy.cut()
        await self.client.release(await self.client.acquire("x"))
        proxy.heal()
        await self.client.acquire("x", metadata="last")
        self.assertIsNone(await self.result_of(watching))
        self.assertEqual([event.kind for event in seen], ["granted", "released"] * 2 + ["granted"])

    async def test_a_block_whose_end_cannot_be_told_fails(self):
        proxy = self.proxy()
        with self.assertRaises(holdfast.ServerUnavailable):
            async with self.connect(proxy.url, retry_for=0.2).lock("x", 60):
                proxy.cut()

    async def test_a_block_whose_lock_was_taken_away_before_its_end_fails(self):
        with self.assertRaises(holdfast.LockLost):
            async with self.client.lock("x", 600):
                await self.client.force_release("x")  # long before the next renewal

    async def test_a_release_waits_for_on_lost(self):
        may_end, told = asyncio.Event(), []

        async def on_lost(loss):
            await may_end.wait()
            told.append(await guard.release())  # waits for nobody

        self.addCleanup(may_end.set)
        guard = await self.client.lock("x", 3, on_lost=on_lost).acquire()
        await self.client.force_release("x")
        await asyncio.wait_for(guard.lost.wait(), PATIENCE_S)
        releasing = asyncio.ensure_future(guard.release())
        cancelled = asyncio.ensure_future(guard.release())
        await asyncio.sleep(0.3)
        self.assertFalse(releasing.done(), "the release has not waited for on_lost")
        cancelled.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await cancelled
        may_end.set()
        self.assertFalse(await self.result_of(releasing))
        self.assertEqual(told, [False])

    async def test_leases_are_renewed_listed_and_found(self):
        lease = await self.client.acquire("path:/a/b", 60)
        before = lease.guaranteed_until
        await self.client.renew(lease, 20)
        self.assertLess(lease.guaranteed_until, before)
        self.assertEqual((await self.client.get_lease(lease.token)).name, "path:/a/b")
        self.assertEqual([lock["lock_name"] async for lock in self.client.list(page_size=1)], ["/a/b"])
        guard = await self.client.start_heartbeat(lease)
        self.assertTrue(await guard.release())
        with self.assertRaises(holdfast.LockLost):
            await self.client.renew(lease)

    async def test_asking_again_and_again_is_bounded(self):
        first = await self.client.acquire("x", 60)
        with self.assertRaises(holdfast.LockHeld):
            await self.client.acquire_with_retry("x", max_retries=2, max_retry=0.03)
        waiting = asyncio.ensure_future(self.client.acquire_with_retry("x", max_retries=9999, max_retry=0.05))
        await self.client.release(first)
        self.assertGreater((await self.result_of(waiting)).fencing_token, first.fencing_token)

    async def test_a_lease_of_retries_is_renewed_only_by_its_heartbeat(self):
        lease = await self.client.acquire_with_retry("job-lock", 3, owner="worker-1")
        lost = []
        await self.client.start_heartbeat(lease, on_lost=lost.append)
        gc.collect()  # the guard is not needed
        before = lease.expires_at
        await until(lambda: lease.expires_at > before, "it is renewed")
        self.assertEqual((await self.client.get("job-lock"))["owner_id"], "worker-1")
        self.assertTrue(await self.client.release_once(lease))
        self.assertFalse(await self.client.release_once(None))
        self.assertEqual(lost, [])
        again = await self.client.acquire_with_retry("job-lock", 0.4)
        self.assertGreater(again.fencing_token, lease.fencing_token)
        await asyncio.sleep(0.6)
        self.assertTrue(await self.is_free("job-lock"))
        self.assertFalse(await self.client.release_once(again))

    async def test_a_unix_socket_is_a_server(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        client = self.connect(self.proxy(folder.name + "/s").url)
        async with client.lock("x"):
            self.assertFalse(await self.is_free("x"))
        with self.assertRaises(holdfast.ServerUnavailable) as caught:
            await self.connect(f"unix:{folder.name}/nothing", retry_for=0).acquire("x")
        self.assertIn("No such file or directory", str(caught.exception))

    async def test_tls_is_spoken_with_those_we_trust(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        certificate, key = make_certificate(folder.name)
        server = self.serve("--tls-cert", certificate, "--tls-key", key, scheme="https")
        async with self.connect(server.url, ca_file=certificate).lock("x") as guard:
            guard.check()
        with self.assertRaises(holdfast.ServerUnavailable):
            await self.connect(server.url).acquire("x")

    async def test_an_answer_has_a_length_and_is_read_to_its_end(self):
        def reply(index, request):
            if index == 0:
                return 200, b'{"token', {"Content-Length": "1000", "Connection": "close"}
            return 200, lease_json()

        scripted = self.script(reply)
        self.assertEqual((await self.connect(scripted.url).acquire("x")).fencing_token, 7)
        self.assertEqual(len(scripted.seen), 2, "an answer that is cut off is asked for again")
        with mock.patch("holdfast.aio.transport.ANSWER_MAX", 100), self.assertRaises(holdfast.NotHoldfast) as caught:
            await self.connect(scripted.url).acquire("x")
        self.assertIn("no end", str(caught.exception))

    async def test_whatever_answers_without_being_holdfast_is_called_that(self):
        bodies = {b"<html>": 200, b'{"detail":"Not Found"}': 404, b'{"ok":true}': 200}
        for body, status in bodies.items():
            scripted = self.script(lambda index, request, said=(status, body): said)
            with self.subTest(body), self.assertRaises(holdfast.NotHoldfast) as caught:
                await self.connect(scripted.url).acquire("x")
            self.assertIn(scripted.url, str(caught.exception))

        def greet(reader, writer):
            writer.write(b"SSH-2.0-x\r\n\r\n")
            writer.close()

        listener = await asyncio.start_server(greet, "127.0.0.1", 0)
        self.addCleanup(listener.close)
        with self.assertRaises(holdfast.NotHoldfast):
            await self.connect("127.0.0.1:%d" % listener.sockets[0].getsockname()[1]).acquire("x")

    async def test_an_idle_connection_that_the_server_has_closed_is_replaced(self):
        proxy = self.proxy()
        client = self.connect(proxy.url, retry_for=5)
        await client.get("x")
        proxy.cut()
        proxy.heal()
        await client.get("x")

    async def test_a_stream_may_be_the_last_answer_of_its_connection(self):
        def reply(index, request):
            return 200, b"id: %d\nevent: granted\ndata: {}\n\n" % index, {"Connection": "close"}

        seen = []
        async for event in self.connect(self.script(reply).url).watch():
            seen.append(event.id)
            if len(seen) == 2:
                break
        self.assertEqual(seen, [0, 1])

    async def test_a_silent_server_is_named(self):
        proxy = self.proxy()
        proxy.lose_answers(1, silently=True)
        with self.assertRaises(holdfast.ServerUnavailable) as caught:
            await self.connect(proxy.url, timeout=0.3, retry_for=0).get("x")
        self.assertIn(proxy.url, str(caught.exception))

    async def test_a_renewal_that_somebody_cancels_is_sent_again(self):
        async with self.client.lock("x", 6) as guard:
            end = guard.lease.guaranteed_until
            with mock.patch.object(aio.transport.Transport, "send", lambda *arguments: asyncio.sleep(PATIENCE_S)):
                await until(lambda: guard._hold.is_renewing, "a renewal")
                for task in asyncio.all_tasks():
                    if "_renew_once" in repr(task):
                        task.cancel()
                await until(lambda: not guard._hold.is_renewing)
            await until(lambda: guard.lease.guaranteed_until > end, "a renewal")

    async def test_answers_may_come_in_chunks(self):
        def reply(index, request):
            return 200, b"5\r\n{\"hel\r\n9;x=y\r\nd\":false}\r\n0\r\nA: b\r\n\r\n", {"Transfer-Encoding": "chunked"}

        scripted = self.script(reply)
        client = self.connect(scripted.url)
        for _ in range(2):
            self.assertEqual(await client.get("x"), {"held": False})


class Programs(unittest.TestCase):
    """Whole event loops, one after the other."""

    def test_one_client_serves_two_event_loops_and_leaves_no_resource_open(self):
        server = Server()
        self.addCleanup(server.end)
        client = aio.Client(server.url)

        async def work():
            async with client, client.lock("x") as guard:
                return guard.fencing_token

        gc.collect()  # what other tests have left
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.assertLess(asyncio.run(work()), asyncio.run(work()))
            gc.collect()
        self.assertEqual([str(warning.message) for warning in caught], [])


if __name__ == "__main__":
    support.main()
