"""The checker finds what it is there for."""

import time
import unittest

from history import Claim, History


def claim(told, sure_until, fence=None, **more):
    return Claim(**{"lock": "x", "client": "c", "door": "d", "sent": told - 0.1, "told": told, "sure_until": sure_until,
                    "fence": fence, **more})


class HistoryTest(unittest.TestCase):
    def faults_of(self, *claims):
        history = History()
        for each in claims:
            history.add(each)
        return history.faults()

    def test_what_is_right(self):
        self.assertEqual(self.faults_of(claim(1, 2, 1), claim(3, 4, 2), claim(1, 9, 7, lock="y")), [])

    def test_a_release_ends_a_claim(self):
        self.assertEqual(self.faults_of(claim(1, 9, 1, released=1.5), claim(2, 3, 2)), [])

    def test_two_holders(self):
        self.assertIn("two holders", self.faults_of(claim(1, 3, 1), claim(2, 4, 2))[0])

    def test_two_holders_with_others_between(self):
        faults = self.faults_of(claim(1, 9, 1), claim(2, 2.5, 2), claim(3, 4, 3))
        self.assertEqual(len(faults), 2)

    def test_fences_that_go_back(self):
        self.assertIn("went back", self.faults_of(claim(1, 2, 5), claim(3, 4, 4))[0])

    def test_fences_of_requests_that_crossed_may_come_in_any_order(self):
        self.assertEqual(self.faults_of(claim(1, 1.1, 5, sent=0.5), claim(1.2, 2, 4, sent=0.6)), [])

    def test_two_effects_of_one_request(self):
        faults = self.faults_of(claim(1, 2, 5, request_id="r"), claim(3, 4, 6, request_id="r"))
        self.assertIn("two effects", faults[0])

    def test_a_lease_that_is_lost_too_early(self):
        history = History()
        held = claim(1, 9, 1)
        history.add(held)
        history.lost(held, 9.5)
        self.assertEqual(history.faults(), [])
        history.lost(held, 5)
        self.assertIn("too early", history.faults()[0])

    def test_a_term_that_was_confirmed_in_doubt_may_end_too_early_but_not_by_more_than_that(self):
        history = History()
        with history.doubts(3):
            now = time.monotonic()
        held = claim(now - 1, now + 4, 1, confirmed=now)
        history.add(held)
        history.add(claim(now + 2, now + 9, 2))
        history.lost(held, now + 2)
        self.assertEqual(history.faults(), [])
        history.lost(held, now + 0.5)
        self.assertIn("too early", history.faults()[0])

    def test_a_term_that_was_confirmed_before_a_doubt_is_kept(self):
        history = History()
        with history.doubts(3):
            now = time.monotonic()
        history.add(claim(now - 1, now + 4, 1, confirmed=now - 1))
        history.add(claim(now + 2, now + 9, 2))
        self.assertIn("two holders", history.faults()[0])


if __name__ == "__main__":
    unittest.main()
