#!/usr/bin/env python3
"""Writes down how a genuine server judges the requests of conformance/recorded: definitions.jsonl, rules.jsonl, values.jsonl,
unchecked.jsonl and refused.jsonl, one request a line.

    record_conformance.py V1.37_KUBECONFIG     (realapi up v1.37)

Each line has a topic, a request, and as `answer` the code and the causes of the response. The suite sends the same requests and
compares (testserver/conformance/src/area/recorded.rs). A new line needs no answer: this program fills it in.
"""
import copy
import json
import os
import re
import sys
import time

from genuine import Server

# The folder of the files that this program writes.
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../conformance/recorded")
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "recorded.conformance.example"


def answer(server, path, body):
    code, status = server.call("POST", path, body)
    causes = [] if code < 300 else (status.get("details") or {}).get("causes", [])
    shown = [[c.get("field", ""), c.get("reason", ""), plain(c.get("message", ""))] for c in causes]
    return {"code": code, "causes": sorted(shown)}


def plain(message):
    """Without the random names of types."""
    return re.sub(r"selfType\d+", "selfType", message)


def crd(schema):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"things.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Namespaced",
                     "names": {"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": copy.deepcopy(schema)}}]}}


def edited(body, edits):
    for path, *value in edits:
        *parents, last = path.split("/")[1:]
        place = body
        for name in parents:
            place = place[int(name)] if isinstance(place, list) else place.setdefault(name, {})
        if isinstance(place, list):
            place[int(last)] = value[0]
        elif value:
            place[last] = value[0]
        else:
            place.pop(last, None)
    return body


def lines(name):
    return [json.loads(line) for line in open(f"{HERE}/{name}.jsonl")]


def write(name, rows):
    with open(f"{HERE}/{name}.jsonl", "w") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def main():
    server = Server(sys.argv[1])
    base = json.load(open(f"{HERE}/base.json"))
    definitions, rules, values, unchecked, refused = map(lines, ("definitions", "rules", "values", "unchecked", "refused"))
    fields = json.load(open(f"{HERE}/fields.json"))
    for row in definitions:
        row["answer"] = answer(server, f"{CRDS}?dryRun=All", edited(crd(base["definition"]), row["edits"]))
    for row in rules:
        schema = {"type": "object", "properties": {"spec": json.loads(json.dumps(base["rules"]))}}
        place = schema if row.get("at") == "root" else schema["properties"]["spec"]
        place["x-kubernetes-validations"] = [row["rule"]]
        row["answer"] = answer(server, f"{CRDS}?dryRun=All", crd(schema))
    server.call("DELETE", f"{CRDS}/things.{GROUP}")
    time.sleep(5)
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    code, reply = server.call("POST", CRDS, crd(schema))
    assert code == 201, reply
    time.sleep(10)
    for row in values:
        head = f'{{"apiVersion":"{GROUP}/v1","kind":"Thing","metadata":{{"name":"x"}},"spec":{{"{row["field"]}":{row["value"]}}}}}'
        row["answer"] = answer(server, f"/apis/{GROUP}/v1/namespaces/default/things?dryRun=All", head.encode())
    server.call("DELETE", f"{CRDS}/things.{GROUP}")
    for row in unchecked + refused:
        row["answer"] = answer(server, f"{row['path']}?dryRun=All", row["object"])
        row["answer"]["causes"] = [cause[:2] for cause in row["answer"]["causes"]]
        if row["answer"]["code"] < 300:
            print("accepted, take it out:", json.dumps(row["object"]), file=sys.stderr)
    for name, rows in (("definitions", definitions), ("rules", rules), ("values", values), ("unchecked", unchecked), ("refused", refused)):
        write(name, rows)


if __name__ == "__main__":
    main()
