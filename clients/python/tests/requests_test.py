#!/usr/bin/env python3
"""What both clients send, and what they make of the answers: sets, waiters, deadlocks, elections, history and rights.
The server is the test's own.

    requests_test.py HOLDFAST [unittest's arguments]
"""

import asyncio
import contextlib
import os
import threading
import time
import unittest
from datetime import datetime, timezone

import support
from support import Scripted, lease_json

import holdfast
from holdfast import aio

CYCLE = [{"holder": "ann", "waiter": "w1", "door": "scoped", "waits_for": {"kind": "named", "name": "b"},
          "held_by": "bob", "fencing_token": 34}, {"hidden": True}]


class ScriptedTest(unittest.TestCase):
    """`self.answers` are what the server says; when they are used up, it grants a lease."""

    def setUp(self):
        self.answers = []
        self.server = Scripted(lambda index, request: self.answers.pop(0) if self.answers else (200, lease_json()))
        self.addCleanup(self.server.end)
        self.client = holdfast.Client(self.server.url, owner="me")
        self.addCleanup(self.client.close)

    def body(self):
        return self.server.seen[-1]["body"]

    def asked(self):
        """The requests for locks."""
        return [request["body"] for request in self.server.seen if request["path"] == "/v1/leases"]

    def waiters(self):
        return [body["waiter"] for body in self.asked()]

    def run_async(self, work):
        async def run():
            async with aio.Client(self.server.url, owner="me") as client:
                return await work(client)

        return asyncio.run(run())


class Sets(ScriptedTest):
    def test_are_sent_as_elements_with_what_differs(self):
        self.client.acquire(["a", {"scope": "path:/x", "mode": "shared"}, {"scope": "s", "limit": 3},
                             holdfast.SetMember("b", "exclusive"), {"kind": "inode", "inode": 7}], shared=True)
        body = self.body()
        self.assertEqual(body["scopes"],
                         ["a", {"scope": "path:/x", "mode": "shared"}, {"scope": "semaphore:s", "limit": 3},
                          {"scope": "b", "mode": "exclusive"}, "inode:7"])
        self.assertEqual((body["mode"], "scope" in body, "limit" in body), ("shared", False, False))

    def test_of_one_are_usual_leases(self):
        self.client.acquire(["a"])
        self.assertEqual((self.body()["scope"], "scopes" in self.body()), ("a", False))
        self.client.acquire([{"scope": "s", "limit": 3, "mode": "shared"}])
        self.assertEqual([self.body().get(name) for name in ("scope", "limit", "mode")], ["semaphore:s", 3, "shared"])
        self.client.acquire(holdfast.SetMember("a", "exclusive"), shared=True)
        self.assertNotIn("mode", self.body())

    def test_that_make_no_sense_are_refused_before_the_server_is_asked(self):
        for scopes, options in (([], {}), (["a", "b"], {"limit": 2}), ([{"scope": "a", "mode": "mine"}], {}),
                                (["a", {"scope": "inode:7", "limit": 2}], {}), ([{"scope": "a", "ttl": 3}], {})):
            with self.subTest(scopes), self.assertRaises(ValueError):
                self.client.lock(scopes, **options)
        with self.assertRaises(ValueError):
            self.client.lock("a", on_deadlock="hope")
        self.assertEqual(self.server.seen, [])

    def test_are_shown_by_the_lease(self):
        members = [{"scope": {"kind": "named", "name": "a"}, "mode": "exclusive"},
                   {"scope": {"kind": "named", "name": "path:of"}, "mode": "exclusive"},
                   {"scope": {"kind": "path", "path": "/x"}, "mode": "shared"}]
        shown = tuple(holdfast.SetMember(*member) for member in
                      (("a", "exclusive"), ("named:path:of", "exclusive"), ("path:/x", "shared")))
        self.answers = [(200, {**lease_json(), "scopes": members})] * 2
        with self.client.lock(["a", "path:/x"]) as guard:
            self.assertEqual((guard.name, guard.lease.scopes), ("a, path:/x", shown))
        self.assertEqual(self.client.acquire("x").scopes, (holdfast.SetMember("x", "exclusive"),))

    def test_that_are_held_name_the_member_in_the_way(self):
        self.answers = [(409, {"error": "LockHeld", "message": "held", "scope": {"kind": "named", "name": "b"},
                               "holder": "bob"})]
        with self.assertRaises(holdfast.LockHeld) as refusal:
            self.client.acquire(["a", "b"])
        self.assertEqual((refusal.exception.name, str(refusal.exception)), ("b", "b is held by bob"))

    def test_are_taken_by_the_asyncio_client(self):
        async def work(client):
            async with client.lock(["a", "b"]):
                pass
            await client.try_lock(["a", "c"])

        self.run_async(work)
        self.assertEqual([body["scopes"] for body in self.asked()], [["a", "b"], ["a", "c"]])


