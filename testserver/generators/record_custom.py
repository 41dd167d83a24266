#!/usr/bin/env python3
"""Prints how the genuine server answers requests about custom resources: a request a line, in order.

    record_custom.py KUBECONFIG > ../server/tests/it/recorded/custom_resources.jsonl
"""
import json
import sys
import time

from genuine import Server

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
STR = {"type": "string"}
VOLATILE = {"uid", "resourceVersion", "creationTimestamp", "time", "lastTransitionTime"}


def definition(plural, schema, group="mini.example.com", **version):
    kind = plural.title()
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": kind, "listKind": kind + "List", "singular": plural},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}]}}


def spec(**properties):
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


ITEM = {"type": "object", "properties": {"x": STR}}
# A schema with values of every shape.
SHAPES = spec(a={"type": "object", "properties": {"b": STR}}, s=STR, n={**STR, "nullable": True}, i={"type": "integer"}, b={"type": "boolean"}, f={"type": "number"}, m={"type": "object", "additionalProperties": STR},
              l={"type": "array", "items": ITEM}, ll={"type": "array", "items": {"type": "array", "items": ITEM}}, o={"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"x": STR}},
              ls={"type": "array", "x-kubernetes-list-type": "set", "items": STR}, ios={"x-kubernetes-int-or-string": True}, nm={**ITEM, "nullable": True}, nl={"type": "array", "nullable": True, "items": STR},
              lm={"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "required": ["k"], "properties": {"k": STR, "v": STR, "d": {"type": "array", "items": ITEM}}}},
              pu={"type": "object", "x-kubernetes-preserve-unknown-fields": True}, one={"type": "array", "maxItems": 1, "items": STR})
ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definitions():
    """Of definitions: what stays, conditions, warnings."""
    for name, version in [("empties", {"subresources": {}}), ("nothings", {"subresources": None}), ("nulls", {"subresources": {"status": None}}), ("statuses", {"subresources": {"status": {}}})]:
        yield "POST", f"{CRDS}?dryRun=All", definition(name, ANY, **version)
    for name, field in [("lists", {"type": "array", "items": STR, "default": []}), ("objects", {"type": "object", "default": {}}), ("deeps", {"type": "object", "default": {"a": []}, "properties": {"a": {"type": "array", "items": STR}}})]:
        yield "POST", f"{CRDS}?dryRun=All", definition(name, spec(v=field))
    for name, field in [("foos", {**STR, "format": "foo"}), ("bars", {"type": "array", "items": {"type": "integer", "format": "double"}}), ("ipvs", {**STR, "format": "ipv4"}), ("knots", {**STR, "not": {"format": "zoo"}})]:
        yield "POST", f"{CRDS}?dryRun=All", definition(name, spec(v=field))
    yield "POST", f"{CRDS}?dryRun=All", definition("keyless", spec(v={"type": "array", "x-kubernetes-list-type": "map", "items": STR}))
    yield "POST", CRDS, {**definition("goods", ANY, group="things.k8s.io"), "metadata": {"name": "goods.things.k8s.io", "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/1"}}}
    yield "POST", CRDS, {**definition("wilds", ANY, group="things.k8s.io"), "metadata": {"name": "wilds.things.k8s.io", "annotations": {"api-approved.kubernetes.io": "unapproved, experimental"}}}
    for name in ["goods", "wilds"]:
        yield "CONDITIONS", f"{CRDS}/{name}.things.k8s.io", None


def test(name="t", **members):
    return {"apiVersion": "mini.example.com/v1", "kind": "Tests", "metadata": {"name": name}, **members}


TESTS = "/apis/mini.example.com/v1/namespaces/default/tests"


def objects():
    """Of objects: unknown fields, warnings of refused requests, metadata. PUT is with the current resourceVersion, REPLACE without."""
    yield "POST", CRDS, definition("tests", SHAPES)
    for body in [{"s": 1, "unknown": 2}, {"s": {"q": 1}}, {"l": [{"x": {"y": 1}, "z": 1}]}, {"l": [[{"x": 1}]]}, {"m": {"k": {"a": 1}}}, {"i": [{"z": 1}]}, {"nope": {"a": 1}}, {"ls": ["a", "a"], "zz": 1}, {"ios": {"a": 1}}, {"pu": {"a": 1}}, {"one": ["a", "b"]}, [{"a": 1}], "x"]:
        for query in ["", "&fieldValidation=Strict", "&fieldValidation=Ignore"]:
            yield "POST", f"{TESTS}?dryRun=All{query}", test(spec=body)
    wrong = [{"labels": ""}, {"labels": []}, {"labels": {"a": 1}}, {"name": 5}, {"namespace": ["a"]}, {"annotations": 5}, {"annotations": {"a": {}}}, {"finalizers": "a"}, {"finalizers": [1]}, {"ownerReferences": {}}, {"ownerReferences": ["x"]}, {"generation": "x"}, {"creationTimestamp": 5}, {"creationTimestamp": "x"},
             {"deletionGracePeriodSeconds": "x"}, {"managedFields": {}}, {"managedFields": [{"time": "x"}]}, {"uid": 5}, {"resourceVersion": 5}, {"generateName": []}, {"selfLink": 5}, {"foo": 5}, {"labels": {"a": None}}, {"labels": None},
             {"ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u", "controller": "x"}]}, {"labels": "", "namespace": ["a"]}, {"finalizers": ["a"]}]
    for metadata in wrong:
        for query in ["", "&fieldValidation=Strict"]:
            yield "POST", f"{TESTS}?dryRun=All{query}", {**test(spec={}), "metadata": {"name": "t", **metadata}}
    for metadata in ["x", 5, [], None, True]:
        yield "POST", f"{TESTS}?dryRun=All", {**test(spec={}), "metadata": metadata}
    yield "POST", TESTS, test(spec={"s": "a"})
    for patch in [{"spec": {"s": 1, "unk": 2}}, {"spec": {"s": {"q": 1}}}]:
        yield "PATCH", f"{TESTS}/t?dryRun=All", patch
    yield "PUT", f"{TESTS}/t?dryRun=All", test(spec={"s": 1, "unk": 2})
    for query in ["", "&fieldValidation=Strict"]:
        yield "REPLACE", f"{TESTS}/t?dryRun=All{query}", test(spec={"s": "b", "unk": 2})
        yield "REPLACE", f"{TESTS}/t?dryRun=All{query}", {**test(spec={"s": "b", "unk": 2}), "metadata": {"name": "t", "resourceVersion": "1"}}


