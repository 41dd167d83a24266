"""The PyPI `kubernetes` client against a server whose pods run: create, watch, dynamic client, logs, exec, port-forward.

    client.py KUBECONFIG

Prints one line per check, and ends with 1 at the first that fails. The server must be empty and run pods.
"""

import sys
import threading
import time

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.stream import portforward, stream

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.foreign.test"},
    "spec": {
        "group": "foreign.test",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{
            "name": "v1", "served": True, "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {"color": {"type": "string"}}}}}},
        }],
    },
}


def check(name, got, want):
    if got != want:
        sys.exit(f"FAILED {name}: got {got!r}, expected {want!r}")
    print(f"ok {name}")


def pod(name):
    container = client.V1Container(name="main", image="i")
    return client.V1Pod(metadata=client.V1ObjectMeta(name=name), spec=client.V1PodSpec(containers=[container]))


def typed(api):
    made = api.create_namespaced_config_map("default", client.V1ConfigMap(metadata=client.V1ObjectMeta(name="a"), data={"k": "1"}))
    check("create", (made.metadata.name, made.data), ("a", {"k": "1"}))
    made.data["k"] = "2"
    check("replace", api.replace_namespaced_config_map("a", "default", made).data["k"], "2")
    check("patch", api.patch_namespaced_config_map("a", "default", {"data": {"l": "3"}}).data, {"k": "2", "l": "3"})
    try:
        api.replace_namespaced_config_map("a", "default", made)
        sys.exit("FAILED conflict: the old version was taken")
    except ApiException as refused:
        check("conflict", refused.status, 409)
    try:
        api.read_namespaced_config_map("none", "default")
        sys.exit("FAILED not found: there is something")
    except ApiException as refused:
        check("not found", refused.status, 404)
    names = [item.metadata.name for item in api.list_namespaced_config_map("default", limit=1).items]
    check("list", names, ["a"])


def watched(api):
    version = api.list_namespaced_pod("default").metadata.resource_version
    seen = []

    def write():
        time.sleep(0.3)
        api.create_namespaced_pod("default", pod("seen"))
        api.delete_namespaced_pod("seen", "default")

    writer = threading.Thread(target=write)
    writer.start()
    stream_of_events = watch.Watch()
    for event in stream_of_events.stream(api.list_namespaced_pod, "default", resource_version=version, timeout_seconds=20):
        seen.append((event["type"], event["object"].status.phase))
        if event["type"] == "DELETED":
            stream_of_events.stop()
    writer.join()
    check("watch begins", seen[0], ("ADDED", "Pending"))
    check("watch sees it run", ("MODIFIED", "Running") in seen, True)
    check("watch ends", seen[-1][0], "DELETED")


def dynamically(api_client):
    client.ApiextensionsV1Api(api_client).create_custom_resource_definition(CRD)
    widgets = dynamic.DynamicClient(api_client).resources.get(api_version="foreign.test/v1", kind="Widget")
    body = {"apiVersion": "foreign.test/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"color": "red"}}
    check("dynamic create", widgets.create(body=body, namespace="default").spec.color, "red")
    apply = widgets.server_side_apply(body={**body, "spec": {"color": "blue"}}, namespace="default", name="w", field_manager="py", force_conflicts=True)
    check("dynamic apply", apply.spec.color, "blue")
    check("dynamic list", [w.metadata.name for w in widgets.get(namespace="default").items], ["w"])
    widgets.delete(name="w", namespace="default")
    check("dynamic delete", widgets.get(namespace="default").items, [])


def pods(api):
    api.create_namespaced_pod("default", pod("web"))
    check("pod runs", api.read_namespaced_pod("web", "default").status.phase, "Running")
    check("log", api.read_namespaced_pod_log("web", "default"), "")
    out = stream(api.connect_get_namespaced_pod_exec, "web", "default", command=["echo", "hi"], stdout=True, stderr=True, stdin=False, tty=False)
    check("exec", out, "hi\n")
    session = stream(api.connect_get_namespaced_pod_exec, "web", "default", command=["sh"], stdout=True, stderr=True, stdin=True, tty=False, _preload_content=False)
    session.write_stdin("echo one; cat /none\nexit 7\n")
    session.run_forever(timeout=20)
    check("exec output", session.read_stdout(), "one\n")
    check("exec errors", session.read_stderr(), "cat: /none: No such file or directory\n")
    check("exec code", session.returncode, 7)
    forward = portforward(api.connect_get_namespaced_pod_portforward, "web", "default", ports="9")
    socket = forward.socket(9)
    socket.setblocking(True)
    check("port-forward ends", socket.recv(16), b"")
    check("port-forward error", "connection refused" in (forward.error(9) or ""), True)


def main():
    config.load_kube_config(sys.argv[1])
    api = client.CoreV1Api()
    typed(api)
    watched(api)
    dynamically(api.api_client)
    pods(api)


main()
