#!/usr/bin/env python3
"""Runs the scenarios below on a genuine API server and writes down what it answers, step by step, for apply's tests: custom.jsonl and
built_in.jsonl.

    record_apply.py KUBECONFIG [SCENARIO...]      (realapi up v1.37; things.crd.yaml applied, and a namespace algos)

One JSON line per scenario: {"name", "kind", "steps": [{"op", ..., "code", "object" | "status"}]}. Times are replaced by
the number of the step at which they were first seen; volatile metadata is dropped. With names of scenarios, theirs are printed.
"""
import json
import os
import sys
import time

from genuine import Server

# The folder of the files that this program writes.
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../server/src/apply/recorded")
SERVER = Server(sys.argv[1], agent="recorder/1")
TYPES = {"apply": "application/apply-patch+yaml", "merge": "application/merge-patch+json",
         "json": "application/json-patch+json", "strategic": "application/strategic-merge-patch+json"}
KINDS = {"Thing": ("algos.example/v1", "/apis/algos.example/v1/namespaces/default/things"),
         "ConfigMap": ("v1", "/api/v1/namespaces/algos/configmaps"), "Service": ("v1", "/api/v1/namespaces/algos/services"),
         "Deployment": ("apps/v1", "/apis/apps/v1/namespaces/algos/deployments"),
         "Pod": ("v1", "/api/v1/namespaces/algos/pods")}


def call(method, path, body=None, content_type="application/json"):
    return SERVER.call(method, path, body, content_type)


def clean(obj, times, step):
    meta = obj["metadata"]
    for k in ("uid", "creationTimestamp", "resourceVersion", "generation", "selfLink", "namespace"):
        meta.pop(k, None)
    for entry in meta.get("managedFields", []):
        entry["time"] = times.setdefault(entry["time"], step) if "time" in entry else None
    return obj


def run_scenario(name, kind, steps):
    api_version, path = KINDS[kind]
    call("DELETE", f"{path}/{name}?gracePeriodSeconds=0")
    out, times = [], {}
    for number, (op, manager, body, *options) in enumerate(steps):
        time.sleep(1.05)
        opt = options[0] if options else {}
        sub = "/" + opt["sub"] if "sub" in opt else ""
        query = f"?fieldManager={manager}" + ("&force=true" if opt.get("force") else "")
        full = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}
        if op in ("apply", "create", "put"):
            body = json.loads(json.dumps(body))
            full["metadata"] |= body.pop("metadata", {})
            body = full | body
        if op == "create":
            code, answer = call("POST", path + query, body)
        elif op == "put":
            body["metadata"]["resourceVersion"] = call("GET", f"{path}/{name}")[1]["metadata"]["resourceVersion"]
            code, answer = call("PUT", f"{path}/{name}{sub}{query}", body)
            del body["metadata"]["resourceVersion"]
        else:
            code, answer = call("PATCH", f"{path}/{name}{sub}{query}", body, TYPES[op])
        step = {"op": op, "manager": manager, "body": body, **opt, "code": code}
        if code < 300:
            step["object"] = clean(answer, times, number)
        else:
            step["status"] = {"message": answer["message"], "details": answer.get("details")}
        out.append(step)
    call("DELETE", f"{path}/{name}?gracePeriodSeconds=0")
    return {"name": name, "kind": kind, "steps": out}


def spec(**kw):
    return {"spec": kw}


def t(**kw):
    return {"spec": {"title": "abc", **kw}}


