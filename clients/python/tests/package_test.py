#!/usr/bin/env python3
"""The package as such: its types, its installation, and the story in its README.

    package_test.py HOLDFAST [unittest's arguments]
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import support
from support import PACKAGE, PATIENCE_S, ServerTest

import holdfast
from holdfast import aio


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=5 * PATIENCE_S, **options)


class Package(ServerTest):
    def setUp(self):
        pass

    def test_its_types_are_strict(self):
        checked = run(sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(self.folder()), "holdfast",
                      cwd=PACKAGE)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""), checked.stdout)

    def test_its_users_get_the_types(self):
        program = self.folder() / "program.py"
        program.write_text("import holdfast\nfrom holdfast import aio\n"
                           "client = holdfast.Client()\n"
                           "@client.locked('x')\ndef work(number: int) -> str:\n    return str(number)\n"
                           "reveal_type(work)\nreveal_type(client.try_lock('x'))\n"
                           "async def main(client: aio.Client) -> None:\n"
                           "    async with client.lock('x') as guard:\n        reveal_type(guard)\n")
        checked = run(sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(self.folder()), str(program),
                      env={**os.environ, "MYPYPATH": str(PACKAGE)})
        revealed = re.findall(r'Revealed type is "(.*)"', checked.stdout)
        self.assertEqual(revealed, ["def (number: builtins.int) -> builtins.str",
                                    "Union[holdfast.lock.LeaseGuard, None]", "holdfast.aio.lock.LeaseGuard"])

    def test_it_is_installed_with_all_its_parts(self):
        folder = self.folder()
        shutil.copytree(PACKAGE, folder / "source", ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        # Nothing is fetched: the environment sees the setuptools of the system, which build the package.
        made = run(sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", str(folder / "venv"))
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
        pip = [str(folder / "venv/bin/python"), "-m", "pip", "--disable-pip-version-check", "--no-cache-dir"]
        wheel = run(*pip, "wheel", "--no-index", "--no-build-isolation", "--no-deps", "-w", str(folder),
                    str(folder / "source"))
        self.assertTrue((folder / f"holdfast-{holdfast.__version__}-py3-none-any.whl").exists(), wheel.stderr)
        installed = run(*pip, "install", "--no-index", "--no-build-isolation", str(folder / "source"))
        self.assertEqual(installed.returncode, 0, installed.stderr)

        used = run(str(folder / "venv/bin/python"), "-c", "import holdfast.aio; print(holdfast.__file__)", cwd=folder,
                   env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"})
        self.assertTrue(used.stdout.startswith(str(folder / "venv")), used.stdout + used.stderr)
        place = pathlib.Path(used.stdout.strip()).parent.parent
        modules = {path.relative_to(PACKAGE) for path in (PACKAGE / "holdfast").rglob("*.py")}
        self.assertEqual({path.relative_to(place) for path in (place / "holdfast").rglob("*.py")}, modules)
        self.assertTrue((place / "holdfast/py.typed").exists())

    def test_it_needs_nothing_but_the_standard_library(self):
        names = set()
        for path in (PACKAGE / "holdfast").rglob("*.py"):
            names.update(re.findall(r"^(?:from|import) ([a-z_]+)", path.read_text(encoding="utf-8"), re.M))
        names.discard("holdfast")
        self.assertEqual({name for name in names if name not in sys.stdlib_module_names}, set())

    def test_both_clients_have_the_same_names(self):
        for blocking, asynchronous in ((holdfast.Client, aio.Client), (holdfast.Lock, aio.Lock),
                                       (holdfast.LeaseGuard, aio.LeaseGuard),
                                       (holdfast.Leadership, aio.Leadership)):
            names = [{name for name in dir(one) if not name.startswith("_")} for one in (blocking, asynchronous)]
            self.assertEqual(names[0] - {"lost"}, names[1] - {"lost"})  # an attribute of one, a property of the other


class Readme(ServerTest):
    def test_its_programs_run_and_print_what_it_says(self):
        text = (PACKAGE / "README.md").read_text(encoding="utf-8")
        examples = re.findall(r"```python\n(.*?)```\n.*?```text\n(.*?)```", text, re.S)
        self.assertEqual(len(examples), text.count("```python"))
        for program, output in examples:
            ran = run(sys.executable, "-c", program,
                      env={**os.environ, "HOLDFAST_SERVER": self.server.url, "PYTHONPATH": str(PACKAGE)})
            self.assertEqual((ran.stderr, ran.stdout), ("", output))


if __name__ == "__main__":
    support.main()