def applied():
    """Of server-side apply: nulls, and everything that does not match the schema."""
    yield "APPLY", f"{TESTS}/n?fieldManager=m", test("n", spec={"a": {"b": "x"}})
    yield "APPLY", f"{TESTS}/n?fieldManager=o", test("n", spec={"a": None})
    yield "PATCH", f"{TESTS}/t", {"spec": {"s": "a", "a": {"b": "x"}, "i": 1, "n": "x", "m": {"k": "v"}, "o": {"x": "1"}, "ls": ["a"], "lm": [{"k": "a", "v": "b"}], "nm": {"x": "1"}, "nl": ["a"], "b": True}}
    nulls = [{"s": None}, {"n": None}, {"i": None}, {"m": None}, {"m": {"k": None}}, {"o": None}, {"ls": None}, {"lm": None}, {"lm": [{"k": "a", "v": None}]}, {"nm": None}, {"nl": None}, {"a": None}, {"a": {"b": None}}, {"f": None}, {"pu": None}, {"pu": {"a": None}}, None]
    wrong = [{"l": [{"y": 1}]}, {"l": [{"x": "1", "y": 1}, {"q": 1}]}, {"l": [{"x": 1}]}, {"l": [{"x": {"a": 1}}, {"x": [1]}, 5, "a", None]}, {"ll": [[{"y": 1}]]}, {"ll": [5]}, {"zz": 1}, {"s": 1}, {"s": 1.5}, {"s": 1.0}, {"s": 1e21}, {"s": True}, {"s": ["a", 1, {"b": 2}]},
             {"s": {"b": 1, "a": [1, "x", None]}}, {"s": {}}, {"s": []}, {"i": "x"}, {"i": True}, {"i": {"a": 1}}, {"i": ""}, {"b": "x"}, {"b": 1}, {"f": "x"}, {"a": "x"}, {"a": ["x"]}, {"a": 5}, {"l": "x"}, {"l": {"a": 1}}, {"m": {"k": 1}}, {"m": [1]}, {"o": "x"}, {"o": {"x": 1}}, {"o": {"y": 1}},
             {"ls": "x"}, {"ls": [1]}, {"ls": [{"a": 1}]}, {"ls": [["a"]]}, {"ls": ["a", "a"]}, {"ls": [None]}, {"lm": {"a": 1}}, {"lm": ["x"]}, {"lm": [{"v": "x"}]}, {"lm": [{"k": "a"}, {"k": "b"}, {"k": "a"}, {"k": "b"}]}, {"lm": [{"k": "a", "z": 1}]}, {"lm": [{"k": "a", "v": 1}]}, {"lm": [{"k": 1}]},
             {"lm": [None]}, {"lm": [{"k": "a", "d": [{"y": 1}]}]}, {"s": 1, "i": "x", "a": 5}, {"s": 1, "l": [{"y": 1}], "lm": [{"k": "a", "z": 1}]}, {"nm": 5}, {"nl": {"a": 1}}, {"i": "a\"b\n<>&"}]
    for body in [*nulls, *wrong]:
        for force in ["", "&force=true"]:
            yield "APPLY", f"{TESTS}/t?fieldManager=m&dryRun=All{force}", test(spec=body)
    yield "APPLY", f"{TESTS}/t?fieldManager=m&dryRun=All", {**test(), "metadata": {"name": "t", "labels": {"a": 1}}}
    yield "APPLY", f"{TESTS}/t?fieldManager=m&dryRun=All", test(spec={"lm": [{"k": "<a&b>"}], "m": {"<x>": "1"}, "ls": ["<&>"]})


