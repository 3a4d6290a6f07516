#!/usr/bin/env python3
"""The parts of the client that need no server.

    steps_test.py HOLDFAST [unittest's arguments]
"""

import json
import os
import unittest
from unittest import mock

import support
from support import lease_json

import holdfast
from holdfast import hold, lease as leases, scope as scopes, steps
from holdfast.acquisition import Acquisition, LeaseRequest
from holdfast.following import EventParser, observe
from holdfast.options import Address, Secret, parse_servers
from holdfast.wire import NoAnswer, Reply


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self, test):
        self.now = 1000.0
        for name in ("acquisition", "hold", "lease", "renewal", "steps", "following"):
            patch = mock.patch(f"holdfast.{name}.clock", lambda: self.now)
            patch.start()
            test.addCleanup(patch.stop)


def make_exchange(retry_for=10.0):
    addresses = [Address.parse("http://a"), Address.parse("http://b")]
    return steps.Exchange(addresses, Secret("secret", None), 10.0, retry_for)


class Patience(unittest.TestCase):
    def test_pauses_grow_and_end_with_the_time(self):
        clock = Clock(self)
        patience = steps.Patience(10.0)
        pauses = []
        with self.assertRaises(holdfast.ServerUnavailable):
            for _ in range(1000):
                pauses += [step.seconds for step in patience.pause(NoAnswer("nobody"))]
                clock.now += pauses[-1]
        self.assertEqual(pauses[0], 0)
        self.assertTrue(0.04 <= pauses[1] <= 0.06)
        self.assertTrue(all(pause <= 1.2 for pause in pauses))
        self.assertTrue(8 <= sum(pauses) < 10)

    def test_the_server_may_ask_for_a_pause_of_a_second_at_most(self):
        date = "Wed, 21 Oct 2015 07:28:00 GMT"
        for said, pause in (("1", 1), ("0.5", 0.5), ("600", 1), ("-1", 0), (date, 1), ("nan", 0), (None, 0)):
            with self.subTest(said), self.assertRaises(NoAnswer) as later:
                steps.Answer("s", Reply(503, b"{}", said)).raise_if_temporary()
            self.assertEqual(later.exception.retry_after, pause)


