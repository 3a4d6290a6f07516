"""Programs that use the clients of this repository, started as a user would start them."""

import os
import pathlib
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
CLIENTS = REPOSITORY / "clients"

_GO_MOD = """module program

go 1.19

require holdfast/clients/go v0.2.0

replace holdfast/clients/go => {client}
"""


def environment(server_url):
    """What a program needs to find the clients and the server. Nothing is fetched from other machines."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    return {**own, "HOLDFAST_SERVER": server_url, "PYTHONPATH": str(CLIENTS / "python"),
            "PYTHONDONTWRITEBYTECODE": "1", "GOPROXY": "off", "GOFLAGS": "-mod=mod"}


def prepare_python(folder, text):
    """Writes the program to the folder. Returns the command that runs it."""
    (folder / "program.py").write_text(text, encoding="utf-8")
    return [sys.executable, "-u", str(folder / "program.py")]


def prepare_javascript(folder, text):
    """The client is installed as `npm install ./clients/js` does it: by a link."""
    (folder / "node_modules").mkdir()
    (folder / "node_modules/holdfast").symlink_to(CLIENTS / "js")
    (folder / "program.mjs").write_text(text, encoding="utf-8")
    return ["node", str(folder / "program.mjs")]


def prepare_go(folder, text):
    """Builds the program as a module of its own, which names the client by a `replace`."""
    (folder / "go.mod").write_text(_GO_MOD.format(client=CLIENTS / "go"), encoding="utf-8")
    (folder / "main.go").write_text(text, encoding="utf-8")
    subprocess.run(["/usr/bin/go", "build", "-o", "program", "."], cwd=folder, env=environment(""), check=True)
    return [str(folder / "program")]
