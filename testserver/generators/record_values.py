#!/usr/bin/env python3
"""Writes server/tests/it/built_in/recorded/values.jsonl: what a genuine server makes of odd and wrong values in every field of the built-in kinds.

    record_values.py V1.37_KUBECONFIG [KIND...]
    record_values.py --thin FILE    the rows of FILE that differ from each other, as the tests keep them

Each line of built_in/recorded/base.jsonl is a valid object. Every field of its Go type (server/data/gotypes.txt), down to the first field that the
object does not have, gets the values of its type one after the other, in dry runs. A line of the output is
[LINE OF BASE, POINTER, VALUE, CODE, RESULT]: RESULT are the causes [field, reason] of a 422, and of a 201 what differs in the object from
the response to the base object, as [POINTER, VALUE] (without a value: gone). All rows are some 28 000; the tree has those that `--thin` keeps.
"""
import base64
import http.client
import json
import os
import re
import ssl
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER = os.path.join(HERE, "../server")
OUT = os.path.join(SERVER, "tests/it/built_in/recorded")
# Written by the server, different in every response.
OWN = re.compile(r"/metadata/(uid|creationTimestamp|managedFields|resourceVersion)(/.*)?$|.*controller-uid$|/spec/clusterIPs?(/0)?$|.*/nodePort$|.*NodePort$|/status/conditions|.*TransitionTime$")
LONG = "a" * 300
VALUES = {
    "s": ["", "Bad_Name!", LONG, 5],
    "b": [True, False, "x"],
    "u": [-1, 300], "i": [-1, 0, 70000, 3000000000, "1"], "l": [-1, 0, 70000, 1.5, "1"], "f": ["x"],
    "y": ["", "!", "eA=="],
    "Q": ["-1", "abc", "2000m", 1.5, None, ""],
    "T": ["x", "2020-01-01T01:00:00+01:00", None], "U": ["2020-01-01T00:00:00Z", "2020-01-01T01:00:00.000000+01:00", None],
    "I": [-1, 0, 70000, "200%", "x y", "", True],
}


class Client:
    def __init__(self, kubeconfig):
        text = open(kubeconfig).read()
        _, host, port = re.search(r'server: "?(https?)://([^":/]+):(\d+)', text).groups()
        context = ssl._create_unverified_context()
        with tempfile.NamedTemporaryFile() as pair:
            for part in ("client-certificate-data", "client-key-data"):
                pair.write(base64.b64decode(re.search(part + r": ([^ ,}\n]+)", text)[1]) + b"\n")
            pair.flush()
            context.load_cert_chain(pair.name)
        self.connection = http.client.HTTPSConnection(host, int(port), context=context)

    def post(self, path, body):
        for _ in range(2):
            try:
                self.connection.request("POST", path + "?dryRun=All", json.dumps(body), {"Content-Type": "application/json"})
                response = self.connection.getresponse()
                return response.status, json.loads(response.read())
            except (http.client.HTTPException, ConnectionError):
                self.connection.close()
        # The request crashes a handler of the genuine server.
        return 0, {}


def read_types():
    """Name -> [(field, type)]."""
    lines = dict(line.rstrip("\n").partition(" ")[::2] for line in open(os.path.join(SERVER, "data/gotypes.txt")))
    del lines["version"]

    def fields(name):
        package = name.rpartition(".")[0]
        for word in lines[name].split():
            word = "+@apimachinery.pkg.apis.meta.v1.TypeMeta" if word == "TypeMeta" else word
            field, flag, ty = re.match(r"\d*([^=?!+|]*)([=?!+|]-?)(.*)", word).groups()
            ty = re.sub(r"([@~])(\w+)$", rf"\1{package}.\2", ty.replace("[@]", "[]"))
            if flag == "+" and ty[0] == "@":
                yield from fields(ty[1:])
            else:
                yield field, ty

    return {name: list(fields(name)) for name in lines}


def plain(ty):
    """Without pointers and names."""
    return re.sub(r"<[^>]*>", "", ty.lstrip("*"))


def edits(types, ty, value, pointer, depth):
    """(pointer, value) for every field of a struct."""
    for field, ty in types[ty]:
        ty, at = plain(ty), f"{pointer}/{field}"
        if at in ("/kind", "/apiVersion", "/status") or at.startswith("/metadata/") or "openAPIV3Schema" in at or "managedFields" in at:
            continue
        yield from of_value(types, ty, value.get(field) if isinstance(value, dict) else None, at, depth)