class Waiters(ScriptedTest):
    def test_are_one_in_blocks_inside_of_each_other(self):
        with self.client.lock("a"), self.client.lock("b"):
            with self.client.lock("c"):
                pass
            self.client.lock("d").acquire()
        with self.client.lock("e"):
            pass
        a, b, c, d, e = self.waiters()
        self.assertEqual((len(a), a, a, a), (32, b, c, d))
        self.assertNotEqual(a, e)

    def test_are_others_for_guards_without_a_block(self):
        """Somebody else may release these."""
        self.client.acquire("a")
        self.client.lock("b").acquire()
        with self.client.lock("c"):
            leadership = self.client.campaign("d")
            self.client.acquire("e")
            with self.client.lock("f"), self.client.lock("g"):
                pass
            leadership.release()
            self.client.try_lock("h").release()
            self.client.acquire("i")
            self.client.acquire("j")
        a, b, c, d, e, f, g, h, i, j = self.waiters()
        self.assertEqual((c, c, c, f), (d, h, i, g))
        self.assertEqual(len({a, b, c, e, f, j}), 6)

    def test_of_a_block_are_not_shared_with_a_guard_that_is_still_out(self):
        with self.client.lock("a"):
            with self.client.lock("b").acquire():
                self.client.lock("c").acquire()
            with self.client.lock("d"):
                pass
        a, b, c, d = self.waiters()
        self.assertEqual((a, b), (b, c))
        self.assertNotEqual(a, d)

    def test_of_a_guard_that_is_used_as_a_block_go_on_inside_of_it(self):
        with self.client.try_lock("a"), self.client.lock("b"):
            pass
        with self.client.lock("c"), self.client.lock("d").acquire(), self.client.lock("e"):
            pass
        a, b, c, d, e = self.waiters()
        self.assertEqual((a, c, c), (b, d, e))

    def test_of_a_refused_request_without_a_block_go_on(self):
        with self.client.lock("a"):
            self.answers = [(409, {"error": "LockHeld", "message": "held", "holder": "bob"})]
            self.assertIsNone(self.client.try_lock("b"))
            with self.client.lock("c"):
                pass
        self.assertEqual(len(set(self.waiters())), 1)

    def test_are_others_in_other_threads_clients_and_processes(self):
        other = holdfast.Client(self.server.url)
        with self.client.lock("a"), other.lock("b"):
            thread = threading.Thread(target=lambda: self.client.lock("c").__enter__().__exit__(None, None, None))
            thread.start()
            thread.join()
            child = os.fork()
            if child == 0:
                with contextlib.suppress(BaseException):
                    holdfast.Client(self.server.url)
                    self.client.acquire("d")
                os._exit(0)
            os.waitpid(child, 0)
        self.assertEqual((len(self.waiters()), len(set(self.waiters()))), (4, 4))

    def test_a_block_may_end_in_another_thread(self):
        guard = self.client.lock("a").acquire()
        guard.__enter__()
        thread = threading.Thread(target=lambda: guard.__exit__(None, None, None))
        thread.start()
        thread.join()
        self.client.acquire("b")
        self.assertEqual(len(set(self.waiters())), 2)

    def test_may_be_named_by_the_program(self):
        self.client.acquire("a", waiter="worker 7")
        with self.client.lock("b", waiter="worker 7", on_deadlock="wait"), self.client.lock("c"):
            pass
        self.assertEqual(self.waiters(), ["worker 7"] * 3)
        self.assertEqual([body["on_deadlock"] for body in self.asked()], ["refuse", "tell", "refuse"])

    def test_are_one_for_each_task(self):
        async def work(client):
            async def inner(name):
                async with client.lock(name), client.lock(name):
                    pass

            async with client.lock("a"), client.lock("a"):
                await asyncio.gather(inner("b"), inner("c"))
                await inner("a")
            await client.lock("d").acquire()
            await client.acquire("e")

        self.run_async(work)
        of = {}
        for body in self.asked():
            of.setdefault(body["scope"], set()).add(body["waiter"])
        self.assertEqual({name: len(waiters) for name, waiters in of.items()}, dict.fromkeys("abcde", 1))
        self.assertEqual(len(set.union(*of.values())), 5)


