#!/usr/bin/env python3
"""Terraform and its `http` backend against the real server.

    terraform_test.py HOLDFAST

Where `terraform` or `tofu` is on the PATH, the real program is run: init, apply, a second apply while the first one
holds the lock, force-unlock, an apply that is killed, and the state after a server that was killed. The same requests
are replayed in any case.
"""

import base64
import hashlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 60
AUTH, ADMIN = "the-users-token", "the-admins-token"
CONFIGURATION = """
terraform {
  backend "http" {
    address        = "http://127.0.0.1:PORT/v1/terraform/prod"
    lock_address   = "http://127.0.0.1:PORT/v1/terraform/prodLOCK_PATH"
    unlock_address = "http://127.0.0.1:PORT/v1/terraform/prodLOCK_PATH"
    username       = "terraform"
    LOCK_METHODS
    retry_wait_min = 1
    retry_max      = 1
  }
}
variable "value" { default = "one" }
variable "gate" { default = "" }
resource "terraform_data" "thing" {
  input = var.value
  provisioner "local-exec" {
    command = "test -z '${var.gate}' || { touch '${var.gate}.reached'; while test -e '${var.gate}'; do sleep 0.1; done; }"
  }
  triggers_replace = var.value
}
output "value" { value = terraform_data.thing.output }
"""


def require(condition, *about):
    if not condition:
        raise AssertionError(" ".join(str(one) for one in about))


def wait_until(is_so, what):
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        require(time.monotonic() < deadline, "never:", what)
        time.sleep(0.05)


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    def json(self):
        return json.loads(self.body)


class Server:
    """`holdfast serve` with its data in a folder, always on the same port after its first start."""

    def __init__(self, program, folder):
        self.program, self.folder, self.port, self.process = program, folder, 0, None
        for name, token in (("auth", AUTH), ("admin", ADMIN)):
            (folder / name).write_text(token + "\n")
            (folder / name).chmod(0o600)

    def start(self):
        flags = ["--http", f"127.0.0.1:{self.port}", "--dflockd", "none", "--data", str(self.folder / "data"),
                 "--auth-token-file", str(self.folder / "auth"), "--admin-token-file", str(self.folder / "admin"),
                 "--log-level", "warning"]
        self.process = subprocess.Popen([self.program, "serve", *flags], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        require(line.startswith("listening http "), "the server said", line)
        self.port = int(line.rsplit(":", 1)[1])

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, method, path, body=None, token=AUTH, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            password = base64.b64encode(f"terraform:{token}".encode()).decode()
            headers = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, {"Authorization": "Basic " + password, **headers})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def holder(self, state="prod"):
        """The ID of the lock, or None."""
        return self.ask("GET", f"/v1/locks/{state}").json().get("owner_id") or None

    def command(self, *words):
        environment = {**os.environ, "HOLDFAST_SERVER": f"http://127.0.0.1:{self.port}", "HOLDFAST_TOKEN": AUTH}
        return subprocess.run([self.program, *words], env=environment, capture_output=True, text=True, timeout=PATIENCE_S)


