#!/usr/bin/env python3
"""Writes down what a genuine server makes of strategic merge patches: strategic.jsonl, one case a line.

    record_patches.py KUBECONFIG      (realapi up v1.37, and a namespace algos)

Every patch is a dry run against the same Deployment.
"""
import json
import os
import sys

from genuine import Server

# The folder of the files that this program writes.
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../server/src/patch/recorded")
SERVER = Server(sys.argv[1])
PATH = "/apis/apps/v1/namespaces/algos/deployments"


def call(method, path, body=None, content_type="application/json"):
    return SERVER.call(method, path, body, content_type)


def container(name, **kw):
    return {"name": name, "image": "i", "imagePullPolicy": "Always", **kw}


BASE = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "smp", "labels": {"l": "1"}, "annotations": {"a": "1"}, "finalizers": ["x/a", "x/b"]}, "spec": {
    "replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": {"metadata": {"labels": {"app": "x"}}, "spec": {
        "nodeSelector": {"k": "v", "m": "n"},
        "tolerations": [{"key": "t1", "operator": "Exists"}],
        "containers": [container("c1", args=["a", "b"], env=[{"name": "E1", "value": "1"}, {"name": "E2", "value": "2"}], ports=[{"containerPort": 80, "name": "http"}, {"containerPort": 81}]), container("c2"), container("c3")],
        "volumes": [{"name": "v1", "emptyDir": {}}, {"name": "v2", "hostPath": {"path": "/x", "type": ""}}]}}}}


def pod(**kw):
    return {"spec": {"template": {"spec": kw}}}