def scaled():
    """Of replica counts."""
    count = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
    yield "POST", CRDS, definition("scales", {"type": "object", "properties": {"spec": count, "status": count}}, subresources={"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}})
    path = TESTS.replace("tests", "scales")

    def scale(name, **members):
        return {**test(name, **members), "kind": "Scales"}
    yield "POST", path, scale("t", spec={"replicas": -1})
    yield "POST", f"{path}?dryRun=All", scale("u", spec={}, status={"replicas": -1})
    yield "POST", path, scale("ok", spec={"replicas": 1})
    for patch, part in [({"spec": {"replicas": -1}}, ""), ({"status": {"replicas": -1}}, "/status"), ({"spec": {"replicas": 3_000_000_000}}, ""), ({"spec": {"replicas": -1}}, "/scale")]:
        yield "PATCH", f"{path}/ok{part}", patch
    yield "APPLY", f"{path}/ok?fieldManager=x&force=true", scale("ok", spec={"replicas": -3})


HARD = {"type": "object", "description": "A hard kind.", "required": ["spec"], "properties": {
    "apiVersion": {**STR, "description": "own text"}, "kind": STR, "metadata": {"type": "object", "properties": {"name": {**STR, "pattern": "^a"}}},
    "spec": {"type": "object", "description": "What is wanted.", "required": ["a"], "x-kubernetes-validations": [{"rule": "self.a != 'x'", "message": "no x"}], "properties": {
        "a": {**STR, "description": "A text.\nWith lines.", "enum": ["a", "b"], "default": "a", "minLength": 1, "maxLength": 5, "pattern": "^[ab]"},
        "emb": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True, "description": "An object."},
        "emb2": {"type": "object", "x-kubernetes-embedded-resource": True, "required": ["spec"], "properties": {"spec": {"type": "object"}, "metadata": {"type": "object", "properties": {"name": STR}}}},
        "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "required": ["k"], "properties": {"k": STR, "v": {"type": "integer", "format": "int32", "minimum": 1, "exclusiveMinimum": True}}}},
        "m": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "number"}}}, "ios": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": "x"},
        "raw": {"x-kubernetes-preserve-unknown-fields": True, "description": "anything"}, "p": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"x": STR}},
        "any": {"type": "object", "anyOf": [{"required": ["x"]}, {"required": ["y"]}], "properties": {"x": STR, "y": STR}}, "at": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"x": STR}},
        "nl": {"type": "array", "nullable": True, "items": {**STR, "nullable": True}}, "ad": {"type": "object", "additionalProperties": True}, "ex": {**STR, "example": "e", "externalDocs": {"url": "u", "description": "d"}, "title": "T"}}},
    "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "conditions": {"type": "array", "items": {"type": "object", "properties": {"type": STR}}}}}}}