class Asking(unittest.TestCase):
    def play(self, conversation, *events):
        """Runs the steps with these results or failures (or functions that return them), and returns what was sent, and
        how it ended."""
        sent = []
        try:
            step = next(conversation)
            for event in events:
                while isinstance(step, steps.Sleep):
                    step = conversation.send(None)
                sent.append(step)
                event = event() if callable(event) else event
                step = conversation.throw(event) if isinstance(event, Exception) else conversation.send(event)
            raise AssertionError(f"it asks for more: {step}")
        except StopIteration as done:
            return sent, done.value
        except holdfast.HoldfastError as error:
            return sent, error

    def acquisition(self, **options):
        return Acquisition(make_exchange(), LeaseRequest("x", "me", **options))

    def reply(self, status, **body):
        return Reply(status, json.dumps(body).encode())

    def test_a_request_without_an_effect_goes_to_the_next_address_at_once(self):
        sent, lease = self.play(self.acquisition().run(), NoAnswer("refused", may_have_effect=False),
                                self.reply(200, **lease_json()))
        self.assertEqual([step.address.text for step in sent], ["http://a", "http://b"])
        self.assertEqual(lease.fencing_token, 7)

    def test_the_guarantee_is_counted_from_before_the_first_attempt(self):
        clock = Clock(self)
        acquisition = self.acquisition(ttl=60)

        def after_a_while(event):
            clock.now += 5
            return event

        _, lease = self.play(acquisition.run(), lambda: after_a_while(NoAnswer("lost")),
                             lambda: after_a_while(self.reply(200, **lease_json())))
        self.assertEqual((lease.lasts_until, lease.guaranteed_until), (1060, 1055))
        self.assertEqual(lease.margin, 5)

    def test_a_lease_that_took_long_is_renewed_to_know_how_long_it_lasts(self):
        clock = Clock(self)
        acquisition = self.acquisition(ttl=60, wait=None)
        conversation = acquisition.run()
        next(conversation)
        clock.now += 100
        renewal = conversation.send(self.reply(200, **lease_json()))
        self.assertTrue(renewal.request.path.endswith("/renew"))
        with self.assertRaises(StopIteration) as done:
            conversation.send(self.reply(200, **lease_json()))
        self.assertEqual(done.exception.value.lasts_until, 1160)

    def test_a_lease_of_ours_that_has_ended_is_asked_for_anew(self):
        sent, lease = self.play(self.acquisition().run(), NoAnswer("lost"),
                                self.reply(409, error="RequestEnded", message="over"), self.reply(200, **lease_json()))
        ids = [step.request.body["request_id"] for step in sent]
        self.assertEqual((ids[0] == ids[1], ids[1] == ids[2], lease.fencing_token), (True, False, 7))

    def test_what_is_abandoned_is_asked_for_without_a_wait_and_released(self):
        acquisition = self.acquisition(wait=None)
        waiting = next(acquisition.run())
        self.assertTrue(acquisition.may_hold)
        sent, _ = self.play(acquisition.abandon(), NoAnswer("lost"), self.reply(200, **lease_json()),
                            self.reply(200, released=True))
        self.assertEqual([step.request.method for step in sent], ["POST", "POST", "DELETE"])
        self.assertEqual({step.request.body["request_id"] for step in sent[:2]}, {waiting.request.body["request_id"]})
        self.assertEqual([step.request.body["wait_ms"] for step in sent[:2]], [0, 0])
        self.assertTrue(all(step.request.timeout <= 1 for step in sent))

    def test_what_is_abandoned_is_tried_for_three_seconds(self):
        clock = Clock(self)
        conversation = self.acquisition().abandon()
        step = next(conversation)
        with self.assertRaises(StopIteration):
            while True:
                if isinstance(step, steps.Sleep):
                    clock.now += step.seconds
                    step = conversation.send(None)
                else:
                    clock.now += step.request.timeout
                    step = conversation.throw(NoAnswer("silence"))
        self.assertTrue(1002 < clock.now <= 1004.5)

    def test_no_token_is_in_the_text_of_a_step(self):
        step = next(holdfast.calls.get_lease(make_exchange(), "0123456789abcdef"))
        self.assertIn("0123456789abcdef", step.request.path)
        self.assertNotIn("0123456789abcdef", repr(step))
        self.assertEqual(step.token, "secret")
        self.assertNotIn("secret", repr(step))

    def test_a_wait_that_timed_out_says_what_the_server_said_of_the_holder(self):
        sent, error = self.play(self.acquisition(wait=0).run(), self.reply(
            409, error="WaitTimedOut", message="late", holder="ann", expires_at="2024-01-15T10:30:00Z",
            retry_after_ms=250))
        self.assertEqual(len(sent), 1, "the holder was asked for")
        self.assertIsInstance(error, holdfast.WaitTimedOut)
        self.assertEqual((error.holder, error.expires_at, error.retry_after), ("ann", 1705314600, 0.25))

    def test_a_refusal_that_makes_no_sense_is_not_holdfasts(self):
        for wrong in ({"expires_at": "soon"}, {"expires_at": 7}, {"retry_after_ms": "a while"}):
            with self.subTest(wrong):
                _, error = self.play(self.acquisition().run(), self.reply(409, error="LockHeld", holder="ann", **wrong))
                self.assertIsInstance(error, holdfast.NotHoldfast)

    def test_a_server_that_cancels_every_wait_is_not_asked_without_an_end(self):
        clock = Clock(self)
        conversation = self.acquisition(wait=None).run()
        step = next(conversation)
        with self.assertRaises(holdfast.ServerUnavailable):
            for _ in range(1000):
                if isinstance(step, steps.Sleep):
                    clock.now += step.seconds
                    step = conversation.send(None)
                else:
                    step = conversation.send(self.reply(409, error="Cancelled", message="the client is gone"))


class Holding(unittest.TestCase):
    def setUp(self):
        self.clock = Clock(self)
        self.lease = steps.Answer("s", self.reply()).read_lease("x")
        self.lease._confirm(self.clock.now, 60, 0)
        self.hold = hold.Hold(self.lease)

    def reply(self):
        return Reply(200, json.dumps(lease_json()).encode())

    def test_it_is_renewed_after_a_third_of_the_ttl_and_sooner_after_a_failure(self):
        self.clock.now += 19.9
        self.assertFalse(self.hold.is_due())
        self.clock.now += 0.2
        self.assertTrue(self.hold.is_due())
        self.hold.on_renewal_failed(OSError("no"))
        self.clock.now += 4.9
        self.assertFalse(self.hold.is_due())
        self.clock.now += 0.2
        self.assertTrue(self.hold.is_due())

    def test_the_guarantee_ends_a_margin_before_the_lease(self):
        self.clock.now += 54.9
        self.hold.check()
        self.clock.now += 0.2
        self.assertFalse(self.hold.is_guaranteed())
        with self.assertRaises(holdfast.LockLost):
            self.hold.check()

    def test_margins(self):
        self.assertEqual([leases.margin_of(ttl) for ttl in (6, 30, 60, 3600)], [1, 5, 5, 5])