def of_value(types, ty, value, at, depth):
    letter = ty[0]
    if letter == "@":
        for odd in [None, {}, []] if at != "/metadata" else []:
            yield at, odd
        if value is not None or depth > 0:
            yield from edits(types, ty[1:], value, at, depth - (value is None))
    elif ty.startswith("[]"):
        for odd in [[], [None], {}] + ([[value[0], value[0]]] if value else []):
            yield at, odd
        inner = plain(ty[2:])
        if value:
            for i, item in enumerate(value):
                yield from of_value(types, inner, item, f"{at}/{i}", depth)
        elif inner[0] != "@":
            for _, odd in of_value(types, inner, None, at, 0):
                yield at, [odd]
        else:
            yield at, [{}]
    elif ty.startswith("{}"):
        inner = plain(ty[2:])
        odds = [odd for _, odd in of_value(types, inner, None, at, 0)] if inner[0] not in "@[{" else [{}]
        good = next(iter(value.values())) if value else odds[-1]
        yield from [(at, {}), (at, []), (at, {"bad key!": good}), (at, {"": good}), (at, {LONG: good}), (at, {"a": None})]
        for odd in odds:
            yield at, {"a": odd}
    elif letter in VALUES:
        yield at, None
        for odd in VALUES[letter]:
            yield at, odd


def placed(object, pointer, value):
    """The object with another value; null is a null."""
    object = json.loads(json.dumps(object))
    *parents, last = pointer.split("/")[1:]
    at = object
    for part in parents:
        at = at[int(part)] if isinstance(at, list) else at.setdefault(part, {})
        if at is None:
            return None
    at[int(last) if isinstance(at, list) else last] = value
    return object


def difference(base, other, at=""):
    if OWN.match(at):
        return
    if isinstance(base, dict) and isinstance(other, dict):
        for key in sorted(base.keys() | other.keys()):
            inner = f"{at}/{key}"
            if key not in other:
                if not OWN.match(inner):
                    yield [inner]
            elif key not in base:
                if not OWN.match(inner):
                    yield [inner, other[key]]
            else:
                yield from difference(base[key], other[key], inner)
    elif base != other or type(base) is not type(other):
        yield [at, other]


# Volumes whose drivers are gone from Kubernetes.
LEGACY = re.compile(r"/(awsElasticBlockStore|azureDisk|azureFile|cephfs|cinder|fc|flexVolume|flocker|gcePersistentDisk|gitRepo|glusterfs"
                    r"|photonPersistentDisk|portworxVolume|quobyte|rbd|scaleIO|storageos|vsphereVolume)/")


def thin(lines):
    """One row for each result of a field, wherever its type occurs in a list; a few of the wrong types."""
    seen = set()
    for line in lines:
        number, at, odd, code, result = json.loads(line)
        place = re.sub(r"/\d+", "/#", at)
        if code == 422:
            key = (number, place, re.sub(r"\d+", "#", json.dumps(result)))
        elif code == 201:
            key = (number, place, json.dumps([edit[0] for edit in result]), odd is None)
        else:
            key = (number, place.rsplit("/", 1)[0], code)
        # Pods have so many fields that half of their refusals and a quarter of the rest will do.
        if key in seen or code == 0 or LEGACY.search(place) or (number == 0 and zlib.crc32(line.encode()) % (2 if code == 422 else 4)):
            continue
        seen.add(key)
        yield line


def main():
    if sys.argv[1] == "--thin":
        sys.stdout.writelines(thin(open(sys.argv[2])))
        return
    client, only, types = Client(sys.argv[1]), sys.argv[2:], read_types()
    kinds = {}
    for line in open(os.path.join(SERVER, "data/kinds.jsonl")):
        row = json.loads(line)
        kinds[(row["group"] + "/" if row["group"] else "") + row["version"], row["kind"]] = row["type_name"].removeprefix("io.k8s.")
    out = [line for line in open(os.path.join(OUT, "values.jsonl"))] if only else []
    for number, line in enumerate(open(os.path.join(OUT, "base.jsonl"))):
        row = json.loads(line)
        object = row["object"]
        if only and object["kind"] not in only:
            continue
        out = [old for old in out if json.loads(old)[0] != number]
        code, base = client.post(row["path"], object)
        assert code == 201, (object["kind"], base)
        seen = set()
        for at, odd in edits(types, kinds[object["apiVersion"], object["kind"]], object, "", 1):
            key = json.dumps([at, odd])
            changed = placed(object, at, odd)
            if key in seen or changed is None:
                continue
            seen.add(key)
            code, body = client.post(row["path"], changed)
            result = []
            if code == 422:
                causes = (body.get("details") or {}).get("causes") or []
                result = sorted([cause.get("field", ""), cause.get("reason", "")] for cause in causes)
            elif code == 201:
                result = list(difference(base, body))
            out.append(json.dumps([number, at, odd, code, result], separators=(",", ":"), ensure_ascii=False) + "\n")
    out.sort(key=lambda line: json.loads(line)[0])
    with open(os.path.join(OUT, "values.jsonl"), "w") as file:
        file.writelines(out)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
