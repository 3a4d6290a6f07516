"""The server's OpenAPI document, checked by itself and held against what a server answers."""

import json
import re

from jsonschema import Draft202012Validator

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
OPERATION_FIELDS = {"tags", "summary", "description", "operationId", "parameters", "requestBody", "responses",
                    "security", "x-right"}
PATH_ITEM_FIELDS = METHODS | {"parameters", "summary", "description"}
DOCUMENT_FIELDS = {"openapi", "info", "servers", "security", "tags", "paths", "components"}


def require(condition, *about):
    if not condition:
        raise AssertionError(" ".join(str(one) for one in about))


def references(node):
    """Every $ref below a node."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref":
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


class Document:
    def __init__(self, text):
        self.text = text
        self.root = json.loads(text)
        self.seen = set()  # (method, path, status)

    def resolve(self, node):
        while "$ref" in node:
            node = self.find(node["$ref"])
        return node

    def find(self, reference):
        require(reference.startswith("#/"), reference, "leads out of the document")
        node = self.root
        for part in reference[2:].split("/"):
            require(part in node, reference, "leads nowhere")
            node = node[part]
        return node

    def operations(self):
        for path, item in self.root["paths"].items():
            for method in METHODS & item.keys():
                yield method, path, item[method]

    def validator(self, schema):
        # The components come along, so that references into them are found.
        return Draft202012Validator({"allOf": [schema], "components": self.root["components"]})

    # The document by itself.

    def check_structure(self):
        root = self.root
        require(re.fullmatch(r"3\.1\.\d+", root["openapi"]), "openapi is", root["openapi"])
        require(root.keys() <= DOCUMENT_FIELDS, "unknown fields in", root.keys())
        require(root["info"].keys() >= {"title", "version"}, "info is incomplete")
        for server in root["servers"]:
            require("url" in server, "a server without an url")
        for reference in references(root):
            self.find(reference)
        self.check_components()
        names = [operation["operationId"] for _, _, operation in self.operations()]
        require(len(names) == len(set(names)), "an operationId is used twice")
        for path, item in root["paths"].items():
            require(path.startswith("/"), path)
            require(item.keys() <= PATH_ITEM_FIELDS, path, "has unknown fields")
        for method, path, operation in self.operations():
            self.check_operation(f"{method} {path}", path, operation)

    def check_components(self):
        used = set(references(self.root))
        for group, components in self.root["components"].items():
            for name in components:
                reference = f"#/components/{group}/{name}"
                is_used = group == "securitySchemes" or reference in used
                # These describe the lines of a stream, which has no schema of its own.
                is_used = is_used or name in ("LockEvent", "FenceRefused", "Audit", "DeadlockTold", "EventKind")
                require(is_used, reference, "is not used")
        for name, schema in self.root["components"]["schemas"].items():
            Draft202012Validator.check_schema(schema)
            if schema.get("type") == "object":
                require(schema.get("additionalProperties") is False, name, "is open to other fields")
                require(set(schema.get("required", ())) <= schema["properties"].keys(), name,
                        "requires an unknown field")

    def check_operation(self, name, path, operation):
        require(operation.keys() <= OPERATION_FIELDS, name, "has unknown fields")
        require(operation.get("summary"), name, "has no summary")
        tags = {tag["name"] for tag in self.root["tags"]}
        require(operation["tags"] and set(operation["tags"]) <= tags, name, "has unknown tags")
        for requirement in operation.get("security", self.root["security"]):
            require(requirement.keys() <= self.root["components"]["securitySchemes"].keys(), name)
        parameters = [self.resolve(one) for one in
                      self.root["paths"][path].get("parameters", []) + operation.get("parameters", [])]
        in_path = {one["name"] for one in parameters if one["in"] == "path"}
        require(in_path == set(re.findall(r"{(\w+)}", path)), name, "has other parameters than its path")
        for parameter in parameters:
            require(parameter["in"] in ("query", "header", "path"), name, parameter)
            require(parameter["in"] != "path" or parameter["required"], name, parameter)
            Draft202012Validator.check_schema(parameter["schema"])
        if "requestBody" in operation:
            self.check_content(name, operation["requestBody"]["content"])
        for status, response in operation["responses"].items():
            require(re.fullmatch(r"[1-5]\d\d", status), name, status)
            response = self.resolve(response)
            require(response.get("description"), name, status, "has no description")
            self.check_content(f"{name} {status}", response["content"])

    def check_content(self, name, content):
        for kind, media in content.items():
            require(re.fullmatch(r"[\w-]+/[\w.-]+", kind), name, kind)
            Draft202012Validator.check_schema(media["schema"])
            examples = [one["value"] for one in media.get("examples", {}).values()]
            for example in examples + [media[key] for key in ("example",) if key in media]:
                self.validator(media["schema"]).validate(example)

    # The document and a server.

    def check_request(self, method, path, body):
        """A request that is meant well is one that the document allows."""
        operation = self.root["paths"][path][method.lower()]
        self.validator(operation["requestBody"]["content"]["application/json"]["schema"]).validate(body)

    def check_answer(self, method, path, answer):
        name = f"{method} {path} {answer.status}"
        item = self.root["paths"][path]
        asked = [method.lower()] if method.lower() in item else sorted(METHODS & item.keys())
        for one in asked:
            responses = item[one]["responses"]
            require(str(answer.status) in responses, name, "is not documented:", answer.text)
            response = self.resolve(responses[str(answer.status)])
            for header, terms in response.get("headers", {}).items():
                require(header in answer.headers or not terms.get("required"), name, "lacks", header)
            kind = answer.headers["Content-Type"].split(";")[0]
            require(kind in response["content"], name, "is of the undocumented type", kind)
            if kind == "application/json":
                require(answer.text.endswith("}\n"), name, "does not end in a newline")
                schema = response["content"][kind]["schema"]
                errors = [error.message for error in self.validator(schema).iter_errors(answer.json())]
                require(not errors, name, "is not as documented:", errors, answer.text)
            self.seen.add((one, path, str(answer.status)))

    def check_event(self, kind, data):
        self.validator({"$ref": "#/components/schemas/EventKind"}).validate(kind)
        if kind != "gap":
            schema = {"fence_refused": "FenceRefused", "audit": "Audit", "deadlock": "DeadlockTold"}.get(kind, "LockEvent")
            self.validator({"$ref": "#/components/schemas/" + schema}).validate(json.loads(data))

    def check_everything_was_seen(self):
        documented = {(method, path, status) for method, path, operation in self.operations()
                      for status in operation["responses"]}
        require(self.seen <= documented, self.seen - documented)
        require(self.seen == documented, "never exercised:", sorted(documented - self.seen))
