"""redis-py, unmodified, at the Redis door of the real server: FILE HOLDFAST [unittest's arguments]."""

import os
import shutil
import subprocess
import sys
import threading
import unittest

import server

try:
    import redis
    from redis.exceptions import LockError, LockNotOwnedError, ResponseError
except ImportError:
    print("\n*** The Redis door was NOT tested with redis-py: apt-get install python3-redis ***\n", file=sys.stderr)
    sys.exit(77)


class RedisPy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server.Holdfast()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def connect(self, **options):
        client = redis.Redis(port=self.server.port, **options)
        self.addCleanup(client.close)
        return client

    def test_a_lock_is_the_lock_of_all_doors(self):
        client = self.connect()
        lock = client.lock("nightly", timeout=30)
        self.assertTrue(lock.acquire(blocking=False))
        self.assertFalse(self.connect().lock("nightly", timeout=30).acquire(blocking=False))
        seen = self.server.get("/v1/locks/nightly")
        self.assertEqual(seen["owner_id"], lock.local.token.decode())
        self.assertTrue(lock.locked() and lock.owned())
        lock.extend(10)
        self.assertGreater(client.pttl("nightly"), 30_000)
        lock.reacquire()
        self.assertLessEqual(client.pttl("nightly"), 30_000)
        lock.release()
        self.assertEqual(self.server.get("/v1/locks/nightly")["held"], False)
        with self.assertRaises(LockError):
            lock.release()

    def test_a_lock_without_a_timeout_has_no_end(self):
        client = self.connect()
        lock = client.lock("endless")
        self.assertTrue(lock.acquire(blocking=False))
        self.assertEqual(client.pttl("endless"), -1)
        self.assertNotIn("lease_expiry_ms", self.server.get("/v1/locks/endless"))
        lock.release()

    def test_a_lock_that_was_lost_is_not_released(self):
        client = self.connect()
        lock = client.lock("lost", timeout=30)
        lock.acquire()
        client.delete("lost")
        self.connect().lock("lost", timeout=30).acquire()
        with self.assertRaises(LockNotOwnedError):
            lock.release()
        self.assertEqual(client.exists("lost"), 1)

    def test_a_lock_survives_the_death_of_the_server(self):
        own = server.Holdfast()
        self.addCleanup(own.stop)
        redis.Redis(port=own.port).set("job", "me", nx=True, px=60_000)
        own.kill()
        own.process.stdout.close()
        own.start()
        client = redis.Redis(port=own.port)
        self.assertEqual(client.get("job"), b"me")
        self.assertIsNone(client.set("job", "you", nx=True, px=60_000))

    def test_blocking_clients_exclude_one_another(self):
        inside, entered = [], []

        def work(name):
            client = redis.Redis(port=self.server.port)
            for _ in range(5):
                with client.lock("crowd", timeout=30, sleep=0.005):
                    inside.append(name)
                    entered.append(len(inside))
                    inside.remove(name)
            client.close()

        threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(entered, [1] * 20)

    def test_the_example_of_the_documentation(self):
        client, other = self.connect(), self.connect()
        fence = client.execute_command("HOLDFAST.ACQUIRE", "queue", "worker-7", 30_000, 10_000)
        self.assertEqual(client.execute_command("HOLDFAST.FENCE", "queue"), fence)
        answers = []
        waiter = threading.Thread(target=lambda: answers.append(
            other.execute_command("HOLDFAST.ACQUIRE", "queue", "worker-8", 30_000, 60_000)))
        waiter.start()
        while self.server.get("/v1/locks/queue?queue=true").get("queue", []) == []:
            pass
        self.assertIsNone(client.set("queue", "thief", nx=True))
        client.delete("queue")
        waiter.join()
        self.assertGreater(answers[0], fence)

    def test_pipelines_and_transactions(self):
        client = self.connect()
        with client.pipeline(transaction=False) as pipe:
            pipe.set("p", "me", nx=True, px=5000).get("p").delete("p").get("p")
            self.assertEqual(pipe.execute(), [True, b"me", 1, None])
        with client.pipeline() as pipe:
            pipe.watch("t")
            pipe.multi()
            pipe.set("t", "me", px=5000)
            self.connect().set("t", "other", px=5000)
            with self.assertRaises(redis.WatchError):
                pipe.execute()

    def test_mistakes_are_answered_as_redis_answers_them(self):
        client = self.connect()
        with self.assertRaisesRegex(ResponseError, "unknown command"):
            client.lpush("list", 1)
        with self.assertRaisesRegex(ResponseError, "not overwritten"):
            client.set("held", "a", px=5000)
            client.set("held", "b", px=5000)
        with self.assertRaisesRegex(ResponseError, "'while' is not understood"):
            client.eval("while true do end", 0)

    def test_a_password_is_the_token(self):
        path = os.path.join(self.server._folder.name, "token")
        with open(path, "w") as file:
            file.write("a-long-enough-secret-token\n")
        os.chmod(path, 0o600)
        own = server.Holdfast("--auth-token-file", path)
        self.addCleanup(own.stop)
        self.assertTrue(redis.Redis(port=own.port, password="a-long-enough-secret-token").ping())
        with self.assertRaisesRegex(redis.RedisError, "WRONGPASS|invalid username-password"):
            redis.Redis(port=own.port, password="wrong").ping()

    @unittest.skipUnless(shutil.which("redis-cli"), "there is no redis-cli")
    def test_redis_cli(self):
        def cli(*words):
            done = subprocess.run(["redis-cli", "-p", str(self.server.port), *words],
                                  capture_output=True, text=True, timeout=60)
            return done.stdout.strip()

        self.assertEqual(cli("SET", "cli", "me", "NX", "PX", "5000"), "OK")
        self.assertEqual(cli("SET", "cli", "you", "NX", "PX", "5000"), "")
        self.assertEqual(cli("GET", "cli"), "me")
        self.assertEqual(cli("-3", "DELEX", "cli", "IFEQ", "me"), "1")


if __name__ == "__main__":
    server.PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