class Deadlocks(ScriptedTest):
    def refuse(self):
        self.answers = [(409, {"error": "Deadlock", "message": "ann waits for bob, who holds b and waits for ann",
                               "scope": {"kind": "named", "name": "b"}, "cycle": CYCLE})]

    def check(self, error):
        self.assertNotIsInstance(error, holdfast.LockHeld)
        self.assertEqual(str(error),
                         "to wait for b would be a deadlock: ann waits for bob, who holds b and waits for ann")
        self.assertEqual((error.name, error.cycle),
                         ("b", (holdfast.CycleMember("ann", "w1", "scoped", "b", "bob", 34),
                                holdfast.CycleMember(is_hidden=True))))

    def test_are_an_error_of_their_own(self):
        self.refuse()
        with self.assertRaises(holdfast.DeadlockError) as caught:
            self.client.acquire("b", wait=None)
        self.check(caught.exception)
        self.assertEqual(len(self.server.seen), 1, "it was asked again")
        self.refuse()
        with self.assertRaises(holdfast.DeadlockError) as caught:
            self.run_async(lambda client: client.lock(["a", "b"]).acquire())
        self.check(caught.exception)

    def test_that_make_no_sense_are_not_holdfasts(self):
        for cycle in (None, 7, [7], [{"waits_for": 7}]):
            self.answers = [(409, {"error": "Deadlock", "message": "m", "cycle": cycle})]
            with self.subTest(cycle), self.assertRaises(holdfast.NotHoldfast):
                self.client.acquire("b")


class Elections(ScriptedTest):
    def test_a_value_is_sent_and_changed_and_the_revision_is_known(self):
        value = {**lease_json(), "value": "one", "revision": 1}
        self.answers = [(200, value), (200, {**value, "value": "two", "revision": 2})]
        with self.client.campaign("boss", "one") as leadership:
            self.assertEqual((self.body()["scope"], self.body()["value"]), ("named:boss", "one"))
            self.assertEqual((leadership.lease.value, leadership.lease.revision), ("one", 1))
            leadership.set_value("two")
            sent = self.server.seen[-1]
            self.assertEqual((sent["method"], sent["body"]), ("PUT", {"value": "two"}))
            self.assertEqual(sent["path"], f"/v1/leases/{leadership.lease.token}/value")
            self.assertEqual((leadership.lease.value, leadership.lease.revision), ("two", 2))
            self.answers = [(410, {"error": "LockExpired", "message": "over"})]
            with self.assertRaises(holdfast.LockLost):
                leadership.set_value("three")
        count = len(self.server.seen)
        with self.assertRaises(holdfast.LockLost):
            leadership.set_value("four")
        self.assertEqual(len(self.server.seen), count, "the server was asked after the release")

    def test_the_asyncio_client_changes_values_in_order(self):
        under_way, most = [], []

        def reply(index, request):
            under_way.append(index)
            most.append(len(under_way))
            time.sleep(0.01)
            under_way.remove(index)
            return 200, lease_json()

        self.server = Scripted(reply)
        self.addCleanup(self.server.end)

        async def work(client):
            leadership = await client.campaign("boss")
            self.assertNotIn("value", self.body())
            await asyncio.gather(*(leadership.set_value(str(number)) for number in range(5)))
            await leadership.release()

        self.run_async(work)
        sent = [request["body"]["value"] for request in self.server.seen if request["method"] == "PUT"]
        self.assertEqual((sent, max(most)), (list("01234"), 1))

    def test_an_observer_goes_on_at_the_next_stream(self):
        def stream(*states):
            text = "".join(f"id: 7\nevent: leader\ndata: {state}\n\n" for state in states)
            return 200, text.encode(), {"Content-Type": "text/event-stream", "Connection": "close"}

        ann = '{"election":"boss","leader":"ann","value":"%s","revision":%d,"fencing_token":5}'
        told = [stream('{"election":"boss","candidates":0}', ann % ("v", 1)), stream(ann % ("v", 1), ann % ("w", 2))]
        expected = [None, holdfast.Leader("ann", "v", 5, 1), holdfast.Leader("ann", "w", 5, 2)]
        self.answers = list(told)
        observing = self.client.observe("boss")
        self.assertEqual([next(observing) for _ in range(3)], expected)
        self.assertNotIn("Last-Event-ID", self.server.seen[-1]["headers"])

        async def work(client):
            seen = []
            async for leader in client.observe("boss"):
                seen.append(leader)
                if len(seen) == 3:
                    return seen

        self.answers = list(told)
        self.assertEqual(self.run_async(work), expected)


