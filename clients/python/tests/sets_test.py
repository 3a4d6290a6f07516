#!/usr/bin/env python3
"""Sets, deadlocks, elections, the history and rights, with both clients against the real server: the scenarios S15 to S17 of
clients/scenarios.md, and what belongs to them.

    sets_test.py HOLDFAST [unittest's arguments]
"""

import asyncio
import os
import signal
import subprocess
import sys
import threading

import support
from aio_test import AsyncTest
from aio_test import until as until_async
from support import PACKAGE, PATIENCE_S, ServerTest, until

import holdfast

# Leads with the value "one", then with "two" when it is told to, until it is killed.
LEADER = """
import holdfast, sys, time
leadership = holdfast.Client(owner="ann").campaign("boss", "one", ttl=3)
sys.stdin.readline()
leadership.set_value("two")
time.sleep(600)
"""


def start_leader(test, url):
    leader = subprocess.Popen([sys.executable, "-c", LEADER], stdin=subprocess.PIPE, text=True,
                              env={**os.environ, "PYTHONPATH": str(PACKAGE), "HOLDFAST_SERVER": url})

    def end():
        leader.kill()
        leader.wait()
        leader.stdin.close()

    test.addCleanup(end)
    return leader


def go_on(leader):
    leader.stdin.write("\n")
    leader.stdin.flush()


def told(leaders):
    """What an observer was told, without the fencing tokens."""
    return [leader and (leader.candidate, leader.value, leader.revision) for leader in leaders]


ELECTION = [None, ("ann", "one", 1), ("ann", "two", 2)]


class Sets(ServerTest):
    def test_S15_a_set_is_all_or_nothing_and_waits_holding_nothing(self):
        in_the_way = self.client.acquire("b", 60)
        other = self.connect(self.server.url)
        with self.assertRaises(holdfast.LockHeld) as refusal:
            other.acquire(["a", "b"])
        self.assertEqual((refusal.exception.name, refusal.exception.holder), ("b", self.client.owner))
        self.assertTrue(self.is_free("a"))
        several = ["a", "b", {"scope": "path:/x", "mode": "shared"}]
        waiting = self.in_background(lambda: other.acquire(several, 60, wait=None))
        self.wait_for_queue("b", 1)
        self.assertTrue(self.is_free("a"), "a set that waits holds nothing")
        self.assertTrue(self.client.release(in_the_way))
        lease = waiting()
        self.assertEqual(lease.scopes, (holdfast.SetMember("a", "exclusive"), holdfast.SetMember("b", "exclusive"),
                                        holdfast.SetMember("path:/x", "shared")))
        for scope in ("a", "b", "path:/x"):
            self.assertEqual(self.client.get(scope)["fencing_token"], lease.fencing_token)
        self.assertIsNone(self.client.try_lock("a"))
        with self.client.try_lock("path:/x", shared=True) as reader:
            self.assertTrue(reader.is_held())
        self.assertTrue(other.release(lease))
        self.assertTrue(all(self.is_free(scope) for scope in ("a", "b", "path:/x")))

    def test_S15_a_set_is_renewed_as_one(self):
        with self.client.lock(["a", {"scope": "s", "limit": 2}], 6) as guard:
            sure_until = guard.lease.guaranteed_until
            until(lambda: guard.lease.guaranteed_until > sure_until, "a renewal")
            self.assertEqual([member.scope for member in guard.lease.scopes], ["a", "semaphore:s"])
        self.assertTrue(self.is_free("a"))

    def test_a_set_that_overlaps_is_refused(self):
        for scopes in (["a", "a"], ["inode:7", "range:7:0-10"]):
            with self.subTest(scopes), self.assertRaises(holdfast.BadRequest):
                self.client.acquire(scopes)


