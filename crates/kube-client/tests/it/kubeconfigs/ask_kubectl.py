#!/usr/bin/env python3
"""Writes table.json: what kubectl does with each kubeconfig below. For the test `kubeconfigs`.

    ./ask_kubectl.py PATH_OF_KUBECTL

Each text is a file of its own, with SERVER for the URL of an https server here that records the headers it receives. `kubectl get --raw`
either sends a request, whose credentials are recorded, or refuses the file, whose error is recorded.
"""

import http.server, json, os, pathlib, ssl, subprocess, sys, tempfile, threading

CLUSTER = "{name: c, cluster: {server: SERVER, insecure-skip-tls-verify: true}}"
USER = "{name: u, user: {token: good}}"
CONTEXT = "{name: x, context: {cluster: c, user: u}}"
PLUGIN = (
    "apiVersion: client.authentication.k8s.io/v1, command: sh, args: [-c, 'echo ''{\"apiVersion\": \"client.authentication.k8s.io/v1\", "
    "\"kind\": \"ExecCredential\", \"status\": {\"token\": \"plugin\"}}''']"
)


def config(top="", clusters=(CLUSTER,), users=(USER,), contexts=(CONTEXT,), current="current-context: x"):
    """A document, in which context x with cluster c and user u is selected."""
    lists = [("clusters", clusters), ("users", users), ("contexts", contexts)]
    lines = [top, *(f"{name}: [{', '.join(entries)}]" for name, entries in lists), current]
    return "\n".join(line for line in lines if line) + "\n"


