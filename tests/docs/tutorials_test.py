#!/usr/bin/env python3
"""The tutorials, typed as they stand.

    tutorials_test.py HOLDFAST [--install CMAKE BUILD] [unittest's arguments]

Exit code 77: there is no PostgreSQL here, and only the tutorial that needs it was asked for.
"""

import glob
import os
import pathlib
import plistlib
import re
import shutil
import socket
import subprocess
import sys
import unittest

import yaml

import typed

HOLDFAST = ""
INSTALL = []  # cmake and the build folder, for the tutorial that builds a program
TUTORIALS = typed.REPOSITORY / "docs/tutorials"


class Tutorials(unittest.TestCase):
    def read(self, page, **variables):
        """A page that nobody has typed yet."""
        room = typed.Room(HOLDFAST, variables.pop("user", None))
        room.variables = variables
        return room, typed.Reading(self, room, f"docs/tutorials/{page}.md")

    def test_cron(self):
        room, reading = self.read("cron")
        reading.type()
        # The lines of the crontab, as cron runs them, on two machines.
        [crontab] = reading.shown("crontab")
        lines = [line for line in crontab.text.splitlines() if re.match(r"[0-9]", line)]
        self.assertEqual(len(lines), 2)
        for line, printed in zip(lines, ["", "four o'clock\n"]):
            command = line.split(maxsplit=5)[5].replace(r"\%", "%")
            said = reading.terminal.type(f"for machine in 1 2; do {command} || true; done\n")
            self.assertEqual(said, printed, line)

    def test_laptops(self):
        room, reading = self.read("laptops")
        reading.type()
        room.add_program("desk/tidy.sh", "#!/bin/sh\necho $LAPTOP tidied up\n")
        # The line of the crontab, and what launchd does.
        [crontab] = reading.shown("crontab")
        *settings, line = crontab.text.splitlines()
        said = reading.terminal.type(f"export {' '.join(settings)}\n{line.split(maxsplit=5)[5]}\n")
        self.assertEqual(said, "laptop1 tidied up\n")
        [plist] = reading.shown("xml")
        job = plistlib.loads(room.here(plist.text).encode())
        done = subprocess.run(job["ProgramArguments"], env={**room.environment(), **job["EnvironmentVariables"]},
                              capture_output=True, text=True, timeout=typed.PATIENCE_S)
        self.assertEqual(done.stdout, "laptop2 tidied up\n")
        # A server would start with the options that are only shown.
        shown = [line.removeprefix("$ holdfast serve ") for block in reading.shown("console")
                 for line in block.text.splitlines()]
        self.assertEqual(len(shown), 2)
        for options in shown:
            reading.terminal.type(f"holdfast config {options} > config.txt\n")
        self.read_by_name(room, reading)

    def read_by_name(self, room, reading):
        """The loop of a laptop against a NAS without a token, by the names that its network gives it."""
        server = typed.Server(room, "holdfast serve --memory --dflockd none --http 127.0.0.1:8090")
        self.addCleanup(server.close)
        name = socket.gethostname().split(".")[0]
        names = [name + domain for domain in (".local", ".lan", ".home.arpa", ".internal", "")]
        strangers = [f"x{name}.local", "nas.example.org"]
        lines = [f'resolve = "{each}:8090:{room.address}"' for each in names + strangers]
        (room.desk / ".curlrc").write_text("\n".join(['noproxy = "*"', *lines]) + "\n")
        for each in (*names, name.upper() + ".LOCAL"):
            said = reading.terminal.type(f"NAS=http://{each}:8090 ~/with-lock.sh echo {each}\n")
            self.assertEqual(said, each + "\n")
        for each in strangers:
            said = reading.terminal.type(f"NAS=http://{each}:8090 ~/with-lock.sh echo {each} || echo $?\n")
            self.assertEqual(said, "75\n", "the NAS is not known by this name")

    def test_ci_deploy(self):
        _, reading = self.read("ci-deploy")
        reading.type()
        gitlab, github = (yaml.safe_load(block.text) for block in reading.shown("yaml"))
        scripts = [gitlab["deploy"]["script"],
                   [step["run"] for step in github["jobs"]["deploy"]["steps"] if "run" in step]]
        for build, script in zip((51, 52), scripts):
            names = {"CI_PIPELINE_IID": build, "CI_JOB_URL": "https://ci/1", "GITHUB_RUN_NUMBER": build, "GITHUB_RUN_ID": 7}
            values = " ".join(f"{name}={value}" for name, value in names.items())
            said = reading.terminal.type(f"export {values}\n" + "\n".join(script) + "\ncat live.txt\n")
            self.assertEqual(said, f"deploying build {build}\n{build}\n")

    def test_leader_election(self):
        room, reading = self.read("leader-election")
        reading.type()
        [unit] = reading.shown("ini")
        command = re.search(r"^ExecStart=(.*)$", unit.text, re.M).group(1)
        said = reading.terminal.type(command.replace("/usr/bin/", "").replace("/usr/local/bin/scheduler", "echo leads") + "\n")
        self.assertEqual(said, "leads\n")
        if shutil.which("systemd-analyze"):
            path = room.folder / "scheduler.service"
            path.write_text(re.sub(r"/usr/(local/)?bin/\w+", "/bin/true", unit.text), encoding="utf-8")
            said = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True)
            self.assertNotIn("scheduler", said.stdout + said.stderr)

    def test_two_devices(self):
        self.read("two-devices")[1].type()

    def test_cluster(self):
        self.read("cluster")[1].type()

    def test_postgresql(self):
        with Database() as database:
            self.read("postgresql", user=database.user, **database.variables)[1].type()

    def test_storage_engine(self):
        room, reading = self.read("storage-engine")
        source = (typed.REPOSITORY / "examples/storage_engine.cc").read_text(encoding="utf-8")
        self.assertEqual([block.text for block in reading.shown("cpp")], [source])
        prefix = room.folder / "prefix"
        subprocess.run([INSTALL[0], "--install", INSTALL[1], "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
        library = next(prefix.rglob("libholdfast.so")).parent
        (room.desk / "storage_engine.cc").write_text(source, encoding="utf-8")
        reading.terminal.type(f"export PKG_CONFIG_PATH={library}/pkgconfig LD_LIBRARY_PATH={library}\n")
        reading.type()

    def test_the_index_names_every_tutorial(self):
        index = (TUTORIALS / "README.md").read_text(encoding="utf-8")
        pages = {path.name for path in TUTORIALS.glob("*.md")} - {"README.md"}
        self.assertEqual(set(re.findall(r"\]\(([\w-]+\.md)\)", index)), pages)
        tests = {name.removeprefix("test_").replace("_", "-") + ".md" for name in dir(self) if name.startswith("test_")}
        self.assertLessEqual(pages, tests, "a tutorial that nobody types")


class Database:
    """A PostgreSQL in a temporary folder, on a Unix socket. PostgreSQL does not run as root."""

    def __init__(self):
        self._bin = pathlib.Path(sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1])
        self._folder = pathlib.Path(subprocess.check_output(["mktemp", "-d", "/tmp/holdfast-db.XXXXXX"], text=True).strip())
        self._folder.chmod(0o755)
        self.user = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
        self.variables = {"PGHOST": str(self._folder), "PGDATABASE": "postgres", "PGUSER": "worker",
                          "PGOPTIONS": "-c client_min_messages=warning"}

    def _run(self, *command):
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, cwd="/", **self.user)

    def __enter__(self):
        if self.user:
            shutil.chown(self._folder, "nobody", "nogroup")
        data = self._folder / "data"
        self._run(self._bin / "initdb", "--pgdata", data, "--username", "worker", "--auth", "trust", "--no-sync")
        self._run(self._bin / "pg_ctl", "--pgdata", data, "--log", self._folder / "log", "--wait",
                  "--options", f"-k {self._folder} -c listen_addresses='' -c fsync=off", "start")
        return self

    def __exit__(self, *_):
        self._run(self._bin / "pg_ctl", "--pgdata", self._folder / "data", "--mode", "immediate", "stop")
        shutil.rmtree(self._folder)


if __name__ == "__main__":
    HOLDFAST = os.path.abspath(sys.argv.pop(1))
    if "--install" in sys.argv:
        place = sys.argv.index("--install")
        INSTALL = sys.argv[place + 1:place + 3]
        del sys.argv[place:place + 3]
    if "Tutorials.test_postgresql" in sys.argv and not glob.glob("/usr/lib/postgresql/*/bin/initdb"):
        print("*** no PostgreSQL here (tools/packages/test.txt): the fenced write is NOT tested ***", file=sys.stderr)
        sys.exit(77)
    unittest.main()
