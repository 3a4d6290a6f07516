"""The states of Terraform and their locks, held against the OpenAPI document."""

from openapi_document import require

STATE = "/v1/terraform/{name}"


def info(lock_id):
    return {"ID": lock_id, "Operation": "OperationTypeApply", "Info": "", "Who": "ann@box"}


def states(server):
    server.ask("GET", "/v1/terraform", 200)
    for method, path in (("GET", STATE), ("DELETE", STATE), ("GET", STATE + "/versions")):
        server.ask(method, path, 404)
    server.ask("POST", STATE + "/lock", 200, body=info("a"))
    server.ask("POST", STATE + "/lock", 423, body=info("b"))
    server.ask("DELETE", STATE + "/lock", 409, body=info("b"))
    server.ask("POST", STATE, 423, body='{"serial": 1}\n')
    server.ask("POST", STATE, 200, at="/v1/terraform/x?ID=a", body='{"serial": 1}\n')
    server.ask("DELETE", STATE, 423)
    server.ask("POST", STATE + "/rollback", 423, at="/v1/terraform/x/rollback?version=1")
    server.ask("DELETE", STATE + "/lock", 200, body=info("a"))
    server.ask("POST", STATE + "/rollback", 200, at="/v1/terraform/x/rollback?version=1&ID=")
    server.ask("POST", STATE + "/rollback", 404, at="/v1/terraform/x/rollback?version=9")
    require(server.ask("GET", STATE, 200).text == '{"serial": 1}\n')
    server.ask("DELETE", STATE, 200)
    server.ask("GET", STATE + "/versions", 200)
    server.ask("GET", "/v1/terraform", 200)


def states_refused(server):
    for method, path in (("GET", STATE), ("POST", STATE), ("DELETE", STATE), ("GET", STATE + "/versions"),
                         ("POST", STATE + "/rollback")):
        server.ask(method, path, 400, at=path.replace("{name}", "%FF"), body="{}" if path == STATE else None)
    for method in ("POST", "DELETE"):
        server.ask(method, STATE + "/lock", 400, body={}, is_valid=False)
    server.ask("POST", STATE + "/lock", 413, body={"ID": "a", "Info": "x" * 2000})
    server.ask("POST", STATE, 413, headers={"Content-Length": str((1 << 30) + 1)})
    for path in ("/v1/terraform", STATE, STATE + "/lock", STATE + "/versions", STATE + "/rollback"):
        server.ask("PUT", path, 405)


def states_without_a_folder(server):
    """REQUIRES: the folder of the states cannot be used."""
    for method, path, body in (("GET", "/v1/terraform", None), ("GET", STATE, None), ("POST", STATE, "{}"),
                               ("DELETE", STATE, None), ("POST", STATE + "/lock", info("a")),
                               ("DELETE", STATE + "/lock", info("a")), ("GET", STATE + "/versions", None)):
        server.ask(method, path, 503, body=body)
    server.ask("POST", STATE + "/rollback", 503, at="/v1/terraform/x/rollback?version=1")