def cases():
    yield "a minimal file", config()
    yield "a complete header", config("apiVersion: v1\nkind: Config\npreferences: {}")

    def beside(what, **lists):
        """Entries beside the selected ones."""
        defaults = {"clusters": CLUSTER, "users": USER, "contexts": CONTEXT}
        for entry in lists.pop("entries"):
            yield f"{what}, not selected: {entry}", config(**{lists["of"]: (defaults[lists["of"]], *entry.split(" AND "))})

    yield from beside("context", of="contexts", entries=[
        "{name: z, context: {}}", "{name: z}", "{name: z, context: ~}", "{name: z, context: {user: v}}", "~", "{}", "~ AND ~",
        "{context: {cluster: c}}", "{name: ~, context: {cluster: c}}", "{name: '', context: {cluster: c}}", "{name: 5, context: {cluster: c}}",
        "{name: z, context: {cluster: ~, user: ~, namespace: ~, extensions: ~}}", "{name: z, context: {cluster: [a]}}", "{name: z, context: text}",
        "{name: z, context: {cluster: gone, user: gone}}", "{name: z, context: {cluster: c, extensions: [{name: e}]}}",
        "{name: z, context: {cluster: c, extensions: [~]}}", "{name: z, context: {cluster: c, namespace: 'a b'}}", CONTEXT, "[]", "text",
    ])
    yield from beside("cluster", of="clusters", entries=[
        "~", "{}", "{name: ~}", "{name: d}", "{name: d, cluster: ~}", "{cluster: {server: SERVER}}", "{name: d, cluster: {server: ~}}",
        "{name: d, cluster: {server: [x]}}", "{name: d, cluster: {server: 5}}", "{name: d, cluster: {server: 'a b'}}",
        "{name: d, cluster: {insecure-skip-tls-verify: 'true'}}", "{name: d, cluster: {insecure-skip-tls-verify: yes}}",
        "{name: d, cluster: {insecure-skip-tls-verify: ~, proxy-url: ~, disable-compression: ~, tls-server-name: ~}}",
        "{name: d, cluster: {certificate-authority-data: '%'}}", "{name: d, cluster: {certificate-authority: /no/such/file}}",
        "{name: d, cluster: {insecure-skip-tls-verify: true, certificate-authority-data: YQ==}}", "{name: d, cluster: {proxy-url: 'a b'}}",
        "{name: d, cluster: {extensions: [{name: e}]}}", "{name: d, cluster: {extensions: [{extension: {}}]}}",
        "{name: d, cluster: {extensions: [{name: e, extension: ~}]}}", "{name: d, cluster: {extensions: ~, unknown: [1]}}", CLUSTER,
    ])
    yield from beside("user", of="users", entries=[
        "~", "{}", "{name: ~}", "{name: v}", "{name: v, user: ~}", "{user: {token: t}}", "{name: v, user: text}", "{name: v, user: {token: 5}}",
        "{name: v, user: {token: [t]}}", "{name: v, user: {token: ~, password: ~, username: ~}}", "{name: v, user: {tokenFile: /no/such/file}}",
        "{name: v, user: {client-certificate-data: '%'}}", "{name: v, user: {client-key: /no/such/file}}", "{name: v, user: {unknown: {a: [~]}}}",
        "{name: v, user: {exec: {}}}", "{name: v, user: {exec: ~}}", "{name: v, user: {exec: {command: p, interactiveMode: ''}}}",
        "{name: v, user: {exec: {command: p, interactiveMode: Sometimes}}}", "{name: v, user: {exec: {command: p, interactiveMode: ~}}}",
        "{name: v, user: {exec: {command: p, interactiveMode: [Never]}}}", "{name: v, user: {exec: {command: p, env: [~]}}}",
        "{name: v, user: {exec: {command: p, env: [{name: a}, {value: b}, {name: ~, value: ~}]}}}", "{name: v, user: {exec: {command: p, env: [{name: a, value: 5}]}}}",
        "{name: v, user: {exec: {command: p, env: {a: b}}}}", "{name: v, user: {exec: {command: p, env: [text]}}}", "{name: v, user: {exec: {command: p, args: [~]}}}",
        "{name: v, user: {exec: {command: p, args: ~, env: ~}}}", "{name: v, user: {exec: {command: p, args: [5]}}}", "{name: v, user: {exec: {command: ~, provideClusterInfo: ~}}}",
        "{name: v, user: {exec: {command: p, provideClusterInfo: 'true'}}}",
        "{name: v, user: {as-groups: [~]}}", "{name: v, user: {as-groups: [g]}}", "{name: v, user: {as-groups: g}}", "{name: v, user: {as: a, as-user-extra: {k: ~, l: [~]}}}",
        "{name: v, user: {as-user-extra: {k: v}}}", "{name: v, user: {auth-provider: {}}}", "{name: v, user: {auth-provider: ~}}",
        "{name: v, user: {auth-provider: {config: {k: v}}}}", "{name: v, user: {auth-provider: {name: p, config: {k: ~}}}}",
        "{name: v, user: {auth-provider: {name: p, config: {k: 5}}}}", "{name: v, user: {auth-provider: {name: unknown}}}",
        "{name: v, user: {extensions: [{name: e}, ~]}}", "{name: v, user: {token: a, token: b}}", "{name: v, user: {token: a, exec: {command: p}, auth-provider: {name: p}}}", USER,
    ])

    for entry in [
        "{name: x, context: {user: u}}", "{name: x, context: {cluster: ~, user: u}}", "{name: x, context: {cluster: gone, user: u}}", "{name: x, context: {cluster: c, user: gone}}",
        "{name: x, context: {cluster: c, user: ~}}", "{name: x, context: {cluster: c}}", "{name: x, context: ~}", "{name: x}",
        "{name: x, context: {cluster: c, user: u, namespace: ~}}", "{name: x, context: {cluster: c, user: u, namespace: ns}}",
        "{name: x, context: {cluster: c, user: u, namespace: ''}}", "{name: x, context: {cluster: c, user: u, extensions: [{name: e}, ~]}}", "{name: x, context: {cluster: c, cluster: d, user: u}}",
    ]:
        yield f"context, selected: {entry}", config(contexts=(entry,))
    for entry in [
        "{name: c}", "{name: c, cluster: ~}", "{name: c, cluster: {}}", "{name: c, cluster: {server: ''}}", "{name: c, cluster: {server: 'https://a b'}}",
        "{name: c, cluster: {server: SERVER, insecure-skip-tls-verify: true, certificate-authority-data: YQ==}}",
        "{name: c, cluster: {server: SERVER, insecure-skip-tls-verify: true, certificate-authority: /no/such/file}}",
        "{name: c, cluster: {server: SERVER, insecure-skip-tls-verify: true, certificate-authority: '', certificate-authority-data: ''}}",
        "{name: c, cluster: {server: SERVER, certificate-authority-data: YQ==}}", "{name: c, cluster: {server: SERVER, certificate-authority: /no/such/file}}",
        "{name: c, cluster: {server: SERVER, insecure-skip-tls-verify: yes}}", "{name: c, cluster: {server: SERVER, insecure-skip-tls-verify: true, proxy-url: 'a b'}}",
        "{name: c, cluster: {server: SERVER, insecure-skip-tls-verify: true, proxy-url: 'ftp://p'}}", "{name: c, cluster: {server: SERVER, insecure-skip-tls-verify: true, proxy-url: ~}}",
        "{name: c, cluster: {server: SERVER, insecure-skip-tls-verify: true, tls-server-name: ~, extensions: [{name: e}]}}",
        "{name: c, cluster: {server: 'https://first', server: SERVER, insecure-skip-tls-verify: true}}", "{name: c, cluster: {server: 'https://127.0.0.1:8080x'}}",
        "{name: c, cluster: {server: 'https://127.0.0.1:180990'}}", "{name: c, cluster: {server: 'https://'}}", "{name: c, cluster: {server: 'https://me@:6443'}}",
        "{name: c, cluster: {server: 'SERVER/prefix?query', insecure-skip-tls-verify: true}}", "{name: c, cluster: {server: 'SERVER#fragment', insecure-skip-tls-verify: true}}",
    ]:
        yield f"cluster, selected: {entry}", config(clusters=(entry,))
    for user in [
        "~", "{}", "{token: 0123}", "{token: a, token: b}", "{token: ''}", "{username: me, password: pw}", "{username: me}", "{password: pw}", "{username: me, password: pw, token: t}",
        "{token: t, as: jane}", "{token: t, as: jane, as-groups: [g, h]}", "{token: t, as: jane, as-groups: [~]}", "{token: t, as-groups: [g]}", "{token: t, as-uid: '5'}",
        "{token: t, as: jane, as-uid: '5'}", "{token: t, as-user-extra: {k: [v]}}", "{token: t, as: jane, as-user-extra: {k: [v, w], l: ~}}", "{token: t, as-groups: []}",
        "{token: t, tokenFile: /no/such/file}", "{tokenFile: /no/such/file}", "{token: t, tokenFile: ''}", "{client-certificate-data: YQ==}", "{client-key-data: YQ==}",
        "{client-certificate: /no/such/file, client-key: /no/such/file}", "{token: t, client-certificate: /no/such/file, client-key: /no/such/file}",
        "{auth-provider: {}}", "{auth-provider: {name: unknown}}", "{token: t, auth-provider: {name: unknown}}", "{exec: {}}", "{exec: {command: sh}}", "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}}",
        f"{{exec: {{{PLUGIN}, interactiveMode: Never}}}}", f"{{exec: {{{PLUGIN}, interactiveMode: IfAvailable}}}}", f"{{exec: {{{PLUGIN}, interactiveMode: Always}}}}",
        f"{{exec: {{{PLUGIN}}}}}", f"{{exec: {{{PLUGIN}, interactiveMode: ''}}}}", f"{{exec: {{{PLUGIN}, interactiveMode: Sometimes}}}}", f"{{exec: {{{PLUGIN}, interactiveMode: Never, env: [~]}}}}",
        f"{{exec: {{{PLUGIN}, interactiveMode: Never, env: [{{value: b}}]}}}}", f"{{exec: {{{PLUGIN}, interactiveMode: Never, env: [{{name: a}}]}}}}", f"{{exec: {{{PLUGIN}, interactiveMode: Never, env: ~}}}}",
        f"{{token: t, exec: {{{PLUGIN}, interactiveMode: Never}}}}", f"{{auth-provider: {{name: oidc}}, exec: {{{PLUGIN}, interactiveMode: Never}}}}",
        f"{{username: me, password: pw, exec: {{{PLUGIN}, interactiveMode: Never}}}}",
    ]:
        yield f"user, selected: {user}", config(users=(f"{{name: u, user: {user}}}",))

    for top in [
        "kind: Foo", "apiVersion: v2", "apiVersion: v1", "kind: Config", "kind: ~\napiVersion: ~", "kind: ''\napiVersion: ''", "apiVersion: v1\nkind: Pod", "apiVersion: apps/v1\nkind: Config", "kind: config",
        "preferences: ~", "preferences: text", "preferences: {colors: 'yes'}", "preferences: {extensions: [{name: e}]}", "extensions: [{name: e}]", "extensions: [~]", "extensions: ~", "extensions: [text]",
        "unknown: {a: [1, ~]}", "unknown: 1\nunknown: 2", "kind: Config\nkind: Config", "kind: Pod\nkind: Config", "5: five",
    ]:
        yield f"top level: {top!r}", config(top)
    for current in ["", "current-context: ~", "current-context: ''", "current-context: gone", "current-context: gone\ncurrent-context: x", "current-context: [x]", "current-context: 5"]:
        yield f"top level: {current!r}", config(current=current)
    for after in ["---\na: [", "---\nkind: Foo\n", "---\nclusters: 3\n", "---\n", "---\ncurrent-context: gone\n", "---\nclusters: [{name: a}, {name: a}]\n", "...\n", "...\na: [\n"]:
        yield f"after the document: {after!r}", config() + after
    yield "before the document: an empty one", "---\n" + config()
    yield "before the document: a comment", "# comment\n" + config()
    for list_name in ["clusters", "users", "contexts"]:
        yield f"{list_name} twice", config() + f"{list_name}: []\n"
        for value in ["~", "3", "{}", "text"]:
            yield f"{list_name}: {value}", config(**{list_name: ()}).replace(f"{list_name}: []", f"{list_name}: {value}")
    yield "a list", "[a]\n"
    yield "a text", "text\n"
    yield "an unclosed bracket", config() + "a: [\n"
    yield "a tab as indentation", config() + "a:\n\tb: c\n"
    for user in ['- name: u\n  user:\n    token: "go\\\n    od"', "- name: u\n  user:\n    token: 'good\n    token'", "- name: u\n  user:\n    token: 'good\n  token'", "- name: u\n  user: {\n\ttoken: good\n\t}", '- name: "u"#c\n  user: {token: "good"#c\n  }', "- {name: u, user: {token: &t good, tokenFile: ''}, other: *t}"]:
        yield f"users as a block: {user!r}", config(users=()).replace("users: []", f"users:\n{user}")
    yield "a byte order mark", "\ufeff" + config()
    yield "a byte order mark after a comment", "# comment\n\ufeff" + config()
    yield "JSON", json.dumps({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "c", "cluster": {"server": "SERVER", "insecure-skip-tls-verify": True}}],
                              "users": [{"name": "u", "user": {"token": "good"}}], "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}], "current-context": "x"})


