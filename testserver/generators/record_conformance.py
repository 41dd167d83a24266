#!/usr/bin/env python3
"""Writes down how genuine servers judge the requests of conformance/recorded: definitions.jsonl, rules.jsonl, values.jsonl and
unchecked.jsonl, one request a line.

    record_conformance.py MODERN_KUBECONFIG CORE_KUBECONFIG

Each line has a topic, a request, and the responses `modern` (1.36) and `core` (1.20): the code and the causes. The
suite sends the same requests and compares (testserver/conformance/src/area/recorded.rs). A new line needs no responses: this
script fills them in. Without `core`, both are the same. It needs no package besides Python's own.
"""
import base64
import copy
import http.client
import json
import os
import re
import ssl
import sys
import tempfile
import time
import urllib.error
import urllib.request

# The folder of the files that this program writes.
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../conformance/recorded")
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "recorded.conformance.example"


class Server:
    def __init__(self, kubeconfig):
        text = open(kubeconfig).read()
        self.url = re.search(r'server: "?(https://[^",}\s]+)', text)[1]
        with tempfile.TemporaryDirectory() as folder:
            for name, key in [("ca", "certificate-authority-data"), ("crt", "client-certificate-data"), ("key", "client-key-data")]:
                data = re.search(rf"{key}: ([A-Za-z0-9+/=]+)", text)[1]
                open(f"{folder}/{name}", "wb").write(base64.b64decode(data))
            self.tls = ssl.create_default_context(cafile=f"{folder}/ca")
            self.tls.load_cert_chain(f"{folder}/crt", f"{folder}/key")

    def send(self, method, path, body=None):
        body = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, body, {"content-type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, context=self.tls) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())
        except http.client.RemoteDisconnected:
            return None, None

    def answer(self, path, body):
        code, status = self.send("POST", path, body)
        if code is None:  # 1.20 divides by zero
            return None
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
    for row in rows:
        if "modern" in row and row["core"] == row["modern"]:
            del row["core"]
    with open(f"{HERE}/{name}.jsonl", "w") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def main():
    servers = {"modern": Server(sys.argv[1]), "core": Server(sys.argv[2])}
    base = json.load(open(f"{HERE}/base.json"))
    definitions, rules, values = lines("definitions"), lines("rules"), lines("values")
    fields = json.load(open(f"{HERE}/fields.json"))
    for name, server in servers.items():
        for row in definitions:
            row[name] = server.answer(f"{CRDS}?dryRun=All", edited(crd(base["definition"]), row["edits"]))
        for row in rules:
            schema = {"type": "object", "properties": {"spec": json.loads(json.dumps(base["rules"]))}}
            place = schema if row.get("at") == "root" else schema["properties"]["spec"]
            place["x-kubernetes-validations"] = [row["rule"]]
            row[name] = server.answer(f"{CRDS}?dryRun=All", crd(schema))
        server.send("DELETE", f"{CRDS}/things.{GROUP}")
        time.sleep(5)
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
        code, reply = server.send("POST", CRDS, crd(schema))
        assert code == 201, reply
        time.sleep(10)
        for row in values:
            head = f'{{"apiVersion":"{GROUP}/v1","kind":"Thing","metadata":{{"name":"x"}},"spec":{{"{row["field"]}":{row["value"]}}}}}'
            row[name] = server.answer(f"/apis/{GROUP}/v1/namespaces/default/things?dryRun=All", head.encode())
        server.send("DELETE", f"{CRDS}/things.{GROUP}")
    unchecked = lines("unchecked")
    for row in unchecked:
        row["core"] = servers["core"].answer(f"{row['path']}?dryRun=All", row["object"])
        # The messages of 1.20 have addresses of memory.
        row["core"]["causes"] = [cause[:2] for cause in row["core"]["causes"]]
    write("unchecked", unchecked)
    write("definitions", definitions)
    write("rules", rules)
    write("values", values)


if __name__ == "__main__":
    main()
