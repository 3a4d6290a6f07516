"""SIGHUP renews what a node shows to the other nodes and to etcd: everything, or nothing if one file is not good."""

import argparse
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import urllib.request

from lab import Process, free_ports, wait_until


def make_certificate(folder, name, days):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
                    str(days), "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                    str(folder / f"{name}.key"), "-out", str(folder / f"{name}.pem")], check=True, capture_output=True)


class Cluster:
    """One member of etcd that wants a certificate, and one node."""

    def __init__(self, holdfast, folder):
        self.folder = folder
        client, peer, http, dflockd, node, status = free_ports(6)
        self.status = status
        urls = [f"https://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"]
        files = {name: str(folder / name) for name in ("etcd.pem", "etcd.key", "own.pem", "own.key", "peer.pem", "peer.key")}
        self.etcd = Process("etcd", [
            "etcd", "--data-dir", str(folder / "data"), "--listen-client-urls", urls[0], "--advertise-client-urls", urls[0],
            "--listen-peer-urls", urls[1], "--initial-advertise-peer-urls", urls[1], "--initial-cluster", f"default={urls[1]}",
            "--cert-file", files["etcd.pem"], "--key-file", files["etcd.key"], "--trusted-ca-file", str(folder / "trusted.pem"),
            "--client-cert-auth"], folder / "etcd.log")
        self.node = Process("a", [
            holdfast, "serve", "--cluster", f"etcds://127.0.0.1:{client}/x", "--cluster-ca", files["etcd.pem"], "--cluster-cert",
            files["own.pem"], "--cluster-key", files["own.key"], "--node", "a", "--http", f"127.0.0.1:{http}", "--dflockd",
            f"127.0.0.1:{dflockd}", "--peer", f"127.0.0.1:{node}", "--peer-cert", files["peer.pem"], "--peer-key",
            files["peer.key"], "--peer-ca", files["peer.pem"], "--status", f"127.0.0.1:{status}", "--log-format", "text"],
            folder / "node.log")
        self.peer_port = node

    def ask(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.status}{path}", timeout=10) as answer:
            return answer.read().decode()

    def leads(self):
        try:
            return '"role":"leading"' in self.ask("/v1/node")
        except OSError:
            return False

    def days(self):
        found = re.findall(r'^holdfast_certificate_days_left\{shown_to="(\w+)"\} (\S+)', self.ask("/metrics"), re.M)
        return {shown_to: round(float(days)) for shown_to, days in found}

    def hang_up(self, expected):
        """Sends a SIGHUP, and waits for what the log says of it."""
        log = self.folder / "node.log"
        before = log.stat().st_size
        self.node.signal(signal.SIGHUP)
        wait_until(lambda: expected in log.read_text()[before:], expected)

    def shown_to_nodes(self):
        return ssl.get_server_certificate(("127.0.0.1", self.peer_port))


def renew(cluster, folder):
    wait_until(cluster.leads, "the node leads")
    assert cluster.days() == {"nodes": 2, "etcd": 2}, cluster.days()
    first = cluster.shown_to_nodes()
    for name in ("own", "peer"):
        make_certificate(folder, name, 30)
    good = (folder / "own.key").read_text()
    (folder / "own.key").write_text("no key")
    cluster.hang_up("not reloaded")
    assert cluster.days() == {"nodes": 2, "etcd": 2}, "all of them stay as they were"
    assert cluster.shown_to_nodes() == first
    (folder / "own.key").write_text(good)
    (folder / "trusted.pem").write_text((folder / "own.pem").read_text())
    cluster.etcd.kill()  # it reads the certificates that it trusts only when it starts
    cluster.etcd.start()
    cluster.hang_up(" reloaded")
    assert cluster.days() == {"nodes": 30, "etcd": 30}, cluster.days()
    assert cluster.shown_to_nodes() == (folder / "peer.pem").read_text()
    wait_until(cluster.leads, "the node leads again, with the certificate that etcd trusts now")
    assert cluster.node.is_alive()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holdfast", required=True)
    options = parser.parse_args()
    if shutil.which("etcd") is None:
        print("*** SKIPPED: there is no etcd here (apt-get install etcd-server): renewing certificates is not tested ***")
        return 77
    folder = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-renewal-"))
    for name in ("etcd", "own", "peer"):
        make_certificate(folder, name, 2)
    shutil.copy(folder / "own.pem", folder / "trusted.pem")
    cluster = Cluster(options.holdfast, folder)
    try:
        cluster.etcd.start()
        cluster.node.start()
        renew(cluster, folder)
    finally:
        for process in (cluster.node, cluster.etcd):
            if process.is_alive():
                process.kill()
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