class Terraform:
    """The real program in a folder of its own."""

    def __init__(self, program, server, folder, name, token=AUTH, is_behind_a_proxy=False):
        self.program, self.folder = program, folder / f"run-by-{name}"
        self.folder.mkdir()
        methods = 'lock_method = "POST"\n    unlock_method = "DELETE"' if is_behind_a_proxy else ""
        text = CONFIGURATION.replace("PORT", str(server.port)).replace("LOCK_METHODS", methods)
        (self.folder / "main.tf").write_text(text.replace("LOCK_PATH", "/lock" if is_behind_a_proxy else ""))
        self.environment = {**os.environ, "TF_HTTP_PASSWORD": token, "TF_IN_AUTOMATION": "1", "TF_INPUT": "0",
                            "TF_CLI_CONFIG_FILE": os.devnull, "CHECKPOINT_DISABLE": "1"}

    def begin(self, *words):
        return subprocess.Popen([self.program, *words, "-no-color"], cwd=self.folder, env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def run(self, *words, succeeds=True):
        process = self.begin(*words)
        said = process.communicate(timeout=PATIENCE_S)[0]
        require((process.returncode == 0) == succeeds, words, "ended with", process.returncode, said)
        return said

    def apply(self, value, *words, succeeds=True):
        return self.run("apply", "-auto-approve", f"-var=value={value}", *words, succeeds=succeeds)


def value_in(server):
    return server.ask("GET", "/v1/terraform/prod").json()["outputs"]["value"]["value"]


def run_terraform(program, server, folder):
    first = Terraform(program, server, folder, "first")
    second = Terraform(program, server, folder, "second", is_behind_a_proxy=True)
    admin = Terraform(program, server, folder, "admin", ADMIN)
    stranger = Terraform(program, server, folder, "stranger", "wrong")
    for each in (first, second, admin):
        each.run("init")
    require("requires auth" in stranger.run("init", succeeds=False))
    first.apply("one")
    require(value_in(server) == "one" and server.holder() is None)

    # A second apply while the first one holds the lock is told who does, and may wait.
    gate = folder / "gate"
    gate.touch()
    busy = first.begin("apply", "-auto-approve", "-var=value=two", f"-var=gate={gate}")
    wait_until(pathlib.Path(f"{gate}.reached").exists, "the first apply is at work")
    holder = server.holder()
    said = second.apply("three", succeeds=False)
    require(holder and f"ID={holder}" in said, said)
    said = second.apply("three", "-lock=false", succeeds=False)
    require("423" in said, said)
    waiting = second.begin("apply", "-auto-approve", "-var=value=three", "-lock-timeout=60s")
    gate.unlink()
    said = busy.communicate(timeout=PATIENCE_S)[0]
    require(busy.returncode == 0, said)
    said = waiting.communicate(timeout=PATIENCE_S)[0]
    require(waiting.returncode == 0, said)
    require(value_in(server) == "three" and server.holder() is None)

    # An apply that was killed leaves its lock. Only an admin can force it open.
    pathlib.Path(f"{gate}.reached").unlink()
    gate.touch()
    killed = first.begin("apply", "-auto-approve", "-var=value=four", f"-var=gate={gate}")
    wait_until(pathlib.Path(f"{gate}.reached").exists, "the apply that will be killed is at work")
    holder = server.holder()
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    gate.unlink()
    server.kill()
    server.start()
    require(server.holder() == holder, "the lock has survived the server")
    require(holder in second.apply("five", succeeds=False))
    require("403" in second.run("force-unlock", "-force", holder, succeeds=False))
    admin.run("force-unlock", "-force", holder)
    require(server.holder() is None)
    second.apply("five")
    require(value_in(server) == "five")

    # The versions, by the command line.
    rows = server.command("terraform", "ls", "prod").stdout.splitlines()
    require(len(rows) >= 4 and rows[0].split()[0] == "VERSION", rows)
    oldest = rows[-1].split()[0]
    require(server.command("terraform", "rollback", "prod", oldest).returncode == 0)
    shown = server.command("terraform", "show", "prod", "--version", oldest).stdout
    require(shown == server.ask("GET", "/v1/terraform/prod").body.decode())
    second.apply("six")
    server.kill()
    server.start()
    require(value_in(server) == "six")
    second.run("destroy", "-auto-approve")


def replay(server):
    """What Terraform 1.11 sends, one request after the other."""
    state = "/v1/terraform/replay"

    def info(lock_id):
        return json.dumps({"ID": lock_id, "Operation": "OperationTypeApply", "Info": "", "Who": "ann@box",
                           "Version": "1.11.4", "Created": "2026-01-15T10:30:00.123456789Z", "Path": ""})

    def ask(method, at, body, status, **headers):
        answer = server.ask(method, at, body, **headers)
        require(answer.status == status, method, at, "got", answer.status, answer.body)
        return answer

    def post(lock_id, text, status):
        md5 = base64.b64encode(hashlib.md5(text.encode()).digest()).decode()
        at = f"{state}?ID={lock_id}" if lock_id else state
        return ask("POST", at, text, status, Content_Type="application/json", Content_MD5=md5)

    ask("GET", state, None, 404)
    ask("LOCK", state, info("a"), 200)
    ask("LOCK", state, info("a"), 200)  # the answer was lost, so the program asks again
    require(ask("LOCK", state, info("b"), 423).json() == json.loads(info("a")))
    post("a", '{"serial": 1}', 200)
    post("b", '{"serial": 2}', 423)
    post("", '{"serial": 2}', 423)  # -lock=false
    require(ask("GET", state, None, 200).body == b'{"serial": 1}')
    ask("UNLOCK", state, info("b"), 409)
    ask("UNLOCK", state, info("a"), 200)
    ask("UNLOCK", state, info("a"), 200)
    post("a", '{"serial": 2}', 423)
    post("", '{"serial": 2}', 200)  # -lock=false while nobody holds the lock
    server.ask("POST", state + "/lock", info("c"))
    server.kill()
    server.start()
    require(server.holder("replay") == "c")
    require(ask("GET", state, None, 200).body == b'{"serial": 2}')
    no_body = iter([])  # chunked, as force-unlock sends it
    ask("UNLOCK", state, no_body, 403)
    ask("UNLOCK", state, iter([]), 200, token=ADMIN)
    require(server.holder("replay") is None)
    ask("LOCK", state, info("d"), 200)
    ask("DELETE", state + "/lock", info("d"), 200)
    ask("DELETE", state, None, 200)
    ask("GET", state, None, 404)
    require([each["version"] for each in ask("GET", state + "/versions", None, 200).json()["versions"]] == [3, 2, 1])


def main():
    program = shutil.which("terraform") or shutil.which("tofu")
    with tempfile.TemporaryDirectory(prefix="holdfast-terraform-") as name:
        folder = pathlib.Path(name)
        server = Server(sys.argv[1], folder)
        server.start()
        try:
            replay(server)
            if program:
                run_terraform(program, server, folder)
            else:
                print("neither terraform nor tofu is on the PATH: only their requests were replayed")
        finally:
            server.kill()


main()
