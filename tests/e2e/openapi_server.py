"""`holdfast serve`, asked by the tests of its OpenAPI document."""

import contextlib
import http.client
import json
import subprocess
import time

from openapi_document import require

PATIENCE_S = 60
X = "/v1/locks/{lock}"


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode(errors="replace")

    def json(self):
        return json.loads(self.text)


def fill_in(path):
    """A path of the document as one that can be asked for."""
    words = {"{lock}": "x", "{token}": "0" * 32, "{resource}": "r", "{id}": "0-0", "{name}": "x"}
    for word, value in words.items():
        path = path.replace(word, value)
    return path


class Server:
    """`holdfast serve` on a free port, and requests to it whose answers are validated."""

    def __init__(self, program, document, *flags):
        self.document = document
        free_ports = ["--http", "127.0.0.1:0", "--dflockd", "127.0.0.1:0"]
        self.process = subprocess.Popen([program, "serve", *free_ports, "--log-level", "off", *flags],
                                        stdout=subprocess.PIPE, text=True)
        self.port, self.dflockd_port = self.read_port("http"), self.read_port("dflockd")

    def read_port(self, door):
        line = self.process.stdout.readline()
        require(line.startswith(f"listening {door} "), "the server said", line)
        return int(line.rsplit(":", 1)[1])

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)

    def ask(self, method, path, *statuses, at=None, body=None, headers=None, is_valid=True):
        """Asks for the operation at `path`, which is really the one `at`, and returns the answer."""
        if isinstance(body, dict):
            if is_valid:
                self.document.check_request(method, path, body)
            body = json.dumps(body)
        with contextlib.closing(self.connect()) as connection:
            connection.request(method, at or fill_in(path), body, headers or {})
            answer = Answer(connection.getresponse())
        self.document.check_answer(method, path, answer)
        require(answer.status in statuses, method, at or path, "got", answer.status, answer.text)
        return answer

    def acquire(self, *statuses, lock="x", **fields):
        body = {"owner_id": "w1", "ttl_ms": 60000, **fields}
        return self.ask("POST", X + "/acquire", *statuses, at=f"/v1/locks/{lock}/acquire", body=body).json()

    def wait_for_queue(self, length):
        until(lambda: self.ask("GET", X, 200, at="/v1/locks/x?queue=true").json()["queue_length"] == length)


def until(is_so):
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        require(time.monotonic() < deadline, "it never came about")
        time.sleep(0.005)
