#!/usr/bin/env python3
"""Names that are not UTF-8, which earlier versions of the real program have stored.

    stored_names_test.py HOLDFAST

They are listed to the end, told apart by their bytes, and can be renewed, released and ended. New ones are refused.
"""

import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

from rights_test import Server, require

NAMES = 1100
PATIENCE_S = 60
ADMIN = "secret-of-the-admin"


def store(server):
    """The database of the server, with as many leases as there are names."""
    leases = []
    for number in range(NAMES):
        status, lease = server.ask("POST", f"/v1/locks/{number:04}/acquire", ADMIN,
                                   {"owner_id": "ann", "ttl_ms": 600_000})
        require(status == 200, lease)
        leases.append(lease)
    return leases


def rename(database):
    """The first byte of each name is one that no letter has: FF, FE or a letter that is cut off."""
    connection = sqlite3.connect(database)
    connection.execute("UPDATE locks SET lock_name = CAST(CASE CAST(lock_name AS INTEGER) % 3 WHEN 0 THEN x'FF' "
                       "WHEN 1 THEN x'FE' ELSE x'C3' END || CAST(lock_name AS BLOB) AS BLOB)")
    connection.commit()
    require(connection.execute("SELECT count(*) FROM locks WHERE typeof(lock_name) = 'blob'").fetchone() == (NAMES,))
    connection.close()


def encoded(number):
    return "%" + ("FF", "FE", "C3")[number % 3] + f"{number:04}"


def pages(server, limit):
    after, names, count = "", [], 0
    while after is not None:
        status, page = server.ask("GET", f"/v1/locks?limit={limit}&after={after}", ADMIN)
        require(status == 200, page)
        for lock in page["locks"]:
            require(lock["lock_name"] == "\ufffd" + lock["name_bytes"][3:], lock)
            names.append(lock["name_bytes"])
        after = page.get("next")
        count += 1
        require(count <= NAMES // limit + 1, "the listing does not end")
    return names


def main(program):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-stored-names-"))
    secret = folder / "admin.token"
    secret.write_text(ADMIN + "\n")
    secret.chmod(0o600)
    files = folder / "files"
    files.mkdir()
    flags = ["--admin-token-file", str(secret), "--auth-token-file", str(secret), "--files-root", str(files), "--log-format",
             "json"]
    server = Server(program, folder, *flags)
    leases = store(server)
    copy = folder / "copy"
    copy.mkdir()
    with open(copy / "holdfast.db", "wb") as out:
        subprocess.run(["curl", "-sf", "-H", f"Authorization: Bearer {ADMIN}",
                        f"http://127.0.0.1:{server.ports['http']}/v1/backup"], stdout=out, check=True)
    server.stop()
    rename(copy / "holdfast.db")
    # The copy takes the place of the database.
    (folder / "data").rename(folder / "before")
    copy.rename(folder / "data")
    server = Server(program, folder, *flags)

    # Listed to the end, each by its own bytes.
    expected = sorted((encoded(number) for number in range(NAMES)), key=lambda name: bytes.fromhex(name[1:3]) + name[3:].encode())
    for limit in (50, 1000):
        require(pages(server, limit) == expected, "each name once")
    listed = subprocess.run([program, "ls", "--server", f"http://127.0.0.1:{server.ports['http']}", "--token-file", str(secret)],
                            capture_output=True, text=True, timeout=PATIENCE_S, check=True).stdout
    require(listed.count("\\xff") == len([name for name in expected if name.startswith("%FF")]), listed[:400])
    require("\\xfe0001" in listed, listed[:400])

    # Renewed and released by their bytes, and ended by an admin.
    for number in (0, 1, 2):
        path = f"/v1/locks/{encoded(number)}"
        proof = {name: leases[number][name] for name in ("owner_id", "lease_id", "fencing_token")}
        status, told = server.ask("POST", path + "/renew", ADMIN, {**proof, "extend_by_ms": 60_000})
        require(status == 200 and told["renewed"], told)
        require(server.ask("GET", path, ADMIN)[1]["name_bytes"] == encoded(number), "it is shown with its bytes")
        status, told = server.ask("POST", path + "/release", ADMIN, proof)
        require(status == 200 and told["released"], told)
    require(server.ask("DELETE", f"/v1/locks/{encoded(3)}", ADMIN)[1] == {"released": True, "holders": 1}, "forced")
    for number, ended in ((0, "released"), (3, "forced")):
        status, told = server.ask("GET", f"/v1/history?scope={encoded(number)}", ADMIN)
        require([(row["scope"]["name_bytes"], row["ended"]) for row in told["history"]] == [(encoded(number), ended)], told)
    lines = [json.loads(line) for line in server.log_path.read_text().splitlines() if '"released"' in line]
    require([line["name_bytes"] for line in lines] == [encoded(number) for number in range(4)], lines)

    # New ones are refused at every door.
    for method, path, body in (("POST", "/lock?job=%ff0000&client=x", None),
                               ("POST", "/v1/locks/%ff0000/acquire", {"owner_id": "bob", "ttl_ms": 1000}),
                               ("POST", "/v1/locks/%ff0009/acquire", {"owner_id": "bob", "ttl_ms": 1000}),
                               ("POST", "/v1/fence/%ffbucket", {"fencing_token": 1})):
        status, told = server.ask(method, path, ADMIN, body)
        require(status == 400 and "is not UTF-8" in json.dumps(told), told)
    server.stop()
    print(f"{NAMES} names were listed, renewed, released and ended")


main(*sys.argv[1:])