F = {"force": True}
S = {"sub": "status"}
THINGS = {
    "create-then-update": [("create", "a", t(tags=["x"], labels={"k": "v"})), ("put", "b", t(tags=["x", "y"], labels={"k": "w"})),
                           ("put", "b", t(tags=["x", "y"], labels={"k": "w"})), ("put", "c", t(tags=["y"], replicas=3)), ("merge", "a", {"spec": {"mode": "a"}}),
                           ("merge", "a", {"spec": {"mode": None}})],
    "apply-creates": [("apply", "a", t(tags=["x"], labels={"k": "v"}, nested={"yy": 1})), ("apply", "a", t(tags=["x"], labels={"k": "v"}, nested={"yy": 1})),
                      ("apply", "a", t(labels={"k": "v"}))],
    "apply-gives-up": [("apply", "a", t(i32=1, tags=["x", "y"], labels={"k": "v", "l": "w"}, ports=[{"port": 1, "name": "one"}, {"port": 2}], nested={"deep": {"z": "q"}})),
                       ("apply", "b", t(tags=["y"], ports=[{"port": 2, "name": "two"}])), ("apply", "a", t()), ("apply", "b", spec(title="abc"))],
    "conflicts": [("apply", "a", t(replicas=1, labels={"k": "v"})), ("apply", "b", t(replicas=1)), ("apply", "b", {"spec": {"title": "xyz", "replicas": 2}}),
                  ("apply", "b", {"spec": {"title": "abc", "replicas": 2}}), ("apply", "b", {"spec": {"title": "abc", "replicas": 2}}, F), ("apply", "a", t(replicas=1, labels={"k": "v"})),
                  ("apply", "a", t(labels={"k": "v"}))],
    "conflict-two-managers": [("apply", "a", t(i32=1)), ("apply", "b", t(nn=2)), ("merge", "c", {"spec": {"mode": "a"}}), ("apply", "d", spec(title="xyz", i32=2, nn=4, mode="b")), ("apply", "d", spec(title="xyz", i32=2, nn=4, mode="b"), F)],
    "conflict-in-lists": [("apply", "a", t(tags=["x"], atom=["p"], ports=[{"port": 1, "name": "one"}], amap={"a": "1"}, labels={"k": "v"})),
                          ("apply", "b", t(atom=["q"], ports=[{"port": 1, "name": "uno"}], amap={"b": "2"}, labels={"k": "w"}, tags=["x", "z"]))],
    "update-takes-over": [("apply", "a", t(i32=1, labels={"k": "v", "l": "x"})), ("merge", "b", {"spec": {"i32": 2, "labels": {"k": None}}}), ("apply", "a", t(i32=1, labels={"k": "v", "l": "x"})),
                          ("apply", "a", t(i32=1, labels={"k": "v", "l": "x"}), F)],
    "list-order": [("apply", "a", t(ports=[{"port": 1}, {"port": 2}])), ("apply", "b", t(ports=[{"port": 3}, {"port": 2}])), ("apply", "c", t(ports=[{"port": 9}])),
                   ("apply", "d", t(ports=[{"port": 2}, {"port": 1}])), ("apply", "e", t(ports=[{"port": 9}, {"port": 4}, {"port": 3}, {"port": 5}, {"port": 1}]))],
    "set-order": [("apply", "a", t(tags=["a", "b"])), ("apply", "b", t(tags=["b", "a"])), ("apply", "c", t(tags=["c"])), ("apply", "c", t(tags=["b"]))],
    "atomic": [("apply", "a", t(atom=["p", "q"], amap={"a": "1"}, plain=[{"a": "1"}])), ("apply", "b", t(atom=["p", "q"], amap={"a": "1"})), ("apply", "a", t()),
               ("apply", "b", t(atom=["r"], amap={})), ("apply", "b", t(atom=[]))],
    "empty-lists": [("apply", "a", t(ports=[], any={}, nested={}, atom=[], nota="x")), ("apply", "b", t(ports=[{"port": 1}])), ("apply", "a", t(ports=[], any={}, nested={})), ("apply", "a", t())],
    "set-only-change": [("apply", "a", t(i32=1)), ("apply", "b", t(i32=1)), ("apply", "b", t()), ("apply", "a", t(i32=1, replicas=3)), ("apply", "a", t(i32=1))],
    "same-field-again": [("create", "a", t()), ("merge", "b", {"spec": {"i32": 1}}), ("merge", "b", {"spec": {"i32": 2}}), ("merge", "b", {"spec": {"i32": 2}}), ("merge", "b", {"spec": {"i32": None}})],
    "list-order-behind": [("apply", "a", t(ports=[{"port": 2}, {"port": 7}])), ("apply", "b", t(ports=[{"port": 3}, {"port": 2}])), ("apply", "c", t(ports=[{"port": 8}, {"port": 7}, {"port": 9}, {"port": 3}]))],
    "update-reorders": [("create", "a", t(ports=[{"port": 1, "name": "x"}, {"port": 2}], tags=["a", "b"])), ("merge", "b", {"spec": {"ports": [{"port": 2}, {"port": 1, "name": "y"}], "tags": ["b", "a"]}}), ("json", "c", [{"op": "remove", "path": "/spec/ports/0"}])],
    "types-change": [("create", "a", t(any={"q": 1, "r": {"s": 1}}, ios=1)), ("merge", "b", {"spec": {"any": {"q": {"z": 1}, "r": 2}, "ios": "x"}}), ("merge", "c", {"spec": {"any": None}}), ("json", "d", [{"op": "add", "path": "/spec/any", "value": {}}])],
    "manager-edits-entries": [("create", "a", t(i32=1)), ("merge", "b", {"metadata": {"managedFields": [{"manager": "z", "operation": "Update", "apiVersion": "algos.example/v1", "time": "2020-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:i32": {}}}}]}}), ("merge", "b", {"metadata": {"managedFields": []}})],
    "missing-keys": [("apply", "a", t(ports=[{"port": 1, "protocol": None}])), ("apply", "a", {**t(), "status": {"conditions": [{"status": "x"}]}}, S)],
    "empty-values": [("apply", "a", t(tags=[], ports=[], labels={}, any={}, nested={}, atom=[])), ("apply", "b", t(tags=["x"], any={"q": 1})), ("apply", "a", t())],
    "nulls": [("apply", "a", t(null1=None, i32=1)), ("apply", "b", t(null1="x")), ("apply", "a", t(i32=None, labels=None, tags=None)), ("apply", "a", t(nested=None))],
    "unknown-data": [("apply", "a", t(any={"known": "k", "m": {"n": 1, "o": [1, {"p": 2}]}}, anyraw={"q": {"r": 1}})), ("apply", "b", t(any={"m": {"s": 2}}, anyraw={"q": {"u": 1}})),
                     ("apply", "b", t(any={"m": {"o": [2]}})), ("apply", "a", t(any={"m": {"n": 1}})), ("apply", "a", t())],
    "bad-configs": [("apply", "a", t(foo=1)), ("apply", "a", t(foo=1, bar={"x": 1})), ("apply", "a", t(replicas="x")), ("apply", "a", {"spec": [1]}), ("apply", "a", t(tags=["a", "a"])),
                    ("apply", "a", t(ports=[{"port": 1}, {"port": 1}])), ("apply", "a", t(ports=[{"name": "q"}])), ("apply", "a", t(tags="a")), ("apply", "a", t(ports=[1])), ("apply", "a", t(b="yes")),
                    ("apply", "a", t(title=1)), ("apply", "a", t(nn="x")), ("apply", "a", t(labels={"a": 1})), ("apply", "a", {"metadata": {"managedFields": [{"manager": "z"}]}, "spec": {}}),
                    ("apply", "a", t(ios=[1])), ("apply", "a", {"metadata": {"labels": {"a": 1}}})],
    "metadata": [("apply", "a", {"metadata": {"labels": {"l": "1"}, "annotations": {"n": "1"}, "finalizers": ["x/a"], "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u1"}]}, **t()}),
                 ("apply", "b", {"metadata": {"labels": {"m": "1"}, "finalizers": ["x/b"], "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "p", "uid": "u2"}]}, **t()}),
                 ("apply", "a", t()), ("merge", "c", {"metadata": {"finalizers": []}})],
    "status": [("apply", "a", {**t(), "status": {"phase": "no"}}), ("apply", "s", {"status": {"phase": "up"}}, S), ("apply", "a", {"metadata": {"labels": {"l": "1"}}, "status": {"phase": "up", "conditions": [{"type": "R", "status": "True"}]}}, {**S, **F}),
               ("merge", "u", {"status": {"conditions": [{"type": "R", "status": "False"}]}}, S), ("apply", "a", t()), ("apply", "s", {"status": {"conditions": [{"type": "R", "status": "True"}]}}, S),
               ("merge", "a", {"spec": {"mode": "a"}}), ("merge", "a", {"status": {"phase": "up2"}, "metadata": {"labels": {"x": "y"}}}, S)],
    "before-first-apply": [("create", "a", t(i32=1)), ("merge", "a", {"metadata": {"managedFields": [{}]}}), ("merge", "b", {"spec": {"mode": "a"}}), ("apply", "c", t(i32=1)), ("apply", "c", t())],
    "before-first-conflict": [("create", "a", t(i32=1)), ("merge", "a", {"metadata": {"managedFields": [{}]}}), ("apply", "c", t(i32=2))],
    "same-name-two-ways": [("create", "a", t(i32=1, labels={"k": "v"})), ("apply", "a", t(i32=1)), ("apply", "a", t(i32=2)), ("apply", "a", t(i32=2), F), ("merge", "a", {"spec": {"i32": 3}}), ("apply", "a", t())],
    "defaulted-fields": [("apply", "a", t()), ("apply", "b", t(replicas=5)), ("apply", "b", t()), ("apply", "c", t(nested={"x": "mine"})), ("apply", "c", t())],
    "dangling": [("apply", "a", t(nested={"yy": 1}, any={"m": {"x": 1}})), ("merge", "b", {"spec": {"any": {"m": {"y": 2}, "k": 1}}}), ("apply", "a", t())],
    "dangling-item": [("apply", "a", t(ports=[{"port": 1}, {"port": 2}])), ("merge", "b", {"spec": {"ports": [{"port": 1, "name": "n"}, {"port": 2}]}}), ("apply", "a", t(ports=[{"port": 2}])), ("apply", "a", t())],
    "emptied-by-apply": [("apply", "a", t(any={"q": 1}, tags=["x"])), ("apply", "b", t(any={})), ("apply", "a", t())],
    "emptied-by-update": [("create", "a", t(any={"q": 1}, ports=[{"port": 1}])), ("apply", "b", t(any={"q": 2}, ports=[{"port": 2}]), F), ("json", "a", [{"op": "remove", "path": "/spec/ports/0"}]), ("apply", "b", t())],
    "container-only-owner": [("create", "k", t(labels={"a": "1"})), ("apply", "b", t(labels={"a": "2", "c": "3"}), F), ("apply", "b", t(labels={"c": "3"}))],
    "container-only-owner-any": [("create", "k", t(any={"a": {"z": "1"}, "d": "e"})), ("apply", "b", t(any={"a": {"z": "2", "c": "3"}}), F), ("apply", "b", t(any={"a": {"c": "3"}}))],
    "whole-spec-given-up": [("apply", "a", t(i32=1)), ("apply", "a", {"metadata": {"labels": {"a": "b"}}})],
    "many-updaters": [("create", "m0", t())] + [("merge", f"m{i}", {"spec": {"i32": i}} if i % 2 else {"spec": {"labels": {f"k{i % 4}": "v"}}}) for i in range(1, 4)]
                     + [("merge", f"n{i}", {"metadata": {"labels": {f"l{i}": "v"}}}) for i in range(12)],
    "shared-then-changed": [("apply", "a", t(i32=1)), ("apply", "b", t(i32=1)), ("apply", "a", t(i32=2)), ("apply", "a", t(i32=2), F), ("apply", "b", t())],
    "container-owned-by-update": [("create", "a", t(labels={"k": "v"}, ports=[{"port": 1, "name": "one"}])), ("apply", "b", t(labels={"k": "v", "l": "w"}, ports=[{"port": 1, "name": "one"}])), ("apply", "b", t())],
    "list-item-shared": [("apply", "a", t(ports=[{"port": 1, "name": "x"}])), ("apply", "b", t(ports=[{"port": 1}])), ("apply", "a", t()), ("apply", "b", t())],
}
POD = {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]}
TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": POD}
BUILT_IN = {
    "cm-update": ("ConfigMap", [("create", "a", {"data": {"x": "1"}}), ("merge", "b", {"data": {"y": "2"}, "metadata": {"labels": {"l": "1"}}}), ("put", "c", {"data": {"y": "2"}})]),
    "cm-conflict": ("ConfigMap", [("create", "k", {"data": {"a": "1"}}), ("apply", "b", {"data": {"a": "2"}}), ("apply", "b", {"data": {"a": "2", "c": "3"}}, F)]),
    "cm-bad": ("ConfigMap", [("apply", "b", {"data": {"a": 1}}), ("apply", "b", {"foo": {"a": 1}}), ("apply", "b", {"data": [1]})]),
    "svc": ("Service", [("apply", "a", {"spec": {"ports": [{"port": 80, "protocol": "TCP"}]}}), ("apply", "b", {"spec": {"ports": [{"port": 80, "protocol": "UDP", "name": "u"}, {"port": 80, "protocol": "TCP", "name": "t"}]}})]),
    "deploy-create": ("Deployment", [("create", "a", {"spec": {"replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": TEMPLATE}})]),
    "deploy-apply": ("Deployment", [("apply", "a", {"spec": {"replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": TEMPLATE}})]),
}

if __name__ == "__main__":
    only = sys.argv[2:]
    for file, table in (("custom", {n: ("Thing", s) for n, s in THINGS.items()}), ("built_in", BUILT_IN)):
        lines = [json.dumps(run_scenario(n, k, s), sort_keys=True) + "\n" for n, (k, s) in table.items() if not only or n in only]
        if only:
            sys.stdout.writelines(lines)
        else:
            with open(os.path.join(HERE, file + ".jsonl"), "w") as f:
                f.writelines(lines)