class Events(unittest.TestCase):
    STREAM = (b": hello\n\nid: 7\nevent: granted\ndata: {\"lock_name\":\"\xc3\xa4\"}\n\n"
              b"event: gap\r\ndata: {\"reason\":\ndata: \"some\"}\r\n\r\nid: 9\n\n")

    def test_are_read_however_the_stream_is_cut(self):
        for at in range(len(self.STREAM) + 1):
            parser = EventParser()
            events = parser.parse(self.STREAM[:at]) + parser.parse(self.STREAM[at:])
            self.assertEqual([(event.id, event.kind, event.name) for event in events],
                             [(7, "granted", "ä"), (None, "gap", "")])
            self.assertEqual(events[1].data, {"reason": "some"})

    def test_that_are_no_json_are_not_holdfasts(self):
        with self.assertRaises(holdfast.NotHoldfast):
            EventParser().parse(b"data: <html>\n\n")

    def test_of_an_election_tell_each_change_once_and_each_stream_begins_with_the_leader(self):
        def text(**state):
            return f"id: 9\nevent: leader\ndata: {json.dumps({'election': 'boss', **state})}\n\n".encode()

        def emitted(following, step):
            seen = []
            while isinstance(step, (steps.Emit, steps.Sleep)):
                if isinstance(step, steps.Emit):
                    seen.append(step.value and (step.value.candidate, step.value.value, step.value.revision))
                step = following.send(None)
            return seen, step

        ann = {"leader": "ann", "fencing_token": 5, "candidates": 2}
        following = observe(make_exchange(), "the boss")
        opened = next(following)
        self.assertEqual(opened.request.path, "/v1/elections/the%20boss?watch=true")
        self.assertEqual(opened.request.headers, {"Accept": "text/event-stream"})
        self.assertIsInstance(following.send(None), steps.Read)
        pieces = text(candidates=0) + text(**ann) + text(**ann) + text(**ann, value="v", revision=1) + b": quiet\n\n"
        seen, step = emitted(following, following.send(pieces))
        self.assertEqual(seen, [None, ("ann", "", 0), ("ann", "v", 1)])
        self.assertIsInstance(step, steps.Read)

        seen, step = emitted(following, following.throw(NoAnswer("the server was restarted")))
        self.assertEqual((seen, step.request.headers), ([], opened.request.headers))
        self.assertIsInstance(following.send(None), steps.Read)
        bob = {"leader": "bob", "value": "w", "revision": 4, "fencing_token": 6}
        seen, _ = emitted(following, following.send(text(**ann, value="v", revision=1) + text(**bob)))
        self.assertEqual(seen, [("bob", "w", 4)])
        with self.assertRaises(holdfast.NotHoldfast):
            following.send(text(leader="cas"))


class Texts(unittest.TestCase):
    def test_a_secret_fits_into_a_header(self):
        for wrong in ("a\r\nHost: b", "ä", "a\n"):
            with self.subTest(wrong), self.assertRaises(ValueError) as caught:
                holdfast.Client(token=wrong)
            self.assertNotIn(wrong, str(caught.exception))

    def test_scopes(self):
        self.assertEqual(scopes.to_text({"kind": "range", "inode": 7, "start": 5}), "range:7:5-")
        self.assertEqual(scopes.to_text({"kind": "path", "path": "/a"}), "path:/a")
        self.assertEqual(scopes.to_text({"kind": "inode", "inode": 7}), "inode:7")
        self.assertEqual([scopes.split(text) for text in ("x", "named:x", "job:7", "path:/a:b")],
                         [(None, "x"), ("named", "x"), (None, "job:7"), ("path", "/a:b")])
        self.assertEqual([scopes.with_limit("x", limit) for limit in (None, 1, 2)], ["x", "x", "semaphore:x"])
        self.assertEqual(scopes.with_limit("named:x", 2), "semaphore:x")

    def test_addresses(self):
        address = Address.parse("https://[::1]:9/root/")
        self.assertEqual((address.host, address.port, address.root, address.is_tls, address.host_header),
                         ("::1", 9, "/root", True, "[::1]:9"))
        self.assertEqual(Address.parse("lock.example").host_header, "lock.example")
        self.assertEqual(Address.parse("lock.example:8080").port, 8080)
        self.assertEqual(Address.parse("unix:/run/s").socket_path, "/run/s")
        self.assertEqual([one.text for one in parse_servers(" a:1, ,b:2")], ["a:1", "b:2"])
        self.assertEqual([one.text for one in parse_servers(["a:1", "unix:/s"])], ["a:1", "unix:/s"])
        for wrong in ("", ",", "ftp://x", "http://", "unix:", "unix:" + 108 * "p", "http://u:p@x", "http://x?y", []):
            with self.subTest(wrong), self.assertRaises(ValueError):
                parse_servers(wrong)
        with self.assertRaises(ValueError) as refused:
            parse_servers("http://ann:pass-word@lock.example")
        self.assertNotIn("pass-word", str(refused.exception))
        with mock.patch.dict(os.environ, {"HOLDFAST_SERVER": "c:1,d:2"}):
            self.assertEqual([one.text for one in parse_servers(None)], ["c:1", "d:2"])
        self.assertEqual(parse_servers(None)[0].text, "http://127.0.0.1:8080")


if __name__ == "__main__":
    support.main()
