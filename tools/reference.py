#!/usr/bin/env python3
"""The parts of docs/reference that the program itself knows: options, commands, metrics, routes.

    tools/reference.py HOLDFAST            writes them anew
    tools/reference.py HOLDFAST --check    says what differs; a test does so

Pages are written by hand, but for what stands between `<!-- made from ... -->` and `<!-- end -->`. The mark says what goes
there: `options of serve: http dflockd` (a table of these), `the other commands`, `metrics of a server`,
`metrics of the files`, `metrics of a node`, or `routes: TAG`.
"""

import difflib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
REFERENCE = REPOSITORY / "docs/reference"
MARK = re.compile(r"(<!-- made from (.*?) -->\n).*?(<!-- end -->)", re.S)
PATIENCE_S = 60

OPTION = re.compile(r"^  (?P<names>-[^ =]+?)(?:\{\w+\})?(?: (?P<value>[A-Z][A-Z:]*))?(?::[^ =]*(?: \[[^\]]*\])?)?(?:=(?P<default>\S+))?"
                    r"(?: (?P<required>REQUIRED))?(?: \(Env:(?P<variable>\w+)\))?(?: Excludes: \S+)?(?: +(?P<help>\S.*))?$")


def ask(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout


# ---- options and commands, from --help ------------------------------------------------------------------------------


def sections_of(help_text):
    """The lines below each heading of a help, up to a blank one: {"Options": [..], ..}; "" has the rest."""
    sections, heading = {"": []}, ""
    for line in help_text.splitlines():
        if re.fullmatch(r"[A-Z][A-Za-z ]*:", line):
            heading = line[:-1]
            sections[heading] = []
        elif line:
            sections[heading].append(line)
        else:
            heading = ""
    return sections


def options_of(lines):
    """What a help says of options: dictionaries with names, value, default, variable and help."""
    options = []
    for line in lines:
        if line.startswith("   "):
            options[-1]["help"] = ((options[-1]["help"] or "") + " " + line.strip()).strip()
        elif line.lstrip().startswith("-"):
            found = re.sub(r":(POSITIVE|NONNEGATIVE|in \[[^\]]*\]|\{[^}]*\})", "", line)
            found = re.sub(r"(UINT|FLOAT|INT)(?==| |$)", "N", found)
            match = OPTION.match(found)
            if match is None:
                raise SystemExit(f"this line of a help is not understood: {line!r}")
            options.append(match.groupdict())
    return [option for option in options if "--help" not in option["names"]]


def code(text):
    return f"`{text}`" if text else ""


def cell(text):
    return (text or "").replace("|", "\\|")


def option_name(option):
    names = option["names"].replace(",", "`, `")
    return code(names + (" " + option["value"] if option["value"] else ""))


def option_table(options):
    rows = [f"| {option_name(o)} | {code(o['variable'])} | {code(o['default'])} | {cell(o['help'])} |" for o in options]
    return "\n".join(["| option | variable | default | |", "|---|---|---|---|", *rows]) + "\n"


def first_name(option):
    return option["names"].split(",")[0].removeprefix("--")


def serve_table(program, names):
    known = {first_name(o): o for o in options_of(sections_of(ask(program, "serve", "--help"))["Options"])}
    missing = [name for name in names if name not in known]
    if missing:
        raise SystemExit(f"serve has no option {missing}")
    return option_table([known[name] for name in names])


def serve_options(program):
    return {first_name(o) for o in options_of(sections_of(ask(program, "serve", "--help"))["Options"])}


def commands_of(program, words=()):
    """All commands below `words`, in the order of the help: lists of words."""
    found = []
    for heading, lines in sections_of(ask(program, *words, "--help")).items():
        if heading in ("Subcommands", "Commands that talk to a server"):
            for line in lines:
                if not line.startswith("   "):
                    own = [*words, line.split()[0]]
                    found += [own, *commands_of(program, own)]
    return found


def describe_command(program, words):
    sections = sections_of(ask(program, *words, "--help"))
    summary, usage = sections[""][0], sections[""][1].removeprefix("Usage: ")
    text = [f"### holdfast {' '.join(words)}", "", summary[0].upper() + summary[1:] + ".", "", code(usage), ""]
    positionals = "\n".join(sections.get("Positionals", []))
    arguments = re.findall(r"^  (\S+)[^\n]*?(?: {2,}|\n {3,})([^\n]+)$", positionals, re.M)
    if arguments:
        text += ["| argument | |", "|---|---|", *[f"| `{name}` | {cell(about)} |" for name, about in arguments], ""]
    options = options_of(sections.get("Options", []))
    if options:
        text += [option_table(options)]
    return "\n".join(text).rstrip() + "\n"


def other_commands(program):
    commands = [words for words in commands_of(program) if words not in (["serve"], ["config"])]
    server = options_of(sections_of(ask(program, "ls", "--help"))["Server"])
    return ("### Options of every command that talks to a server\n\n" + option_table(server) + "\n"
            + "\n".join(describe_command(program, words) for words in commands))


# ---- metrics, from servers that run ---------------------------------------------------------------------------------


class Process:
    """A server in the background, until the end of the block."""

    def __init__(self, *words):
        self._words = words

    def __enter__(self):
        self._log = tempfile.NamedTemporaryFile("w+", prefix="reference-")
        self._process = subprocess.Popen(self._words, stdout=self._log, stderr=self._log)
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._log.close()

    def printed(self):
        return pathlib.Path(self._log.name).read_text(encoding="utf-8")

    def address(self, listener):
        pattern = re.compile(rf"^listening {listener} (\S+)$", re.M)
        deadline = time.monotonic() + PATIENCE_S
        while not (found := pattern.search(self.printed())):
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise SystemExit(f"{self._words} did not start:\n{self.printed()}")
            time.sleep(0.05)
        return found[1]


def families_of(address):
    """Name, kind, help and labels of every metric, in their order. The first request is one that is counted in them."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    opener.open(f"http://{address}/healthz").close()
    request = urllib.request.Request(f"http://{address}/metrics", headers={"Authorization": "Bearer token"})
    with opener.open(request) as answer:
        text = answer.read().decode()
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    labels = {}
    for name, found in re.findall(r"^(\w+?)(?:_bucket|_sum|_count)?\{(.*)\} ", text, re.M):
        labels.setdefault(name, dict.fromkeys(re.findall(r'(\w+)="', found)))
    return [(name, kinds[name], about, [label for label in labels.get(name, {}) if label != "le"])
            for name, about in re.findall(r"^# HELP (\S+) (.*)$", text, re.M)]


def metrics(program):
    """The metrics of a server, of the files, and of a node; each only where it is new."""
    common = ["--http", "127.0.0.1:0", "--dflockd", "none", "--log-level", "off"]
    with tempfile.TemporaryDirectory() as folder:
        token = pathlib.Path(folder, "token")
        token.write_text("token\n", encoding="utf-8")
        token.chmod(0o600)
        with Process(program, "serve", *common, "--memory") as server:
            alone = families_of(server.address("http"))
        with Process(program, "serve", *common, "--memory", "--files", "127.0.0.1:0", "--files-root", f"{folder}/files",
                     "--files-quota", "1000000", "--auth-token-file", str(token)) as server:
            address = server.address("http")
            login = urllib.request.Request(f"http://{server.address('files')}/auth/session", method="POST",
                                           headers={"Authorization": "Bearer token"})
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(login).close()
            files = families_of(address)
        node = metrics_of_a_node(program, common, folder)
    return {"metrics of a server": alone, "metrics of the files": [one for one in files if one[0] not in dict_of(alone)],
            "metrics of a node": [one for one in node if one[0] not in dict_of(alone)]}


def dict_of(families):
    return {family[0] for family in families}


def metrics_of_a_node(program, common, folder):
    """A cluster of one node, on an etcd of its own."""
    sockets = [f"http://127.0.0.1:{port}" for port in free_ports(2)]
    etcd = ["/usr/bin/etcd", "--data-dir", f"{folder}/etcd", "--listen-client-urls", sockets[0], "--advertise-client-urls",
            sockets[0], "--listen-peer-urls", sockets[1], "--initial-advertise-peer-urls", sockets[1],
            "--initial-cluster", f"default={sockets[1]}"]
    peer = f"127.0.0.1:{free_ports(1)[0]}"
    cluster = ["--cluster", sockets[0].replace("http", "etcd") + "/h", "--peer", peer, "--status", "127.0.0.1:0"]
    with Process(*etcd), Process(program, "serve", *common, *cluster) as node:
        address = node.address("status")
        deadline = time.monotonic() + PATIENCE_S
        while True:
            families = families_of(address)
            if "holdfast_cluster_leading" in dict_of(families) or time.monotonic() > deadline:
                return families
            time.sleep(0.1)


def free_ports(count):
    import socket
    open_ones = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in open_ones]
    for one in open_ones:
        one.close()
    return ports


def metric_table(families):
    rows = []
    for name, kind, about, labels in families:
        shown = name + ("{" + ",".join(labels) + "}" if labels else "")
        rows.append(f"| `{shown}` | {kind} | {cell(about)} |")
    return "\n".join(["| metric | kind | |", "|---|---|---|", *rows]) + "\n"


# ---- routes, from the OpenAPI document ------------------------------------------------------------------------------


# Where the right depends on the request.
OTHER_NEEDS = {("delete", "/v1/terraform/{name}/lock"): "`lock`; `admin` if the request names no ID"}


def routes():
    """Rows of a table, by the tag of their route."""
    document = json.loads((REPOSITORY / "src/app/http/openapi.json").read_text(encoding="utf-8"))
    by_tag = {}
    for path, methods in document["paths"].items():
        for method, about in methods.items():
            if method == "parameters":
                continue
            # At /lock, 403 also means that somebody else holds the lock.
            said_above = ("401", "405") if path == "/lock" else ("401", "403", "405")
            statuses = " ".join(sorted(status for status in about["responses"] if status not in said_above))
            needs = f"`{about['x-right']}`" if "x-right" in about else "nothing"
            needs = OTHER_NEEDS.get((method, path), needs)
            row = f"| `{method.upper()} {path}` | {cell(about['summary'])} | {needs} | {statuses} |"
            by_tag.setdefault(about["tags"][0], []).append(row)
    return by_tag


def route_table(rows):
    return "\n".join(["| request | | needs | statuses |", "|---|---|---|---|", *rows]) + "\n"


# ---- the pages ------------------------------------------------------------------------------------------------------


def made(program):
    """What belongs under a mark, by its text."""
    by_tag, families = routes(), metrics(program)

    def find(mark):
        if mark.startswith("options of serve: "):
            return serve_table(program, mark.partition(": ")[2].split())
        if mark == "the other commands":
            return other_commands(program)
        if mark in families:
            return metric_table(families[mark])
        if mark.startswith("routes: "):
            return route_table(by_tag[mark.partition(": ")[2]])
        raise SystemExit(f"nothing is known that is called {mark!r}")

    return find


def main(program, is_check):
    find, faults = made(program), 0
    for path in sorted(REFERENCE.glob("*.md")):
        old = path.read_text(encoding="utf-8")
        new = MARK.sub(lambda match: match[1] + find(match[2]) + match[3], old)
        if new == old:
            continue
        faults += 1
        if is_check:
            name = str(path.relative_to(REPOSITORY))
            print("".join(difflib.unified_diff(old.splitlines(True), new.splitlines(True), name, name + ", as it should be")))
        else:
            path.write_text(new, encoding="utf-8")
            print(f"wrote {path.relative_to(REPOSITORY)}")
    return faults if is_check else 0


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1], "--check" in sys.argv[2:]) else 0)