def documents():
    """Of OpenAPI: the schemas of a kind and its list, and what its operations answer."""
    yield "POST", CRDS, definition("hards", HARD, subresources={"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}, selectableFields=[{"jsonPath": ".spec.a"}])
    yield "OPENAPI", "/openapi/v3/apis/mini.example.com/v1", None


def published(document):
    """The schemas and the answers of operations of the kind in a document."""
    schemas = {name: schema for name, schema in document["components"]["schemas"].items() if name.startswith("com.example.mini.v1.Hards")}
    operations = {f"{operation['x-kubernetes-action']} {path}": operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
                  for path, methods in document["paths"].items() if "/hards" in path for method, operation in methods.items() if method != "parameters" and "delete" not in method}
    return {"schemas": schemas, "operations": operations}


def stable(value):
    """Without what differs from run to run."""
    if isinstance(value, dict):
        return {name: stable(inner) for name, inner in value.items() if name not in VOLATILE}
    return [stable(inner) for inner in value] if isinstance(value, list) else value


def main():
    server = Server(sys.argv[1], agent="rig")
    for path in ["hards.mini.example.com", "tests.mini.example.com", "scales.mini.example.com", "goods.things.k8s.io", "wilds.things.k8s.io"]:
        server.call("DELETE", f"{CRDS}/{path}")
    time.sleep(3)
    for verb, path, body in [*definitions(), *objects(), *applied(), *scaled(), *documents()]:
        method = {"APPLY": "PATCH", "REPLACE": "PUT", "CONDITIONS": "GET", "OPENAPI": "GET"}.get(verb, verb)
        kind = {"APPLY": APPLY, "PATCH": MERGE}.get(verb, "application/json")
        if verb == "PUT":
            body["metadata"]["resourceVersion"] = server.call("GET", path.split("?")[0])[1]["metadata"]["resourceVersion"]
        code, headers, answer = server.full(method, path, body, kind)
        line = {"verb": verb, "path": path, "body": body, "code": code, "warnings": headers.get_all("warning") or []}
        if verb == "PUT":
            body["metadata"].pop("resourceVersion")
        if code >= 400:
            line["message"] = answer["message"]
            line["causes"] = (answer.get("details") or {}).get("causes", [])
        elif verb == "CONDITIONS":
            line["conditions"] = stable(answer["status"]["conditions"])
        elif verb == "OPENAPI":
            line.update(published(answer))
        elif path.startswith(CRDS):
            line["versions"] = answer["spec"]["versions"]
        else:
            line["object"] = stable(answer)
        print(json.dumps(line))
        if verb == "POST" and path == CRDS:
            # Until it is served and published.
            time.sleep(5)


if __name__ == "__main__":
    main()
