"""Scripts that would exhaust the server, over a socket to the real server: FILE HOLDFAST [unittest's arguments].

After each of them the server answers another client, and its memory and its stack have hardly grown."""

import os
import socket
import sys
import unittest

import server


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=server.PATIENCE_S)
        self.lines = self.socket.makefile("rb")

    def ask(self, *words):
        """The first line of the answer; of a list, the lines of its items, which are numbers or errors."""
        words = [str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        line = self.lines.readline().decode().strip()
        if not line.startswith("*"):
            return line
        return [self.lines.readline().decode().strip() for _ in range(int(line[1:]))]

    def close(self):
        self.lines.close()
        self.socket.close()


class HostileScripts(unittest.TestCase):
    def setUp(self):
        self.server = server.Holdfast("--memory")
        self.addCleanup(self.server.stop)
        self.client = self.connect()
        self.client.ask("PING")
        self.before = self.sizes_kib()

    def connect(self):
        client = Client(self.server.port)
        self.addCleanup(client.close)
        return client

    def sizes_kib(self):
        with open(f"/proc/{self.server.process.pid}/status", encoding="ascii") as status:
            return {name: int(rest.split()[0]) for name, rest in (line.split(":", 1) for line in status) if rest.endswith("kB\n")}

    def assert_well(self, grown_mib):
        """The server answers, and its memory was never larger by more than this."""
        self.assertEqual(self.connect().ask("PING"), "+PONG")
        sizes = self.sizes_kib()
        self.assertLess(sizes["VmStk"], 1024)
        self.assertLess(sizes["VmHWM"] - self.before["VmHWM"], grown_mib * 1024)

    def test_a_tree_as_high_as_it_has_operators(self):
        script = "local function f(x) return f(x)" + "+1" * 2000 + " end return f(1)"
        self.assertEqual(len(script), 4047)
        self.assertIn("more than 64 levels", self.client.ask("EVAL", script, 0))
        self.assertIn("words and signs", self.client.ask("EVAL", "return 1" + "+1" * 8000, 0))
        self.assert_well(4)

    def test_a_reply_that_doubles_with_each_turn(self):
        script = "local t={1} for i=1,%d do t={t,t} end return t"
        self.assertIn("more than 4096 values", self.client.ask("EVAL", script % 39, 0))
        self.assertIn("nested more than 40 times", self.client.ask("EVAL", script % 40, 0))
        self.assert_well(4)

    def test_an_exec_of_scripts_that_copy(self):
        script = ("local t={" + "ARGV[1]," * 8 + "} local n=0 for i=1,900 do local u={unpack(t)} n=n+1 end "
                  "return n")
        self.client.ask("MULTI")
        for _ in range(64):
            self.assertEqual(self.client.ask("EVAL", script, 0, "x" * 7000), "+QUEUED")
        replies = self.client.ask("EXEC")
        self.assertEqual(replies[0], ":900")
        self.assertEqual(set(replies[1:]), {"-ERR the script or transaction takes more than 20000 steps"})
        self.assert_well(8)

    def test_forty_large_scripts_in_the_cache(self):
        for number in range(40):
            self.client.ask("SCRIPT", "LOAD", "return 1" + "+1" * 8000 + " " * number)
        self.assert_well(4)
        for number in range(120):
            self.assertEqual(self.client.ask("SCRIPT", "LOAD", f"return {number}" + ",1+1" * 1000), "$40")
            self.client.lines.readline()
        self.assert_well(32)

    def test_five_connections_with_a_full_multi(self):
        for client in [self.connect() for _ in range(5)]:
            client.ask("MULTI")
            answers = [client.ask("SET", "k", "v", *["x" * 60_000] * 4) for _ in range(64)]
            self.assertIn("take more than 524288 bytes", answers[2])
            self.assertIn("EXECABORT", client.ask("EXEC"))
        self.assert_well(16)


if __name__ == "__main__":
    server.PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