CASES = [
    {}, {"spec": {"replicas": 3}}, {"metadata": {"labels": {"l": None, "m": "2"}}}, {"metadata": {"annotations": None}}, {"metadata": {"labels": {"$patch": "replace", "z": "9"}}}, {"metadata": {"labels": {"$patch": "delete"}}}, {"metadata": {"labels": {"$patch": "merge", "z": "9"}}},
    {"metadata": {"labels": {"$patch": "nonsense", "z": "9"}}}, {"metadata": {"labels": {"$patch": 1}}},
    {"metadata": {"finalizers": ["x/c"]}}, {"metadata": {"finalizers": ["x/a", "x/c"]}}, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x/a"]}}, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x/a"], "finalizers": ["x/d"]}}, {"metadata": {"$setElementOrder/finalizers": ["x/b", "x/a"]}},
    {"metadata": {"$setElementOrder/finalizers": ["x/c", "x/a"], "finalizers": ["x/c"]}}, {"metadata": {"$deleteFromPrimitiveList/finalizers": "x/a"}}, {"metadata": {"$setElementOrder/finalizers": ["x/a"], "finalizers": ["x/c"]}},
    pod(nodeSelector={"k": None, "q": "r"}), pod(nodeSelector=None), pod(tolerations=[{"key": "t2", "operator": "Exists"}]), pod(tolerations=None),
    pod(containers=[{"name": "c1", "image": "j"}]), pod(containers=[{"name": "c1", "args": ["z"]}]), pod(containers=[{"name": "c1", "args": None}]), pod(containers=[container("c4")]), pod(containers=[container("c4"), {"name": "c1", "image": "k"}]),
    pod(containers=[{"name": "c2", "$patch": "delete"}]), pod(containers=[{"name": "c9", "$patch": "delete"}]), pod(containers=[{"$patch": "delete", "name": "c2"}, {"name": "c1", "image": "q"}]), pod(containers=[{"$patch": "replace"}, container("n1")]), pod(containers=[container("n1"), {"$patch": "replace"}]),
    pod(containers=[{"$patch": "merge"}, container("n1")]), pod(containers=[{"$patch": "nonsense", "name": "c1"}]), pod(containers=[{"image": "x"}]), pod(containers=[{"name": "c1", "$patch": "replace", "image": "only", "imagePullPolicy": "Always"}]), pod(containers=["x"]), pod(containers="x"), pod(containers=None),
    pod(containers=[{"name": "c1", "env": [{"name": "E2", "value": "9"}, {"name": "E3", "value": "3"}]}]), pod(containers=[{"name": "c1", "env": [{"name": "E1", "$patch": "delete"}]}]), pod(containers=[{"name": "c1", "env": [{"name": "E1", "value": None, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}]),
    pod(containers=[{"name": "c1", "ports": [{"containerPort": 80, "name": "web"}, {"containerPort": 82}]}]), pod(containers=[{"name": "c1", "ports": [{"containerPort": 80, "$patch": "delete"}]}]), pod(containers=[{"name": "c1", "livenessProbe": {"httpGet": {"port": 80}, "tcpSocket": None}}]), pod(containers=[{"name": "c1", "resources": {"limits": {"cpu": "1", "memory": None}}}]),
    pod(**{"$setElementOrder/containers": [{"name": "c3"}, {"name": "c1"}, {"name": "c2"}]}), pod(**{"$setElementOrder/containers": [{"name": "c3"}, {"name": "c1"}]}), pod(**{"$setElementOrder/containers": [{"name": "c4"}, {"name": "c1"}], "containers": [container("c4")]}),
    pod(**{"$setElementOrder/containers": [{"name": "c1"}, {"name": "c4"}, {"name": "c3"}], "containers": [container("c4"), {"name": "c3", "image": "z"}]}), pod(**{"$setElementOrder/containers": [{"name": "c1"}], "containers": [container("c4")]}), pod(**{"$setElementOrder/containers": [{"name": "c3"}, {"name": "c2"}], "containers": [{"name": "c1", "$patch": "delete"}]}),
    pod(**{"$setElementOrder/containers": "x"}), pod(**{"$setElementOrder/containers": [{"name": "c2"}, {"name": "c4"}, {"name": "c5"}], "containers": [container("c5"), container("c4")]}), pod(**{"$setElementOrder/containers": [{"name": "c4"}, {"name": "c5"}, {"name": "c2"}], "containers": [container("c4"), container("c5")]}),
    pod(volumes=[{"name": "v1", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/y", "type": ""}}]), pod(volumes=[{"name": "v1", "emptyDir": None, "hostPath": {"path": "/y", "type": ""}}]), pod(volumes=[{"name": "v1", "$retainKeys": ["name"], "hostPath": {"path": "/y"}}]), pod(volumes=[{"name": "v3", "$retainKeys": ["name", "emptyDir"], "emptyDir": {}}]),
    {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}, {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}}, {"spec": {"strategy": {"$patch": "replace", "type": "Recreate"}}}, {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 1}}}}, {"spec": {"strategy": {"$retainKeys": "type", "type": "Recreate"}}},
    {"spec": "x"}, {"spec": None}, [], {"foo": {"a": 1}}, {"spec": {"foo": 1, "bar": {"a": None, "b": 1}}}, {"spec": {"template": {"metadata": {"annotations": {"n": "1", "gone": None}}}}}, pod(affinity={"nodeAffinity": {"$patch": "delete"}}), pod(securityContext={"runAsUser": 1, "fsGroup": None}),
    pod(initContainers=[container("i1", env=[{"name": "A", "value": "x", "$patch": "merge"}])]), pod(initContainers=[{"name": "i1", "$patch": "delete"}]), pod(hostAliases=[{"ip": "1.2.3.4", "hostnames": ["a"]}]), pod(imagePullSecrets=[{"name": "s"}, {"name": "s"}]), {"$patch": "delete"}, {"$patch": "replace", "metadata": {"name": "smp"}},
    {"metadata": {"ownerReferences": [{"uid": "u", "apiVersion": "v1", "kind": "Pod", "name": "n"}]}}, {"spec": {"replicas": "x"}}, {"spec": {"template": {"spec": {"containers": [{"name": "c1", "env": {"a": 1}}]}}}},
]


def clean(obj):
    for k in ("uid", "creationTimestamp", "resourceVersion", "generation", "selfLink", "namespace", "managedFields"):
        obj["metadata"].pop(k, None)
    obj["metadata"].get("annotations", {}).pop("deployment.kubernetes.io/revision", None)
    obj["spec"]["template"]["metadata"].pop("creationTimestamp", None)
    obj.pop("status", None)
    return obj


def main():
    call("PATCH", PATH + "/smp", {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    call("DELETE", PATH + "/smp")
    code, base = call("POST", PATH, BASE)
    assert code == 201, base
    with open(os.path.join(HERE, "strategic.jsonl"), "w") as f:
        f.write(json.dumps({"base": clean(base)}, sort_keys=True) + "\n")
        for patch in CASES:
            code, answer = call("PATCH", PATH + "/smp?dryRun=All", patch, "application/strategic-merge-patch+json")
            case = {"patch": patch, "code": code}
            f.write(json.dumps(case | ({"object": clean(answer)} if code < 300 else {"message": answer["message"]}), sort_keys=True) + "\n")
    call("PATCH", PATH + "/smp", {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    call("DELETE", PATH + "/smp")


if __name__ == "__main__":
    main()
