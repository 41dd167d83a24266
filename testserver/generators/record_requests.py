#!/usr/bin/env python3
"""Prints how the genuine server answers odd requests about bodies, types of Secrets, services, Scales, statuses, names and options: a request a line, in order.

    record_requests.py KUBECONFIG > ../server/tests/it/recorded/requests.jsonl
"""
import base64
import json
import re
import sys
import time

from genuine import Server

JSON, YAML, MERGE, PATCH, APPLY = "application/json", "application/yaml", "application/merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"
CORE, APPS = "/api/v1/namespaces/default", "/apis/apps/v1/namespaces/default"
WHEELS = "/apis/odd.example.com/v1/namespaces/default/wheels"
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
WHEEL = {"apiVersion": "odd.example.com/v1", "kind": "Wheel"}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "wheels.odd.example.com"},
    "spec": {"group": "odd.example.com", "scope": "Namespaced", "names": {"plural": "wheels", "kind": "Wheel"}, "versions": [{
        "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}}}]}}
ODD = ["", "null", "{}", "[]", '"x"', " ", "0", "{", "x", "[{}]", '{"kind":null}', '{"metadata":null}', '{"metadata":[]}', '{"kind":1}', '{"kind":"","apiVersion":""}',
       '{"kind":"Pod","apiVersion":"v1"}', '{"kind":"DeleteOptions","apiVersion":"v1"}', '{"apiVersion":"v1"}', '{"kind":"X"}']
SECRETS = {"kubernetes.io/dockerconfigjson": [".dockerconfigjson"], "kubernetes.io/dockercfg": [".dockercfg"], "kubernetes.io/basic-auth": ["username", "password"],
           "kubernetes.io/ssh-auth": ["ssh-privatekey"], "kubernetes.io/tls": ["tls.crt", "tls.key"], "kubernetes.io/service-account-token": ["token"], "x/y": ["a"]}


def deployment(name, **members):
    return {"metadata": {"name": name}, "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE, **members}}


def bodies():
    """Each odd body with each verb."""
    yield "POST", f"{CORE}/configmaps", JSON, {"metadata": {"name": "odd"}}
    yield "POST", f"{APPS}/deployments", JSON, deployment("odd")
    yield "POST", WHEELS, JSON, {**WHEEL, "metadata": {"name": "odd"}, "spec": {"replicas": 1}}
    for path in [f"{CORE}/configmaps", f"{APPS}/deployments", WHEELS]:
        for body in ODD:
            for media in [JSON, YAML]:
                yield "POST", path, media, body
                yield "PUT", f"{path}/odd", media, body
                yield "DELETE", f"{path}/absent", media, body
                yield "DELETE", f"{path}?labelSelector=no", media, body
            for media in [MERGE, PATCH, APPLY]:
                yield "PATCH", f"{path}/odd?fieldManager=m" if media == APPLY else f"{path}/odd", media, body
    for body in ODD:
        for path in [f"{CORE}/serviceaccounts/default/token", f"{CORE}/pods/absent/eviction", f"{CORE}/bindings", "/api/v1/namespaces", "/apis/authentication.k8s.io/v1/tokenreviews"]:
            yield "POST", path, JSON, body
    for kind, version in [("Status", "v1"), ("DeleteOptions", "apps/v1"), ("DeleteOptions", "none/v1"), ("", "none/v1"), ("ConfigMap", "v1"), ("Deployment", "apps/v1"), ("Status", "")]:
        yield "DELETE", f"{CORE}/configmaps/odd?dryRun=All", JSON, {"kind": kind, "apiVersion": version, "dryRun": ["All"]}
    yield "POST", f"{CORE}/configmaps?dryRun=All", YAML, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: first\n---\nnot: one\n"


def documents():
    """Texts with more than one document, or with something before the first: only the first is read."""
    for path, kind in [(f"{CORE}/configmaps", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: odd\n"), (WHEELS, "apiVersion: odd.example.com/v1\nkind: Wheel\nmetadata:\n  name: odd\nspec: {replicas: 1}\n")]:
        options = "apiVersion: v1\nkind: DeleteOptions\npreconditions: {uid: other}\ndryRun: [All]\n"
        for around in ["# c\n---\n@", "\n---\n@", "  \n---\n@", "%YAML 1.2\n---\n@", "%YAML 1.1\n---\n@", "\ufeff---\n@", "\ufeff# c\n---\n@", "--- # c\n@", "---\t\n@", "--- \n@", "@...\nnot: one\n", "@---\t\nnot: one\n", "@--- # c\nnot: one\n",
                       "@---\n{ [\n", "# c\r\n---\r\n@", "@---\r\nnot: one\r\n", "@x: |\n  a\n  ---\n  b\n", "---x\n@", "---\n---\n@", "---\n# c\n---\n@", "null\n---\n@", "# c\n", "---\n"]:
            text = around.replace("@", kind)
            yield "POST", f"{path}?dryRun=All", YAML, text
            yield "POST", f"{path}?dryRun=All&fieldValidation=Strict", YAML, text
            yield "PUT", f"{path}/odd?dryRun=All", YAML, text
            yield "PATCH", f"{path}/odd?dryRun=All&fieldManager=m", APPLY, text
            if "@" in around and "---\n---" not in around and "null" not in around and "---\n# c" not in around:
                yield "DELETE", f"{path}/odd", YAML, around.replace("@", options)


def secrets():
    """Types of Secrets: what they require, and that they stay."""
    encoded = lambda text: base64.b64encode(text.encode()).decode()
    for kind, keys in SECRETS.items():
        of = lambda data, **more: {"metadata": {"name": "s", **more}, "type": kind, "data": data}
        yield "POST", f"{CORE}/secrets?dryRun=All", JSON, of({})
        for key in keys:
            for text in ["", "{}", "null", "x", "[]", "{", '"x"', "1", "{}x", "true"]:
                yield "POST", f"{CORE}/secrets?dryRun=All", JSON, of({key: encoded(text)})
        account = {"kubernetes.io/service-account.name": "default"}
        yield "POST", f"{CORE}/secrets", JSON, {**of({key: encoded("{}") for key in keys}, annotations=account), "metadata": {"name": keys[0].strip("."), "annotations": account}}
        one = f"{CORE}/secrets/{keys[0].strip('.')}"
        for other in SECRETS:
            yield "PATCH", one, MERGE, {"type": other}
        for key in keys:
            for value in [None, "", encoded("x")]:
                yield "PATCH", f"{one}?dryRun=All", MERGE, {"data": {key: value}}
        yield "PATCH", f"{one}?dryRun=All", MERGE, {"metadata": {"annotations": None}}
    for size in [1 << 20, (1 << 20) + 1]:
        yield "POST", f"{CORE}/secrets?dryRun=All&big={size}", JSON, size
        yield "POST", f"{CORE}/configmaps?dryRun=All&big={size}", JSON, size


def services():
    """Addresses, families and names of services."""
    ports = [{"port": 80}]
    for spec in [{"clusterIP": ip} for ip in ["192.168.0.1", "1.2.3.4", "0.0.0.0", "x", "None", "", "10.96.3.4", "10.96.0.0", "10.96.255.255", "10.96.0.255", "fd00::1"]] + [{"ipFamilyPolicy": "RequireDualStack"}, {"clusterIP": "None", "ipFamilyPolicy": "RequireDualStack"}, {"clusterIP": "None", "selector": {"a": "b"}, "ipFamilyPolicy": "RequireDualStack"}]:
        yield "POST", f"{CORE}/services?dryRun=All", JSON, {"metadata": {"name": "s"}, "spec": {"ports": ports, **spec}}
    for name in ["1", "1a", "9" * 63, "-a", "a.b", "A", "a" * 64]:
        yield "POST", f"{CORE}/services?dryRun=All", JSON, {"metadata": {"name": name}, "spec": {"ports": ports}}
    yield "POST", f"{CORE}/services", JSON, {"metadata": {"name": "changes"}, "spec": {"ports": ports, "clusterIP": "10.96.5.6"}}
    for spec in [{"clusterIPs": None}, {"clusterIP": None}, {"ipFamilies": None}, {"ipFamilyPolicy": None}, {"clusterIP": "10.96.5.7"}, {"ipFamilyPolicy": "RequireDualStack"}, {"type": "LoadBalancer"}, {"loadBalancerClass": "a/b"}]:
        yield "PATCH", f"{CORE}/services/changes", MERGE, {"spec": spec}
    for ingress in [{"ip": "x"}, {"ip": "1.2.3.4"}, {"hostname": "A b"}, {"hostname": "1.2.3.4"}, {"ip": "1.2.3.4", "ipMode": "X"}, {"ipMode": "VIP"}]:
        yield "PATCH", f"{CORE}/services/changes/status?dryRun=All", MERGE, {"status": {"loadBalancer": {"ingress": [ingress]}}}


def scales():
    """What a Scale reads, where it is written and where it is read."""
    for i, value in enumerate([None, -1, 0, 2147483647, 2147483648, 1.5, "1", "", True, [], {}]):
        yield "POST", WHEELS, JSON, {**WHEEL, "metadata": {"name": f"w{i}"}, "spec": {"replicas": value}}
        yield "GET", f"{WHEELS}/w{i}/scale", JSON, None
        yield "PATCH", f"{WHEELS}/odd/status?dryRun=All", MERGE, {"status": {"replicas": value}}
        yield "PATCH", f"{WHEELS}/odd/status?dryRun=All", MERGE, {"status": {"selector": value}}
        yield "PUT", f"{WHEELS}/odd/scale?dryRun=All", JSON, {"metadata": {"name": "odd"}, "spec": {"replicas": value}}
    for i, spec in enumerate([None, {}, 1, "x", []]):
        yield "POST", WHEELS, JSON, {**WHEEL, "metadata": {"name": f"s{i}"}, "spec": spec}
        yield "GET", f"{WHEELS}/s{i}/scale", JSON, None
        yield "PUT", f"{WHEELS}/s{i}/scale?dryRun=All", JSON, {"metadata": {"name": f"s{i}"}, "spec": {"replicas": 1}}
    yield "PUT", f"{WHEELS}/odd/scale", JSON, {"metadata": {"name": "odd"}, "spec": {"replicas": -2147483648}}
    for one in [f"{WHEELS}/odd", f"{APPS}/deployments/odd"]:
        for metadata in [{"resourceVersion": "1"}, {"uid": "x"}, {"resourceVersion": "x"}, {"resourceVersion": "1", "uid": "x"}, {"name": "other"}]:
            for count in [1, -1]:
                scale = {"metadata": {"name": "odd", **metadata}, "spec": {"replicas": count}}
                yield "PUT", f"{one}/scale", JSON, scale
                yield "PUT", f"{one}-absent/scale", JSON, scale


def statuses():
    """Statuses that only say what cannot be."""
    counted = {
        f"{APPS}/deployments": (deployment("c"), "replicas updatedReplicas readyReplicas availableReplicas unavailableReplicas collisionCount observedGeneration terminatingReplicas"),
        f"{APPS}/replicasets": (deployment("c"), "replicas fullyLabeledReplicas readyReplicas availableReplicas observedGeneration terminatingReplicas"),
        f"{APPS}/statefulsets": (deployment("c", serviceName="s"), "replicas readyReplicas currentReplicas updatedReplicas availableReplicas collisionCount observedGeneration"),
        f"{APPS}/daemonsets": ({"metadata": {"name": "c"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}}, "currentNumberScheduled numberMisscheduled desiredNumberScheduled numberReady updatedNumberScheduled numberAvailable numberUnavailable collisionCount observedGeneration"),
        f"{CORE}/replicationcontrollers": ({"metadata": {"name": "c"}, "spec": {"replicas": 0, "selector": {"a": "b"}, "template": TEMPLATE}}, "replicas fullyLabeledReplicas readyReplicas availableReplicas observedGeneration"),
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets": ({"metadata": {"name": "c"}, "spec": {"minAvailable": 1}}, "currentHealthy desiredHealthy disruptionsAllowed expectedPods"),
        "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers": ({"metadata": {"name": "c"}, "spec": {"maxReplicas": 1, "scaleTargetRef": {"kind": "X", "name": "x"}}}, "currentReplicas desiredReplicas"),
        "/apis/batch/v1/namespaces/default/jobs": ({"metadata": {"name": "c"}, "spec": {"suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}, "active ready failed succeeded terminating"),
    }
    for path, (body, members) in counted.items():
        yield "POST", path, JSON, body
        for member in members.split():
            for value in [-1, 5]:
                yield "PATCH", f"{path}/c/status?dryRun=All", MERGE, {"status": {member: value}}
    for member in ["completedIndexes", "failedIndexes"]:
        for value in ["x", "1,", "1-", "0-2,4"]:
            yield "PATCH", "/apis/batch/v1/namespaces/default/jobs/c/status?dryRun=All", MERGE, {"status": {member: value}}
    yield "POST", "/api/v1/namespaces", JSON, {"metadata": {"name": "phases"}}
    for phase in ["Terminating", "Nope", ""]:
        yield "PATCH", "/api/v1/namespaces/phases/status?dryRun=All", MERGE, {"status": {"phase": phase}}
    yield "POST", f"{CORE}/resourcequotas", JSON, {"metadata": {"name": "c"}, "spec": {"hard": {"pods": "9"}}}
    for amounts in [{"cpu": "-1"}, {"nope": "1"}, {"pods": "1.5"}]:
        for member in ["hard", "used"]:
            yield "PATCH", f"{CORE}/resourcequotas/c/status?dryRun=All", MERGE, {"status": {member: amounts}}
    whole = {"type": "X", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    for change in [{}, {"type": ""}, {"type": "a b"}, {"status": "Nope"}, {"reason": ""}, {"reason": "a b"}, {"lastTransitionTime": None}, {"observedGeneration": -1}]:
        condition = {name: value for name, value in {**whole, **change}.items() if value is not None}
        yield "PATCH", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/c/status?dryRun=All", MERGE, {"status": {"conditions": [condition]}}
    yield "PATCH", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/c/status?dryRun=All", MERGE, {"status": {"conditions": [whole, whole]}}


def jobs():
    """What is written of a Job when it ends, and after it has."""
    path, status = "/apis/batch/v1/namespaces/default/jobs", lambda name: f"/apis/batch/v1/namespaces/default/jobs/{name}/status"
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    begin, end = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"
    conditions = lambda *types: [{"type": kind.strip("!"), "status": "False" if kind.startswith("!") else "True"} for kind in types]
    suspended = conditions("Suspended")
    for name, spec in [("whole", {}), ("indexed", {"completionMode": "Indexed", "completions": 5, "parallelism": 5}), ("limited", {"completionMode": "Indexed", "completions": 5, "parallelism": 2, "backoffLimitPerIndex": 1}), ("paused", {"suspend": True})]:
        yield "POST", path, JSON, {"metadata": {"name": name}, "spec": {"template": template, **spec}}
        for changes in [
            {"conditions": conditions("Complete")}, {"conditions": conditions("Failed")}, {"conditions": conditions("Complete", "Failed")}, {"conditions": conditions("SuccessCriteriaMet", "FailureTarget")},
            {"conditions": conditions("SuccessCriteriaMet")}, {"conditions": conditions("FailureTarget")}, {"conditions": conditions("!Complete")}, {"conditions": conditions("Complete", "FailureTarget")}, {"conditions": conditions("SuccessCriteriaMet", "Failed")},
            {"conditions": conditions("SuccessCriteriaMet", "Complete"), "startTime": begin, "completionTime": end},
            {"conditions": conditions("SuccessCriteriaMet", "Complete"), "completionTime": end}, {"conditions": conditions("SuccessCriteriaMet", "Complete"), "startTime": begin},
            {"conditions": conditions("Complete"), "startTime": begin, "completionTime": end}, {"conditions": conditions("SuccessCriteriaMet", "Complete"), "startTime": end, "completionTime": begin},
            {"conditions": conditions("SuccessCriteriaMet", "Complete"), "startTime": begin, "completionTime": end, "active": 1},
            {"conditions": conditions("SuccessCriteriaMet", "Complete"), "startTime": begin, "completionTime": end, "active": 1, "ready": 1}, {"conditions": conditions("SuccessCriteriaMet", "Complete"), "startTime": begin, "completionTime": end, "terminating": 1},
            {"conditions": conditions("SuccessCriteriaMet", "Complete"), "startTime": begin, "completionTime": end, "uncountedTerminatedPods": {"succeeded": ["a"]}},
            {"conditions": conditions("FailureTarget", "Failed"), "startTime": begin}, {"conditions": conditions("FailureTarget", "Failed"), "startTime": begin, "completionTime": end}, {"conditions": conditions("FailureTarget", "Failed")}, {"conditions": conditions("FailureTarget", "Failed"), "startTime": begin, "active": 2},
            {"startTime": begin}, {"startTime": begin, "conditions": suspended}, {"completionTime": end}, {"active": 1, "ready": 2}, {"succeeded": 1, "failed": 1}, {"active": 9}, {"ready": 1}, {"terminating": 1},
            {"completedIndexes": "1,3"}, {"completedIndexes": "3,1"}, {"completedIndexes": "2-0"}, {"completedIndexes": "1-1"}, {"completedIndexes": "0-4"}, {"completedIndexes": "0-5"}, {"completedIndexes": "1,1"}, {"completedIndexes": "0-1,1-2"}, {"completedIndexes": "0-1-2"}, {"completedIndexes": "-1"}, {"completedIndexes": "01"}, {"completedIndexes": "1,"},
            {"failedIndexes": ""}, {"failedIndexes": "1"}, {"failedIndexes": "3,1"}, {"failedIndexes": "9"}, {"completedIndexes": "1", "failedIndexes": "1"}, {"completedIndexes": "0-2", "failedIndexes": "2-3"}, {"completedIndexes": "0-1", "failedIndexes": "2-3"}, {"completedIndexes": "", "failedIndexes": "x"},
            {"uncountedTerminatedPods": {"succeeded": ["a"], "failed": ["a"]}}, {"uncountedTerminatedPods": {"succeeded": ["a", "a"]}}, {"uncountedTerminatedPods": {"failed": [""]}},
        ]:
            yield "PATCH", f"{status(name)}?dryRun=All", MERGE, {"status": changes}
    ended = {"conditions": conditions("SuccessCriteriaMet", "Complete"), "startTime": begin, "completionTime": end, "succeeded": 1}
    yield "PATCH", status("whole"), MERGE, {"status": ended}
    for changes in [{"conditions": None}, {"conditions": conditions("!SuccessCriteriaMet", "!Complete")}, {"conditions": conditions("SuccessCriteriaMet")}, {"conditions": conditions("SuccessCriteriaMet", "Complete", "X")}, {"completionTime": begin}, {"completionTime": None}, {"startTime": end}, {"startTime": None},
                    {"succeeded": 0}, {"succeeded": 2}, {"failed": 1}, {"active": 1}, {"terminating": 1}, {"conditions": conditions("SuccessCriteriaMet", "Complete", "Failed")}, {"conditions": conditions("SuccessCriteriaMet", "Complete", "FailureTarget")}]:
        yield "PATCH", f"{status('whole')}?dryRun=All", MERGE, {"status": changes}
    yield "PATCH", status("indexed"), MERGE, {"status": {"startTime": begin, "active": 3, "ready": 3, "succeeded": 5, "completedIndexes": "0-4"}}
    for changes in [{"succeeded": 3}, {"succeeded": 3, "completedIndexes": "0-2"}, {"ready": 1}, {"ready": 4}, {"conditions": conditions("X")}]:
        yield "PATCH", f"{status('indexed')}?dryRun=All", MERGE, {"status": changes}
    yield "PATCH", f"{path}/indexed", MERGE, {"spec": {"completions": 3, "parallelism": 3}}
    for changes in [{"succeeded": 3}, {"succeeded": 3, "completedIndexes": "0-2"}, {"conditions": conditions("X")}, {"completedIndexes": "0-3"}, {"ready": 4}, {"active": 2}, {"failed": 1}, {"startTime": end}]:
        yield "PATCH", f"{status('indexed')}?dryRun=All", MERGE, {"status": changes}
    yield "PATCH", status("limited"), MERGE, {"status": {"startTime": begin, "succeeded": 2, "failed": 1, "completedIndexes": "0-1", "failedIndexes": "3"}}
    for changes in [{"succeeded": 1, "completedIndexes": "0"}, {"failed": 0}, {"failedIndexes": None}, {"failedIndexes": "1"}, {"conditions": conditions("FailureTarget", "Failed")}, {"conditions": conditions("FailureTarget")}]:
        yield "PATCH", f"{status('limited')}?dryRun=All", MERGE, {"status": changes}


def names():
    """Bases of names, and objects at the path of the cluster."""
    for path, more in [(f"{CORE}/configmaps", {}), (f"{CORE}/services", {"spec": {"ports": [{"port": 1}]}}), ("/api/v1/namespaces", {}), ("/apis/rbac.authorization.k8s.io/v1/clusterroles", {"rules": []})]:
        for base in ["a", "a-", "a.", "a.b.", "1.", ".", "-", "a" * 64, "a" * 300, "A", "a" * 63 + "-", "a" * 64 + "-", "a" * 253 + "-", "a" * 254 + "-", "a.-", "a--", "A-", "--", "\u00e9-"]:
            # The label with the name of a namespace is not compared.
            if path == "/api/v1/namespaces" and not re.fullmatch("A|a+[a-]*|[a-z0-9.]{2,}", base):
                continue
            yield "POST", f"{path}?dryRun=All", JSON, {"metadata": {"generateName": base}, **more}
    for base in ["a" * 52, "a" * 53, "a" * 52 + "-", "a" * 58, "a" * 254]:
        yield "POST", "/apis/batch/v1/namespaces/default/cronjobs?dryRun=All", JSON, {"metadata": {"generateName": base}, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}}}
    for path, body in [("/api/v1/configmaps", {}), ("/apis/apps/v1/deployments", deployment("x")["spec"])]:
        yield "POST", path, JSON, {"metadata": {"name": "x", "namespace": "default"}, **body}
        yield "DELETE", path, JSON, None
    for path in ["/api/v1/namespaces", "/apis/rbac.authorization.k8s.io/v1/clusterroles"]:
        yield "POST", f"{path}?dryRun=All", JSON, {"metadata": {"name": "ignored", "namespace": "default"}}


def applied():
    """Elements of applied lists without keys, or with the same ones."""
    container = {"name": "c", "image": "i"}
    for containers in [[container, container], [{"image": "i"}], [container, {"image": "i"}], [{"image": "i"}, {"image": "j"}], [{**container, "env": [{"value": "a"}]}], [{**container, "env": [{"name": "A"}, {"name": "A"}]}],
                       [{**container, "volumeMounts": [{"name": "v"}]}], [{**container, "ports": [{}]}], [{**container, "ports": [{"containerPort": 1}, {"containerPort": 1}]}]]:
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "applied"}, "spec": {**deployment("applied")["spec"], "template": {**TEMPLATE, "spec": {"containers": containers}}}}
        yield "PATCH", f"{APPS}/deployments/applied?fieldManager=m&dryRun=All", APPLY, body
    owner = {"apiVersion": "v1", "kind": "X", "name": "x"}
    for metadata in [{"ownerReferences": [owner]}, {"ownerReferences": [{**owner, "uid": "u"}] * 2}, {"finalizers": ["a/b", "a/b"]}, {"managedFields": []}]:
        for path, kind in [(f"{CORE}/configmaps", {"apiVersion": "v1", "kind": "ConfigMap"}), (WHEELS, {**WHEEL, "spec": {"replicas": 1}})]:
            yield "PATCH", f"{path}/applied?fieldManager=m&dryRun=All", APPLY, {**kind, "metadata": {"name": "applied", **metadata}}
    # A key that Go leaves out while it is empty stays absent.
    claims, claim = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "applied"}}
    yield "POST", claims, JSON, {**claim, "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}}
    result = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "x"}
    yield "PATCH", f"{claims}/applied/status", MERGE, {"status": {"allocation": {"devices": {"results": [result]}}}}
    device = {"driver": "d.example.com", "pool": "p", "device": "x"}
    for devices in [[device], [device, device], [{**device, "shareID": ""}], [{**device, "shareID": "2d9ef9a1-5fbb-4b44-8e0e-1ec4a2ddb72c"}], [{"driver": "d.example.com", "pool": "p"}]]:
        yield "PATCH", f"{claims}/applied/status?fieldManager=m", APPLY, {**claim, "status": {"devices": devices}}
    for secrets in [[{"name": "s"}], [{}], [{"namespace": "n"}], [{"kind": "Secret"}, {"namespace": "n"}]]:
        for member in ["secrets", "imagePullSecrets"]:
            yield "PATCH", f"{CORE}/serviceaccounts/applied?fieldManager=m&dryRun=All", APPLY, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "applied"}, member: secrets}


def sent(path, body):
    """A number stands for a text of so many bytes, which the test makes too."""
    if isinstance(body, int) and not isinstance(body, bool):
        text = "x" * body
        data = {"data": {"a": text}} if "configmaps" in path else {"stringData": {"a": text}}
        return {"metadata": {"name": "big"}, **data}
    return body


def lasting(value):
    """What is the same in each run."""
    if isinstance(value, list):
        return [lasting(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: lasting(member) for name, member in value.items() if name not in ["managedFields", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"]}


def main():
    server = Server(sys.argv[1], agent="rig")
    for path, body in [("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION), (f"{CORE}/serviceaccounts", {"metadata": {"name": "default"}})]:
        code, _ = server.call("POST", path, body)
        print(json.dumps({"verb": "POST", "path": path, "type": JSON, "body": body, "code": code}))
    time.sleep(3)
    for verb, path, media, body in [*bodies(), *documents(), *secrets(), *services(), *scales(), *statuses(), *jobs(), *names(), *applied()]:
        code, answer = server.call(verb, path, sent(path, body), media)
        line = {"verb": verb, "path": path, "type": media, "body": body, "code": code}
        if code >= 400:
            line["reason"] = answer.get("reason", "")
            line["message"] = answer.get("message", "")
            line["causes"] = sorted([cause.get("field", ""), cause.get("reason", ""), cause.get("message", "")] for cause in (answer.get("details") or {}).get("causes") or [])
        elif not isinstance(body, int):
            line["object"] = lasting(answer)
        print(json.dumps(line))


if __name__ == "__main__":
    main()
