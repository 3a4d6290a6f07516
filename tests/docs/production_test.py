#!/usr/bin/env python3
"""The pages of docs/production: their commands are typed, and their proxies, containers and manifests are tried.

    production_test.py HOLDFAST [unittest's arguments]

Exit code 77: everything that was asked for needs programs that are not here.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

import yaml

import typed

HOLDFAST = ""
PAGES = typed.REPOSITORY / "docs/production"


class Pages(unittest.TestCase):
    def type(self, page):
        typed.Reading(self, typed.Room(HOLDFAST), f"docs/production/{page}.md").type()

    def test_monitoring(self):
        self.type("monitoring")
        [scraping] = [block for block in typed.blocks_of("docs/production/monitoring.md") if block.language == "yaml"]
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(typed.REPOSITORY / "packaging/monitoring/holdfast.rules.yml", folder)
            # The file with the token is on the reader's machine.
            text = scraping.text.replace("/etc/prometheus/holdfast.token", "holdfast.rules.yml")
            ran = subprocess.run(["promtool", "check", "config", "/dev/stdin"], input=text.replace(
                '"holdfast.rules.yml"', f'"{folder}/holdfast.rules.yml"').replace(": holdfast.rules.yml",
                f": {folder}/holdfast.rules.yml"), capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_upgrades(self):
        self.type("upgrades")

    def test_backups(self):
        self.type("backups")

    def test_security(self):
        self.type("security")

    def test_the_index_names_every_page(self):
        index = (PAGES / "README.md").read_text(encoding="utf-8")
        named = set(re.findall(r"\]\(([\w-]+\.md)\)", index))
        self.assertEqual(named, {path.name for path in PAGES.glob("*.md")} - {"README.md"})

    def test_the_table_of_ttls_is_right(self):
        text = (PAGES / "ttl.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| (\d+) s \| (\d+) s \| ([\d.]+) s \| (\d+) s \|", text, re.M)
        self.assertGreaterEqual(len(rows), 5)
        for ttl, every, survives, waits in (map(float, row) for row in rows):
            self.assertEqual((every, waits), (ttl / 3, ttl))
            self.assertAlmostEqual(survives, ttl * 2 / 3 - min(5, ttl / 6))


class Proxies(unittest.TestCase):
    """Through a proxy as the page configures it: locks, a wait, a client that goes, events, an upload."""

    def setUp(self):
        self.room = typed.Room(HOLDFAST)
        self.addCleanup(self.room.clean_up)
        self.blocks = typed.blocks_of("docs/production/proxies.md")
        (self.room.desk / "token").write_text("secret\n")
        server = typed.Server(self.room, "holdfast serve --memory --auth-token-file token --files-root files"
                                         " --files-url https://files.example.org")
        self.addCleanup(server.close)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=locks.example.org", "-keyout", "key.pem", "-out", "cert.pem",
                        "-addext", "subjectAltName=DNS:locks.example.org,DNS:files.example.org"],
                       cwd=self.room.desk, check=True, capture_output=True)

    def start(self, command, log):
        with (self.room.folder / log).open("wb") as output:
            process = subprocess.Popen(command, cwd=self.room.desk, env=self.room.environment(), stdout=output, stderr=output)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)

        def answers():
            self.assertIsNone(process.poll(), (self.room.folder / log).read_text())
            return subprocess.run(["curl", "-ks", "-o", "/dev/null", f"https://{self.room.address}:8443/"]).returncode in (0, 35)
        typed.wait_until(answers, "the proxy answers")

    def look_through(self):
        terminal = typed.Terminal(self.room)
        self.addCleanup(terminal.close)
        terminal.type("""
        curl=(curl -s --cacert cert.pem --resolve "*:8443:127.0.0.1")
        at=("${curl[@]}" -H "Authorization: Bearer secret")
        locks=https://locks.example.org:8443 files=https://files.example.org:8443
        export HOLDFAST_TOKEN=secret
        """)
        self.assertIn("acquired", terminal.type('"${at[@]}" -X POST "$locks/lock?client=a&job=x"\n'))
        # Events leave at once: the stream is still open when they are here.
        terminal.type("""
        "${at[@]}" -N "$locks/v1/events" > events.txt & events=$!
        until grep -q granted events.txt; do holdfast run z true; sleep 0.1; done
        kill $events
        """)
        # Somebody waits and goes: the queue is empty again, long before the lease ends.
        terminal.type("""
        read -r token rest <<< "$(holdfast lock y --owner a --ttl 1h)"
        "${at[@]}" "$locks/v1/leases" -d '{"scope":"y","holder":"b","wait_ms":600000}' > waiter.txt & waiter=$!
        until holdfast show y --json | grep -q '"queue_length":1'; do sleep 0.1; done
        kill $waiter
        until holdfast show y --json | grep -q '"queue_length":0'; do sleep 0.1; done
        """)
        # A wait that is granted.
        self.assertIn("fencing_token", terminal.type("""
        (sleep 1; holdfast unlock $token) &
        "${at[@]}" "$locks/v1/leases" -d '{"scope":"y","holder":"c","wait_ms":600000}'
        """))
        # A large upload.
        said = terminal.type("""
        session=$("${at[@]}" -X POST "$files/auth/session" | sed 's/.*"sessionId":"\\([0-9a-f]*\\)".*/\\1/')
        head -c 5000000 /dev/zero > large
        "${curl[@]}" -H "Authorization: Bearer $session" -T large $files/large
        """)
        self.assertEqual(json.loads(said)["size"], 5000000)

    def test_nginx(self):
        if not shutil.which("nginx", path=self.room.environment()["PATH"]):
            self.skipTest("no nginx here: its configuration is NOT tested")
        servers = "".join(block.text for block in self.blocks if block.language == "nginx")
        servers = re.sub(r"listen 443 ssl", f"listen {self.room.address}:8443 ssl", self.room.here(servers))
        servers = re.sub(r"/etc/ssl/\S+\.pem", f"{self.room.desk}/cert.pem", servers)
        servers = re.sub(r"/etc/ssl/\S+\.key", f"{self.room.desk}/key.pem", servers)
        places = "".join(f"{name}_temp_path {self.room.folder}/{name};\n"
                         for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root;\n" if os.geteuid() == 0 else ""
        (self.room.folder / "nginx.conf").write_text(
            f"{user}daemon off;\npid {self.room.folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\n"
            f"http {{\naccess_log off;\n{places}{servers}}}\n")
        command = ["nginx", "-p", str(self.room.folder), "-c", f"{self.room.folder}/nginx.conf", "-e", "stderr"]
        checked = subprocess.run([*command, "-t"], env=self.room.environment(), capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.start(command, "nginx.log")
        self.look_through()

    def test_caddy(self):
        caddy = shutil.which("caddy")
        if not caddy:
            self.skipTest("no caddy here: its configuration is NOT tested")
        [block] = [block for block in self.blocks if block.language == "caddy"]
        sites = re.sub(r"^(\w+\.example\.org) \{", rf"\1:8443 {{\n\tbind {self.room.address}\n\ttls {self.room.desk}/cert.pem {self.room.desk}/key.pem",
                       self.room.here(block.text), flags=re.M)
        (self.room.desk / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + sites)
        self.start([caddy, "run"], "caddy.log")
        self.look_through()


class Containers(unittest.TestCase):
    def options(self):
        """The variables that the server knows."""
        shown = subprocess.run([HOLDFAST, "serve", "--help"], capture_output=True, text=True, check=True).stdout
        return set(re.findall(r"\(Env:(\w+)\)", shown))

    def dockerfile(self):
        return (typed.REPOSITORY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")

    def test_the_page_explains_lines_that_the_dockerfile_has(self):
        page = (PAGES / "containers.md").read_text(encoding="utf-8")
        lines = re.findall(r"^\| `([^`]+)` \|", page, re.M)
        self.assertGreaterEqual(len(lines), 6)
        for line in lines:
            self.assertRegex(self.dockerfile(), rf"(?m)^{re.escape(line)}")
        for name in re.findall(r"\b(HOLDFAST_\w+)=", self.dockerfile()):
            self.assertIn(name, self.options())

    def test_the_commands_of_the_dockerfile_are_well_formed(self):
        commands = re.findall(r"^RUN (.*)$", self.dockerfile(), re.M)
        self.assertEqual(len(commands), 3)
        for command in commands:
            subprocess.run(["sh", "-n", "-c", command], check=True)

    def test_the_health_check_of_the_dockerfile(self):
        words = json.loads(re.search(r"^HEALTHCHECK .*? CMD (\[.*\])$", self.dockerfile(), re.M).group(1))
        room = typed.Room(HOLDFAST)
        self.addCleanup(room.clean_up)
        words[-1] = words[-1].replace("127.0.0.1/8080", f"{room.address}/8080")
        self.assertNotEqual(subprocess.run(words, capture_output=True).returncode, 0)
        server = typed.Server(room, "holdfast serve --memory")
        self.addCleanup(server.close)
        self.assertEqual(subprocess.run(words, capture_output=True).returncode, 0)

    def test_compose(self):
        [block] = [block for block in typed.blocks_of("docs/production/containers.md") if block.language == "yaml"]
        compose = yaml.safe_load(block.text)
        service = compose["services"]["holdfast"]
        self.assertLessEqual(set(service["environment"]), self.options())
        self.assertEqual({f"/run/secrets/{name}" for name in service["secrets"]},
                         {value for name, value in service["environment"].items() if name.endswith("TOKEN_FILE")})
        self.assertEqual(set(service["secrets"]), set(compose["secrets"]))
        [volume] = service["volumes"]
        self.assertEqual(volume.split(":"), [*compose["volumes"], service["environment"]["HOLDFAST_DATA"]])


class Kubernetes(unittest.TestCase):
    def manifests(self, name):
        text = (typed.REPOSITORY / f"packaging/kubernetes/{name}.yaml").read_text(encoding="utf-8")
        found = {}
        for manifest in yaml.safe_load_all(text):
            self.assertTrue(manifest["apiVersion"] and manifest["metadata"]["name"])
            found.setdefault(manifest["kind"], []).append(manifest)
        return found

    def start(self, name, room, replacements):
        """The container of the StatefulSet, as a process, asked by its probes. Returns its address, as a page shows it."""
        manifests = self.manifests(name)
        [stateful_set] = manifests["StatefulSet"]
        spec = stateful_set["spec"]
        labels = spec["template"]["metadata"]["labels"]
        self.assertEqual(spec["selector"]["matchLabels"], labels)
        for service in manifests["Service"]:
            self.assertEqual(service["spec"]["selector"], labels)
        self.assertIn(spec["serviceName"], [service["metadata"]["name"] for service in manifests["Service"]])
        [container] = spec["template"]["spec"]["containers"]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        targets = [port["targetPort"] for service in manifests["Service"] for port in service["spec"]["ports"]]
        self.assertLessEqual(set(targets), set(ports))
        volumes = [volume["name"] for volume in spec["template"]["spec"]["volumes"]]
        volumes += [claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", [])]
        self.assertEqual(sorted(mount["name"] for mount in container["volumeMounts"]), sorted(volumes))
        for variable in container["env"]:
            value = str(variable.get("value", "holdfast-0")).replace("$(HOLDFAST_NODE)", "holdfast-0")
            for old, new in replacements.items():
                value = value.replace(old, new)
            room.variables[variable["name"]] = room.here(value.replace("0.0.0.0:", "127.0.0.1:"))
        server = typed.Server(room, "holdfast " + shlex.join(container["args"]))
        self.addCleanup(server.close)
        for probe in ("readinessProbe", "livenessProbe"):
            asked = container[probe]["httpGet"]
            url = f"http://{room.address}:{ports[asked['port']]}{asked['path']}"
            typed.wait_until(lambda: self.answers(url), url)
        return f"http://127.0.0.1:{ports['http']}"

    @staticmethod
    def answers(url):
        try:
            with urllib.request.urlopen(url, timeout=typed.PATIENCE_S) as answer:
                return answer.status == 200
        except OSError:
            return False

    def room(self):
        room = typed.Room(HOLDFAST)
        self.addCleanup(room.clean_up)
        for name in ("auth", "admin"):
            (room.desk / f"{name}.token").write_text(f"{name}-secret\n")
        return room

    def lock(self, room, url):
        terminal = typed.Terminal(room)
        self.addCleanup(terminal.close)
        said = terminal.type(f"holdfast run x --server {url} --token-file auth.token --wait 1m echo locked\n")
        self.assertEqual(said, "locked\n")

    def test_single(self):
        room = self.room()
        url = self.start("single", room, {"/var/lib/holdfast": f"{room.desk}/data", "/etc/holdfast/secrets": str(room.desk)})
        self.lock(room, url)
        self.assertEqual(self.manifests("single")["StatefulSet"][0]["spec"]["replicas"], 1)

    def test_cluster(self):
        room = self.room()
        terminal = typed.Terminal(room)
        self.addCleanup(terminal.close)
        etcd = typed.ETCD.replace("client-urls http:", "client-urls https:")
        etcd = etcd.replace("etcd --data-dir", "etcd --cert-file tls.crt --key-file tls.key --data-dir")
        etcd = etcd.replace("--endpoints ", "--cacert ca.crt --endpoints https://")
        terminal.type("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=peers"
                      " -keyout tls.key -out tls.crt -addext 'subjectAltName=DNS:*.holdfast-peers,IP:127.0.0.1'"
                      " 2> openssl.log\n"
                      "cp tls.crt ca.crt\n" + etcd)
        url = self.start("cluster", room, {"etcd-0.etcd:2379,etcd-1.etcd:2379,etcd-2.etcd:2379": "127.0.0.1:2379",
                                           "/etc/holdfast/secrets": str(room.desk), "/etc/holdfast/peer": str(room.desk),
                                           "/etc/holdfast/etcd": str(room.desk)})
        self.lock(room, url)
        self.assertEqual(self.manifests("cluster")["StatefulSet"][0]["spec"]["replicas"], 3)


if __name__ == "__main__":
    HOLDFAST = os.path.abspath(sys.argv.pop(1))
    ran = unittest.main(exit=False).result
    for _, reason in ran.skipped:
        print(f"*** {reason} ***", file=sys.stderr)
    if not ran.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if len(ran.skipped) == ran.testsRun else 0)