class Deadlocks(ServerTest):
    def test_S16_a_deadlock_is_told_to_one_of_two_and_the_other_goes_on(self):
        barrier = threading.Barrier(2)

        def work(first, second):
            try:
                with self.client.lock(first, 60):
                    barrier.wait(PATIENCE_S)
                    with self.client.lock(second, 60) as guard:
                        return guard.fencing_token
            except holdfast.DeadlockError as error:
                return error

        working = [self.in_background(lambda pair=pair: work(*pair)) for pair in (("a", "b"), ("b", "a"))]
        results = [result() for result in working]
        self.assertEqual({type(result) for result in results}, {int, holdfast.DeadlockError}, results)
        [error] = [result for result in results if isinstance(result, holdfast.DeadlockError)]
        self.assertEqual(sorted(member.waits_for for member in error.cycle), ["a", "b"])
        self.assertEqual({member.holder for member in error.cycle}, {self.client.owner})
        self.assertEqual(len({member.waiter for member in error.cycle}), 2)
        self.assertIn("deadlock", str(error))
        self.assertTrue(self.is_free("a") and self.is_free("b"))

    def test_S16_threads_that_only_wait_for_each_other_are_not_refused(self):
        def work(number):
            with self.client.lock(f"own-{number}", 60):
                for _ in range(3):
                    with self.client.lock("shared", 60), self.client.lock("last", 60):
                        pass

        working = [self.in_background(lambda number=number: work(number)) for number in range(6)]
        self.assertEqual([result() for result in working], [None] * 6)

    def test_S16_a_guard_that_another_thread_releases_is_waited_for(self):
        with self.client.lock("outer", 60):
            permit = self.client.lock("slot", 60).acquire()
            waiting = self.in_background(lambda: (self.wait_for_queue("slot", 1), permit.release()))
            with self.client.lock("slot", 60) as guard:
                self.assertGreater(guard.fencing_token, permit.fencing_token)
            self.assertEqual(waiting()[1], True)

    def test_who_wants_to_wait_nevertheless_waits(self):
        with self.client.lock("a", 60, waiter="me"):
            with self.assertRaises(holdfast.WaitTimedOut):
                self.client.acquire("a", wait=0.3, waiter="me", on_deadlock="wait")


class Elections(ServerTest):
    def observe(self, client):
        seen, stop = [], holdfast.Stop()
        looking = self.in_background(lambda: [seen.append(leader) for leader in client.observe("boss", stop=stop)])
        self.addCleanup(stop.set)
        until(lambda: seen == [None], "the first leader, who is nobody")
        return seen, lambda: (stop.set(), looking())[1]

    def test_S17_the_value_changes_and_the_next_leads_when_the_leader_is_killed(self):
        seen, end = self.observe(self.client)
        leader = start_leader(self, self.server.url)
        until(lambda: told(seen) == ELECTION[:2], "the first value")
        candidate = self.connect(self.server.url, owner="bob")
        waiting = self.in_background(lambda: candidate.campaign("boss", "three", ttl=60))
        self.wait_for_queue("boss", 1)
        go_on(leader)
        until(lambda: told(seen) == ELECTION, "the second value")
        leader.send_signal(signal.SIGKILL)
        leadership = waiting()
        until(lambda: told(seen)[-1] == ("bob", "three", 1), "the next leader")
        self.assertEqual(told(seen)[:3], ELECTION)
        self.assertEqual(seen[-1].fencing_token, leadership.fencing_token)
        self.assertGreater(leadership.fencing_token, seen[1].fencing_token)
        leadership.set_value("four")
        self.assertEqual((leadership.lease.value, leadership.lease.revision), ("four", 2))
        leadership.release()
        until(lambda: seen[-1] is None, "the end of the leadership")
        self.assertIsInstance(end(), list)

    def test_S17_an_observer_goes_on_when_the_server_is_restarted(self):
        proxy = self.proxy()
        seen, _ = self.observe(self.connect(proxy.url))
        with self.connect(proxy.url, owner="ann").campaign("boss", "one", ttl=60) as leadership:
            until(lambda: told(seen) == ELECTION[:2], "the leader")
            self.server.restart()
            leadership.set_value("two")
            until(lambda: told(seen) == ELECTION, "the value after the restart")


class History(ServerTest):
    def test_has_the_leases_that_ended_the_newest_first(self):
        for number in range(5):
            with self.client.lock(f"job/{number}"):
                pass
        with self.client.lock(["a", "b"], metadata="m"):
            pass
        jobs = list(self.client.history(prefix="job/", page_size=2))
        self.assertEqual([entry["scope"]["name"] for entry in jobs], [f"job/{number}" for number in range(4, -1, -1)])
        self.assertEqual({(entry["holder"], entry["ended"]) for entry in jobs}, {(self.client.owner, "released")})
        [both] = self.client.history("b")
        self.assertEqual((both["metadata"], len(both["scopes"])), ("m", 2))
        self.assertEqual(list(self.client.history(owner="nobody")), [])
        self.assertEqual(len(list(self.client.history(since=0))), 6)

    def test_may_be_off(self):
        with self.assertRaises(holdfast.BadRequest) as caught:
            next(self.connect(self.serve("--history", "0").url).history())
        self.assertEqual(caught.exception.code, "HistoryOff")


