#!/usr/bin/env python3
"""Writes what a genuine server makes of objects of the built-in kinds with many random fields at once.

    record_random.py V1.37_KUBECONFIG SEED COUNT FILE    COUNT objects of each line of base.jsonl

`RANDOM_ROWS=FILE cargo test -p kube-testserver --test it random_objects` compares the answers of this server with FILE; the rows in
server/tests/it/built_in/recorded/random.jsonl are some that are alike.

Each object is one of built_in/recorded/base.jsonl in which fields of its Go type (server/data/gotypes.txt) are added, replaced and left out: most
values are such as the rules of the field (server/data/tags.txt and checks.txt) ask for. A line of the output is
[PATH, OBJECT, CODE, RESULT], with RESULT as in `values.jsonl`: causes, or the differences between the object that was sent and the one that came back.
"""
import json
import os
import random
import re
import sys

from genuine import Server
from record_values import HERE, LEGACY, OUT, SERVER, difference, plain, read_types

WORDS = ["a", "b", "x-1", "a.b", "a.b/c", "1", "k8s"]
SAMPLES = {
    "subdomain": ["a.b", "x"], "label": ["a", "x-1"], "service-name": ["a", "v1"], "label-key": ["a", "a.b/c"], "label-value": ["", "b"],
    "port-name": ["http", "a-1"], "ip": ["10.0.0.1", "2001:db8::1"], "cidr": ["10.0.0.0/8", "2001:db8::/64"], "absolute-path": ["/p"],
    "relative-path": ["p"], "no-dot-dot": ["p"], "cron": ["* * * * *"], "time-zone": ["UTC"], "percent": ["25%"], "max-percent": ["25%"],
    "domain-path": ["a.b/c"], "c-identifier": ["a"], "resource-pool-name": ["p"], "extended-resource-name": ["a.b/c"], "config-key": ["k"],
    "uuid": ["01234567-89ab-cdef-0123-456789abcdef"], "host": ["a.b"], "caseless-subdomain": ["a.b"], "resource-name": ["cpu", "a.b/c"],
}
PLAIN = {
    "b": [True, False], "u": [0, 255], "i": [0, 1, 2, 5, 80, 600, -1], "l": [0, 1, 5, 600, -1], "f": [0.1, 1.5], "y": ["", "eA=="],
    "Q": ["0", "1", "500m", "1Gi", "2000m", "-1"], "T": ["2020-01-01T00:00:00Z", "2020-01-01T01:00:00+01:00"],
    "U": ["2020-01-01T00:00:00.000000Z"], "D": ["1h", "90s"], "I": [0, 1, 80, "25%", "http"], "R": [{"x": 1}],
}


def read_rules():
    """(type, field) -> its rules, and the types of which one member only is set."""
    rules, unions = {}, {}
    for name in "tags.txt", "checks.txt":
        for line in open(os.path.join(SERVER, "data", name)):
            if line.strip() and not line.startswith("#"):
                owner, field, rule = line.strip().split(" ", 2)
                rules.setdefault((owner, field), []).append(rule.split(" "))
                if field == "." and rule.startswith(("handler", "union")):
                    unions[owner] = [member.split("=")[0] for member in rule.split(" ")[1].split("|")]
    return rules, unions


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.types = read_types()
        self.rules, self.unions = read_rules()

    def likely(self, part):
        return self.random.random() < part

    def structure(self, owner, value, at, depth):
        """The members of a struct, most of them as they were."""
        out, value = {}, value if isinstance(value, dict) else {}
        alone = self.unions.get(owner, []) if self.likely(0.95) else []
        taken = next((member for member in alone if member in value), None)
        if alone and taken is None:
            taken = self.random.choice([member for member in alone if not LEGACY.search(f"/{member}/")])
        for field, ty in self.types[owner]:
            if at == "" and field in ("kind", "apiVersion", "metadata", "status"):
                continue
            if field == "managedFields" or field == "openAPIV3Schema" or LEGACY.search(f"/{field}/") or field in alone and field != taken:
                continue
            ty, there = plain(ty), value.get(field)
            required = any(rule[0] == "required" for rule in self.rules.get((owner, field), []))
            if there is not None and self.likely(0.03):
                continue
            if there is not None and self.likely(0.85):
                out[field] = self.kept(ty, there, f"{at}/{field}", depth)
            elif there is not None or field == taken or required or depth < 4 and self.likely(self.density):
                out[field] = self.value(ty, (owner, field), f"{at}/{field}", depth + 1)
        return out

    def kept(self, ty, value, at, depth):
        """A value of the valid object: what is within may change."""
        if ty[0] == "@" and isinstance(value, dict):
            return self.structure(ty[1:], value, at, depth)
        if ty.startswith("[]@") and isinstance(value, list):
            return [self.structure(ty[3:], item, at, depth) for item in value]
        return value

    def value(self, ty, place, at, depth):
        if ty[0] == "@":
            return self.structure(ty[1:], {}, at, depth)
        if ty.startswith("[]"):
            return [self.value(plain(ty[2:]), place, at, depth) for _ in range(self.random.choice([0, 1, 1, 1, 2]))]
        if ty.startswith("{}"):
            keys = self.random.sample(["a", "b", "a.b/c", "cpu", "memory"], self.random.choice([0, 1, 1, 2]))
            return {key: self.value(plain(ty[2:]), place, at, depth) for key in keys}
        return self.random.choice(self.scalars(ty, place))

    def scalars(self, ty, place):
        rules = [rule[1:] if rule[0] in ("each", "list") else rule for rule in self.rules.get(place, [])]
        for name, *rest in rules:
            name = name.rstrip("!")
            if self.likely(0.9) and name == "enum":
                return " ".join(rest).split("|")
            if self.likely(0.9) and name == "format" and rest[0] in SAMPLES and ty[0] == "s":
                return SAMPLES[rest[0]]
            if self.likely(0.9) and name == "range" and ty[0] in "ilI":
                return [int(rest[0]), int(rest[0]) + 1, int(rest[1])]
        return PLAIN.get(ty[0], WORDS)

    def object(self, ty, base):
        self.density = self.random.choice([0.02, 0.05, 0.15])
        return {**{key: base[key] for key in ("apiVersion", "kind", "metadata", "status") if key in base}, **self.structure(ty, base, "", 0)}


def main():
    server, seed, count, out = Server(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), open(sys.argv[4], "w")
    kinds = {}
    for line in open(os.path.join(SERVER, "data/kinds.jsonl")):
        row = json.loads(line)
        kinds[(row["group"] + "/" if row["group"] else "") + row["version"], row["kind"]] = row["type_name"].removeprefix("io.k8s.")
    generator = Generator(seed)
    for line in open(os.path.join(OUT, "base.jsonl")):
        row = json.loads(line)
        base = row["object"]
        # These say who asks.
        for _ in range(count if base["kind"] != "CertificateSigningRequest" else 0):
            sent = generator.object(kinds[base["apiVersion"], base["kind"]], base)
            code, body = server.call("POST", row["path"] + "?dryRun=All", sent)
            result = []
            if code == 422:
                result = sorted([cause.get("field", ""), cause.get("reason", "")] for cause in body["details"].get("causes", []))
            elif code == 201:
                result = list(difference({"status": {}, **sent} if "status" in body else sent, body))
            out.write(json.dumps([row["path"], sent, code, result], separators=(",", ":"), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main()
