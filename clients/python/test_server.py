"""The real server for the tests of the client, and a proxy that loses answers."""

import contextlib
import pathlib
import signal
import socket
import subprocess
import tempfile
import threading
import time

PATIENCE_S = 60


def until(is_so, what="it"):
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} never came about")
        time.sleep(0.01)


class Server:
    """`holdfast serve` on a free port; what it holds survives `restart`."""

    def __init__(self, program, *flags, scheme="http"):
        self._program, self._flags, self._scheme = program, flags, scheme
        self._folder = tempfile.TemporaryDirectory()
        self.start()

    def start(self):
        command = [self._program, "serve", "--http", "127.0.0.1:0", "--dflockd", "none", "--log-level", "off",
                   "--data", str(pathlib.Path(self._folder.name) / "data"), *self._flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith(f"listening {self._scheme} "):
            self.kill()
            raise AssertionError(f"the server said {line!r}")
        self.port = int(line.rsplit(":", 1)[1])

    @property
    def url(self):
        return f"{self._scheme}://127.0.0.1:{self.port}"

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def restart(self):
        self.kill()
        self.start()

    def restart_in_good_order(self):
        """As `systemctl restart` does it."""
        self.process.terminate()
        self.process.wait(PATIENCE_S)
        self.process.stdout.close()
        self.start()

    def end(self):
        self.kill()
        self._folder.cleanup()


class Proxy:
    """Stands before a server, at an address that stays the same, and loses the answers that it is told to lose.
    The address is a free port, or the Unix socket `path`."""

    def __init__(self, server, path=None):
        self._server = server
        self._mutex = threading.Lock()
        self._to_lose = 0
        self._is_silent = False
        self._open = set()
        self.lost = 0
        self.is_cut = False
        if path is None:
            self._listener = socket.create_server(("127.0.0.1", 0))
            self.url = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        else:
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(path)
            self._listener.listen()
            self.url = "unix:" + path
        threading.Thread(target=self._accept, daemon=True).start()

    def lose_answers(self, count, silently=False):
        """The next so many answers of the server arrive here; the client's connection breaks, or nothing is heard."""
        with self._mutex:
            self._to_lose, self._is_silent = count, silently

    def cut(self):
        """Breaks all connections, and lets none in before `heal`."""
        with self._mutex:
            self.is_cut = True
            sockets = list(self._open)
        for one in sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def heal(self):
        self.is_cut = False

    def end(self):
        self._listener.close()
        self.cut()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with contextlib.suppress(OSError), client:
            if self.is_cut:
                return
            with socket.create_connection(("127.0.0.1", self._server.port)) as server:
                with self._mutex:
                    self._open |= {client, server}
                asking = threading.Thread(target=self._pump, args=(client, server, False), daemon=True)
                asking.start()
                self._pump(server, client, True)
                asking.join()
                with self._mutex:
                    self._open -= {client, server}

    def _pump(self, source, target, is_answer):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if not is_answer or not self._is_to_be_lost():
                    target.sendall(data)
                elif not self._is_silent:
                    break
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _is_to_be_lost(self):
        with self._mutex:
            if self._to_lose == 0:
                return False
            self._to_lose -= 1
            self.lost += 1
            return True