class Rights(ServerTest):
    def setUp(self):
        tokens = str(self.folder() / "tokens")
        made = subprocess.run([support.PROGRAM, "token", "new", "ci", "lock", "deploy/*", "--tokens", tokens],
                              capture_output=True, text=True, check=True)
        self.client = self.connect(self.serve("--tokens", tokens).url, token=made.stdout.strip())

    def test_that_are_missing_are_named(self):
        with self.client.lock("deploy/web"):
            pass
        for ask, right, on in ((lambda: self.client.acquire("prod"), "lock", "prod"),
                               (lambda: self.client.acquire(["deploy/web", "path:/x"]), "lock", "path:/x")):
            with self.assertRaises(holdfast.Forbidden) as caught:
                ask()
            self.assertEqual((caught.exception.right, caught.exception.on), (right, on))
            self.assertIn(f"the right {right} on {on}", str(caught.exception))


class AsyncScenarios(AsyncTest):
    async def test_S15_a_set_is_all_or_nothing_and_waits_holding_nothing(self):
        in_the_way = await self.client.acquire("b", 60)
        other = self.connect(self.server.url)
        with self.assertRaises(holdfast.LockHeld) as refusal:
            await other.acquire(["a", "b"])
        self.assertEqual(refusal.exception.name, "b")
        waiting = asyncio.ensure_future(other.acquire(["a", "b"], 60, wait=None))
        await self.wait_for_queue("b", 1)
        self.assertTrue(await self.is_free("a"), "a set that waits holds nothing")
        await self.client.release(in_the_way)
        lease = await self.result_of(waiting)
        self.assertEqual([member.scope for member in lease.scopes], ["a", "b"])
        for scope in ("a", "b"):
            self.assertEqual((await self.client.get(scope))["fencing_token"], lease.fencing_token)
        self.assertTrue(await other.release(lease))
        self.assertTrue(await self.is_free("a") and await self.is_free("b"))

    async def test_S16_a_deadlock_is_told_to_one_of_two_and_the_other_goes_on(self):
        inside = []

        async def work(first, second):
            try:
                async with self.client.lock(first, 60):
                    inside.append(first)
                    await until_async(lambda: len(inside) == 2)
                    async with self.client.lock(second, 60) as guard:
                        return guard.fencing_token
            except holdfast.DeadlockError as error:
                return error

        results = await asyncio.gather(work("a", "b"), work("b", "a"))
        self.assertEqual({type(result) for result in results}, {int, holdfast.DeadlockError}, results)
        [error] = [result for result in results if isinstance(result, holdfast.DeadlockError)]
        self.assertEqual(sorted(member.waits_for for member in error.cycle), ["a", "b"])
        self.assertTrue(await self.is_free("a") and await self.is_free("b"))

    async def test_S16_tasks_that_only_wait_for_each_other_are_not_refused(self):
        async def work(number):
            async with self.client.lock(f"own-{number}", 60):
                for _ in range(3):
                    async with self.client.lock("shared", 60), self.client.lock("last", 60):
                        pass

        await asyncio.gather(*(work(number) for number in range(6)))

    async def test_S16_permits_that_are_given_to_other_tasks_are_waited_for(self):
        async def work(permit):
            await asyncio.sleep(0.01)
            await permit.release()

        async with self.client.lock("outer", 60):
            working = []
            for _ in range(6):
                permit = await self.client.lock("slot", 60, limit=2).acquire()
                working.append(asyncio.ensure_future(work(permit)))
            await asyncio.gather(*working)

    async def test_S17_the_value_changes_and_the_next_leads_when_the_leader_is_killed(self):
        seen = []

        async def look():
            async for leader in self.client.observe("boss"):
                seen.append(leader)
                if leader and leader.candidate == "bob":
                    return

        looking = asyncio.ensure_future(look())
        await until_async(lambda: seen == [None])
        leader = start_leader(self, self.server.url)
        await until_async(lambda: told(seen) == ELECTION[:2], "the first value")
        waiting = asyncio.ensure_future(self.connect(self.server.url, owner="bob").campaign("boss", "three", ttl=60))
        await self.wait_for_queue("boss", 1)
        go_on(leader)
        await until_async(lambda: told(seen) == ELECTION, "the second value")
        leader.send_signal(signal.SIGKILL)
        leadership = await self.result_of(waiting)
        await self.result_of(looking)
        self.assertEqual(told(seen)[:3] + told(seen)[-1:], ELECTION + [("bob", "three", 1)])
        await leadership.set_value("four")
        self.assertEqual(leadership.lease.revision, 2)
        await leadership.release()


if __name__ == "__main__":
    support.main()