class History(ScriptedTest):
    def test_is_read_page_by_page(self):
        self.answers = [(200, {"history": [{"holder": "ann"}, {"holder": "bob"}], "next": 17, "position": 3}),
                        (200, {"history": [{"holder": "cas"}], "position": 3})] * 2
        since = datetime(2024, 1, 15, 10, 30, tzinfo=timezone.utc)
        entries = list(self.client.history("path:/x", owner="ann", since=since, until=1705314600.5, page_size=2))
        self.assertEqual([entry["holder"] for entry in entries], ["ann", "bob", "cas"])
        self.assertEqual([request["path"] for request in self.server.seen],
                         ["/v1/history?scope=path%3A%2Fx&limit=2&owner=ann&since=1705314600000&until=1705314600500",
                          "/v1/history?after=17&scope=path%3A%2Fx&limit=2&owner=ann&since=1705314600000"
                          "&until=1705314600500"])

        async def work(client):
            return [entry["holder"] async for entry in client.history(prefix="x")]

        self.assertEqual(self.run_async(work), ["ann", "bob", "cas"])

    def test_that_leads_to_itself_ends_with_an_error(self):
        self.answers = [(200, {"history": [{"holder": "ann"}], "next": 17, "position": 3})] * 4
        with self.assertRaises(holdfast.NotHoldfast):
            list(self.client.history())
        self.assertEqual(len(self.server.seen), 2)

    def test_that_is_off_is_said_so(self):
        self.answers = [(404, {"error": "HistoryOff", "message": "the server keeps no history"})]
        with self.assertRaises(holdfast.BadRequest) as caught:
            next(self.client.history())
        self.assertEqual((caught.exception.status, caught.exception.code), (404, "HistoryOff"))


class Rights(ScriptedTest):
    def test_that_are_missing_are_named(self):
        denied = {"error": "Forbidden", "message": "the token ci lacks the right lock on prod at the door http",
                  "right": "lock", "on": "prod"}
        self.answers = [(403, denied), (403, {**denied, "message": "no"}),
                        (403, {**denied, "message": "no", "on": "*"}),
                        (403, {"error": "Forbidden", "message": "this needs the admin token"})]
        for text, right, on in ((denied["message"], "lock", "prod"),
                                ("no: the right lock on prod is missing", "lock", "prod"),
                                ("no: the right lock on everything is missing", "lock", "*"),
                                ("this needs the admin token", None, None)):
            with self.assertRaises(holdfast.Forbidden) as caught:
                self.client.acquire("prod")
            self.assertEqual((str(caught.exception), caught.exception.right, caught.exception.on), (text, right, on))


if __name__ == "__main__":
    support.main()