RECORDED = {"Authorization", "Impersonate-User", "Impersonate-Uid", "Impersonate-Group"}
requests = []


class Recorder(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        headers = {}
        for name, value in self.headers.items():
            if name in RECORDED or name.startswith("Impersonate-Extra-"):
                headers.setdefault(name.lower(), []).append(value)
        requests.append({"path": self.path, "headers": headers})
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def main():
    kubectl, folder = sys.argv[1], pathlib.Path(tempfile.mkdtemp())
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", folder / "key", "-out", folder / "crt"], check=True, capture_output=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "crt", folder / "key")
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"https://127.0.0.1:{server.server_port}"
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}

    def ask(text, *arguments):
        (folder / "config").write_text(text.replace("SERVER", url))
        command = [kubectl, "--kubeconfig", folder / "config", *arguments]
        return subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def row(title, text):
        requests.clear()
        asked = ask(text, "get", "--raw", "/probe")
        if requests:
            namespace = ask(text, "config", "view", "--minify", "-o", "jsonpath={.contexts[0].context.namespace}").stdout
            return {"title": title, "kubeconfig": text, "sends": requests[0], "namespace": namespace or "default"}
        error = asked.stderr.strip().replace(url, "SERVER").replace(str(folder), "FOLDER").replace(url.split("://")[1], "HOST")
        return {"title": title, "kubeconfig": text, "refuses": error}

    table = [row(title, text) for title, text in cases()]
    version = json.loads(subprocess.run([kubectl, "version", "--client", "-o", "json"], capture_output=True, check=True).stdout)["clientVersion"]["gitVersion"]
    text = json.dumps({"kubectl": version, "rows": table}, indent=1, ensure_ascii=False) + "\n"
    pathlib.Path(__file__).with_name("table.json").write_text(text)
    print(len(table), "rows,", sum("refuses" in row for row in table), "refused")


main()
