"""A cluster to torment: three members of etcd, three nodes of Holdfast, and proxies on every line between them.

Everything is on loopback, on free ports, in a temporary folder. Each process can be killed, stopped and started again; each
line can be stalled: its bytes wait, as in a network that has lost its way.
"""

import asyncio
import json
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request

from etcd_gateway import EtcdGateway

# Small enough to be filled in seconds, and more than one answer of etcd may have; nothing here comes near it by itself.
ETCD_QUOTA = 160 << 20
PREFIX = "holdfast"


def free_ports(count, address="127.0.0.1"):
    """Ports that nobody listens on at the moment, each free on `address`. They are below those that the kernel gives to
    outgoing connections: tests that run at the same time make thousands of these."""
    ports = []
    while len(ports) < count:
        port = random.randrange(12000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind((address, port))
            except OSError:
                continue
        if port not in ports:
            ports.append(port)
    return ports


def wait_until(is_so, what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_so():
            return
        time.sleep(0.05)
    raise TimeoutError(f"after {seconds} s still not: {what}")


class Proxy:
    """Passes connections from one address to another, unless it is stalled."""

    def __init__(self, listen, target):
        self.listen, self.target = listen, target
        self.is_open = asyncio.Event()
        self.is_open.set()
        self.tasks = set()  # asyncio forgets those that nobody holds

    async def start(self):
        self.server = await asyncio.start_server(self._serve, *self.listen)

    async def _serve(self, reader, writer):
        self.tasks.add(asyncio.current_task())
        try:
            await self.is_open.wait()
            far_reader, far_writer = await asyncio.open_connection(*self.target)
        except OSError:
            writer.transport.abort()
            return
        await asyncio.gather(self._pump(reader, far_writer), self._pump(far_reader, writer))
        self.tasks.discard(asyncio.current_task())

    async def _pump(self, reader, writer):
        try:
            while piece := await reader.read(65536):
                await self.is_open.wait()
                writer.write(piece)
                await writer.drain()
            await self.is_open.wait()
            writer.write_eof()
        except OSError:
            writer.transport.abort()


class Proxies:
    """All proxies, on a thread of their own."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def add(self, listen, target):
        proxy = Proxy(listen, target)
        asyncio.run_coroutine_threadsafe(proxy.start(), self.loop).result()
        return proxy

    def stall(self, proxies, is_stalled):
        for proxy in proxies:
            self.loop.call_soon_threadsafe(proxy.is_open.clear if is_stalled else proxy.is_open.set)

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()


class Names:
    """Names that only processes of the lab know, and that can be taken away from them. In mount namespaces, where those may be
    made: each process has a hosts file that the lab writes, and asks no name server."""

    def __init__(self, folder, addresses):
        self.hosts, self.addresses = folder / "hosts", addresses
        self.write(True)
        (folder / "nsswitch.conf").write_text("hosts: files\n")
        script = f'mount --bind {self.hosts} /etc/hosts && mount --bind {folder}/nsswitch.conf /etc/nsswitch.conf && exec "$@"'
        inside = [["unshare", *options, "sh", "-c", script, "sh"] for options in (["--mount"], ["--map-root-user", "--mount"])]
        self.wrapper = next((wrapper for wrapper in inside if self._works(wrapper)), None)

    def _works(self, wrapper):
        name, address = next(iter(self.addresses.items()))
        try:
            ran = subprocess.run([*wrapper, "getent", "hosts", name], capture_output=True, text=True, timeout=20)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return ran.returncode == 0 and ran.stdout.split()[:1] == [address]

    def write(self, has_names):
        """In its place: the file that the processes see stays the same file."""
        self.hosts.write_text("".join(f"{address} {name}\n" for name, address in self.addresses.items()) if has_names else "")


class Process:
    """A program that is started again and again. `wrapper`: what runs it, and becomes it."""

    def __init__(self, name, command, log, wrapper=()):
        self.name, self.command, self.log, self.wrapper = name, command, log, wrapper
        self.running = None

    def start(self):
        with open(self.log, "ab") as log:
            self.running = subprocess.Popen([*self.wrapper, *self.command], stdout=log, stderr=log)

    def signal(self, number):
        self.running.send_signal(number)

    def kill(self):
        self.running.kill()
        self.running.wait()

    def terminate(self, seconds=30):
        self.running.terminate()
        self.running.wait(seconds)

    def is_alive(self):
        return self.running is not None and self.running.poll() is None


class Node(Process):
    def __init__(self, name, command, log, ports, lines, token=None, wrapper=()):
        super().__init__(name, command, log, wrapper)
        self.http, self.dflockd, self.peer, self.status, self.files = ports
        self.lines = lines  # its proxies to etcd
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def ask(self, path, port=None, method="GET", seconds=10):
        request = urllib.request.Request(f"http://127.0.0.1:{port or self.http}{path}", method=method, headers=self.headers)
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            return json.load(answer)

    def look(self):
        """What the node says of itself, or nothing."""
        try:
            return self.ask("/v1/node", self.status)
        except (OSError, ValueError):
            return {}

    def is_ready(self):
        """It leads, or can pass connections on."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.status}/readyz", timeout=10) as answer:
                return answer.status == 200
        except OSError:
            return False


class Lab:
    """`token`: what every node asks for; None: nothing. `has_files`: the nodes share a folder of files, `files_root`.
    `uses_names`: the nodes know each other by names, if that can be done here (`names` is None if not)."""

    def __init__(self, holdfast, ttl="3s", uses_proxies=True, token=None, has_files=False, uses_names=False):
        self.uses_proxies, self.token, self.has_files = uses_proxies, token, has_files
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-cluster-"))
        self.files_root = self.folder / "files"
        self.proxies = Proxies()
        self.names = self._make_names() if uses_names else None
        self.members = self._make_members()
        self.etcd = EtcdGateway(self.client_ports)
        self.nodes = [self._make_node(holdfast, name, index, ttl) for index, name in enumerate("abc")]
        self.peer_lines = [] if not uses_proxies else [
            self.proxies.add((self._address(index), node.peer), ("127.0.0.1", node.peer))
            for index, node in enumerate(self.nodes)
        ]

    def _address(self, index):
        """Where other nodes reach this one: through its proxy, if there are proxies."""
        return f"127.0.1.{index + 1}" if self.uses_proxies else "127.0.0.1"

    def _make_names(self):
        names = Names(self.folder, {f"node-{name}.holdfast.test": self._address(index) for index, name in enumerate("abc")})
        return names if names.wrapper else None

    def _make_members(self):
        ports = free_ports(6)
        self.client_ports = ports[:3]
        cluster = ",".join(f"e{n}=http://127.0.0.1:{ports[3 + n]}" for n in range(3))
        members = []
        for n in range(3):
            client, peer = (f"http://127.0.0.1:{ports[place + n]}" for place in (0, 3))
            command = ["etcd", "--name", f"e{n}", "--data-dir", str(self.folder / f"e{n}"), "--listen-client-urls", client,
                       "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                       "--initial-cluster", cluster, "--quota-backend-bytes", str(ETCD_QUOTA),
                       # What is written is counted at once: so etcd also does what it then refuses for want of space.
                       "--backend-batch-limit", "1"]
            members.append(Process(f"e{n}", command, self.folder / f"e{n}.log"))
        return members

    def _make_node(self, holdfast, name, index, ttl):
        proxy_ports = free_ports(3)
        lines = [] if not self.uses_proxies else [
            self.proxies.add(("127.0.0.1", port), ("127.0.0.1", member))
            for port, member in zip(proxy_ports, self.client_ports)
        ]
        members = proxy_ports if self.uses_proxies else self.client_ports
        ports = free_ports(5)
        url = "etcd://" + ",".join(f"127.0.0.1:{port}" for port in members) + "/" + PREFIX
        http, dflockd, peer, status, files = (f"127.0.0.1:{port}" for port in ports)
        command = [holdfast, "serve", "--cluster", url, "--cluster-ttl", ttl, "--node", name, "--http", http, "--dflockd",
                   dflockd, "--peer", peer, "--advertise", f"node-{name}.holdfast.test" if self.names else self._address(index),
                   "--status", status, "--grace", "1s", "--log-format", "text"]
        admin_token = f"{self.token}-of-an-admin" if self.token else None
        if self.token:
            command += ["--auth-token-file", self._write_secret("token", self.token)]
            command += ["--admin-token-file", self._write_secret("admin-token", admin_token)]
        if self.has_files:
            command += ["--files", files, "--files-root", str(self.files_root), "--files-shared"]
        wrapper = self.names.wrapper if self.names else ()
        return Node(name, command, self.folder / f"{name}.log", ports, lines, admin_token, wrapper)

    def _write_secret(self, name, secret):
        file = self.folder / name
        file.write_text(secret)
        file.chmod(0o600)
        return str(file)

    def start(self):
        for process in [*self.members, *self.nodes]:
            process.start()
        self.wait_for_service()

    def wait_for_service(self):
        """Until a node leads and all that live pass on to it, or are it."""
        def is_served():
            pictures = [node.look() for node in self.nodes if node.is_alive()]
            leaders = {(picture.get("leader"), picture.get("epoch")) for picture in pictures}
            leads = any(picture.get("role") == "leading" for picture in pictures)
            return leads and len(leaders) == 1
        wait_until(is_served, "a node leads")

    def leader(self):
        for node in self.nodes:
            if node.is_alive() and node.look().get("role") == "leading":
                return node
        return None

    def leaders_key(self):
        """The key of the leader in etcd, or nothing: nobody leads."""
        return self.etcd.find(PREFIX + "/leader")

    def elected(self):
        """The node that has the leader's key, which may not serve yet."""
        key = self.leaders_key()
        name = json.loads(key["value"])["node"] if key else None
        return next((node for node in self.nodes if node.name == name), None)

    def follower(self):
        followers = [node for node in self.nodes if node.is_alive() and node.look().get("role") == "following"]
        return random.choice(followers) if followers else None

    def stop(self, keeps_folder=False):
        for process in [*self.nodes, *self.members]:
            if process.is_alive():
                process.signal(signal.SIGCONT)
                process.kill()
        self.proxies.stop()
        if not keeps_folder:
            shutil.rmtree(self.folder, ignore_errors=True)
