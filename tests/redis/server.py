"""For the tests of the Redis door: the real server, and Redis itself where it is installed."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request

PROGRAM = ""  # of the server
PATIENCE_S = 60


class Holdfast:
    """`holdfast serve` with the Redis door on a free port."""

    def __init__(self, *flags):
        self._folder = tempfile.TemporaryDirectory()
        self._flags = flags
        self.start()

    def start(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
        command = [PROGRAM, "serve", "--http", "127.0.0.1:0", "--dflockd", "none", "--redis", "127.0.0.1:0",
                   "--log-level", "off", "--data", str(pathlib.Path(self._folder.name) / "data"), *self._flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        ports = {}
        while set(ports) != {"http", "redis"}:
            words = self.process.stdout.readline().split()
            if len(words) != 3 or words[0] != "listening":
                self.stop()
                raise AssertionError(f"the server said {words!r}")
            ports[words[1]] = int(words[2].rsplit(":", 1)[1])
        self.http_port, self.port = ports["http"], ports["redis"]

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}{path}", timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.kill()
        self.process.stdout.close()
        self._folder.cleanup()


class Redis:
    """Debian's redis-server on a free port, without files."""

    @staticmethod
    def is_there():
        return shutil.which("redis-server") is not None

    def __init__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                   "--appendonly", "no", "--loglevel", "warning"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def stop(self):
        self.process.kill()
        self.process.wait()
