#!/usr/bin/env python3
"""Writes kubectl.jsonl: what `kubectl create` sends, and the same object as kubectl prints it.

    record_protobuf.py KUBECONFIG

Stands between kubectl and a genuine server (for discovery), and keeps every protobuf body that is posted. Nothing is
created: every post is answered with a failure.
"""
import base64
import http.server
import json
import os
import subprocess
import sys
import threading

# The folder of the files that this program writes.
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../server/src/protobuf/recorded")
KUBECONFIG = sys.argv[1]
COMMANDS = [
    ["create", "deployment", "d", "--image=i", "--port=80", "--replicas=2"],
    ["create", "deployment", "zero", "--image=i", "--replicas=0", "--", "run", "it"],
    ["create", "job", "j", "--image=i", "--", "a", "b"],
    ["create", "cronjob", "c", "--image=i", "--schedule=* * * * *"],
    ["create", "service", "clusterip", "s", "--tcp=80:8080", "--tcp=81:http"],
    ["create", "service", "nodeport", "s", "--tcp=80", "--node-port=30080"],
    ["create", "service", "loadbalancer", "s", "--tcp=80"],
    ["create", "service", "externalname", "s", "--external-name=a.b"],
    ["create", "role", "r", "--verb=get,list", "--resource=pods,deployments.apps", "--resource-name=a"],
    ["create", "rolebinding", "b", "--role=r", "--user=u", "--group=g", "--serviceaccount=n:s"],
    ["create", "clusterrole", "r", "--verb=get", "--non-resource-url=/logs"],
    ["create", "clusterrole", "agg", "--aggregation-rule=a=b"],
    ["create", "clusterrolebinding", "b", "--clusterrole=r", "--user=u"],
    ["create", "quota", "q", "--hard=cpu=1,memory=1Gi", "--scopes=BestEffort"],
    ["create", "ingress", "i", "--class=c", "--rule=a.b/c*=s:80,tls=secret", "--default-backend=s:http"],
    ["create", "pdb", "p", "--selector=a=b", "--min-available=1"],
    ["create", "pdb", "p", "--selector=a in (b,c)", "--max-unavailable=50%"],
    ["create", "priorityclass", "p", "--value=-5", "--description=d", "--global-default=true"],
    ["create", "configmap", "c", "--from-literal=a=b"],
    ["create", "secret", "generic", "c", "--from-literal=a=b"],
    ["create", "namespace", "n"],
    ["create", "serviceaccount", "s"],
]


def main():
    bodies = []
    server_flag = subprocess.check_output(
        ["kubectl", "--kubeconfig", KUBECONFIG, "config", "view", "--minify", "--raw", "-o", "json"])
    config = json.loads(server_flag)

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def do_GET(self):
            found = subprocess.run(["kubectl", "--kubeconfig", KUBECONFIG, "get", "--raw", self.path],
                                   capture_output=True)
            self.send_response(200 if found.returncode == 0 else 404)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(found.stdout)

        def do_POST(self):
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(500)
            self.end_headers()
            self.wfile.write(b"{}")

    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{proxy.server_address[1]}"
    assert config["clusters"], "the kubeconfig names no cluster"
    environment = {**os.environ, "KUBECONFIG": "/dev/null"}
    with open(os.path.join(HERE, "kubectl.jsonl"), "w") as out:
        for command in COMMANDS:
            split = command.index("--") if "--" in command else len(command)
            before, after = command[:split], command[split:]
            base = ["kubectl", "--server", address, *before]
            printed = subprocess.run([*base, "--dry-run=client", "-o", "json", *after],
                                     capture_output=True, env=environment, check=True).stdout
            bodies.clear()
            subprocess.run([*base, "--validate=false", *after],
                           capture_output=True, env=environment)
            assert bodies and bodies[-1].startswith(b"k8s\0"), command
            body = base64.b64encode(bodies[-1]).decode()
            record = {"command": " ".join(command), "body": body, "object": json.loads(printed)}
            out.write(json.dumps(record, separators=(",", ":")) + "\n")


main()
