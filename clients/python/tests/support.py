"""For the tests of the client: the real server, a proxy that loses answers, and a server that says what it is told."""

import contextlib
import http.server
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PACKAGE))

import holdfast  # noqa: E402

PATIENCE_S = 60
PROGRAM = ""  # of the server


def main():
    """Runs the tests of the file that is executed: FILE HOLDFAST [unittest's arguments]."""
    global PROGRAM
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    for variable in [name for name in os.environ if name.startswith("HOLDFAST_")]:
        del os.environ[variable]
    unittest.main()


def until(is_so, what="it"):
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} never came about")
        time.sleep(0.01)


class Server:
    """`holdfast serve` on a free port; what it holds survives `restart`."""

    def __init__(self, *flags, scheme="http"):
        self._flags, self._scheme = flags, scheme
        self._folder = tempfile.TemporaryDirectory()
        self.start()

    def start(self):
        command = [PROGRAM, "serve", "--http", "127.0.0.1:0", "--dflockd", "none", "--log-level", "off",
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


class Scripted:
    """An HTTP server that answers as `reply(index, request)` says: (status, JSON or bytes), (status, body, headers), or
    None to close the connection. It remembers the requests: dictionaries of method, path, headers and body."""

    def __init__(self, reply):
        self.seen = []
        scripted = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                request = {"method": self.command, "path": self.path, "headers": dict(self.headers),
                           "body": json.loads(text) if text else None}
                scripted.seen.append(request)
                said = reply(len(scripted.seen) - 1, request)
                if said is None:
                    self.close_connection = True
                    return
                status, body, headers = said if len(said) == 3 else (*said, {})
                body = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                if "Transfer-Encoding" not in headers:
                    headers = {"Content-Length": str(len(body)), **headers}
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, *arguments):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def end(self):
        self._server.shutdown()
        self._server.server_close()


def lease_json(token=7, ttl_ms=60000):
    """A lease as the server shows it."""
    return {"token": "0" * 31 + "1", "fencing_token": token, "scope": {"kind": "named", "name": "x"}, "holder": "a",
            "mode": "exclusive", "acquired_at": "2024-01-15T10:30:00.000Z", "expires_at": "2024-01-15T10:31:00.000Z",
            "ttl_ms": ttl_ms, "duration_ms": ttl_ms}


def make_certificate(folder):
    """The names of two files: a certificate for 127.0.0.1, which is its own authority, and its key."""
    certificate, key = f"{folder}/cert.pem", f"{folder}/key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                    "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate, key


class ServerTest(unittest.TestCase):
    """A server, a client of it, and what tests need besides."""

    def setUp(self):
        self.server = self.serve()
        self.client = self.connect(self.server.url)

    def serve(self, *flags, **options):
        server = Server(*flags, **options)
        self.addCleanup(server.end)
        return server

    def connect(self, url, **options):
        client = holdfast.Client(url, **{"timeout": 30, "retry_for": 30, **options})
        self.addCleanup(client.close)
        return client

    def proxy(self, path=None):
        proxy = Proxy(self.server, path)
        self.addCleanup(proxy.end)
        return proxy

    def script(self, reply):
        scripted = Scripted(reply)
        self.addCleanup(scripted.end)
        return scripted

    def folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return pathlib.Path(folder.name)

    def in_background(self, work):
        """Runs it in a thread. The returned function waits for the result, which may be an error."""
        results = []

        def run():
            try:
                results.append(work())
            except BaseException as error:
                results.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()

        def result():
            thread.join(PATIENCE_S)
            self.assertTrue(results, "it never came to an end")
            return results[0]

        return result

    def queue_length(self, name):
        return self.client.get(name, queue=True).get("queue_length", 0)

    def wait_for_queue(self, name, length):
        until(lambda: self.queue_length(name) == length, "the queue")

    def is_free(self, name):
        return not self.client.get(name)["held"]
