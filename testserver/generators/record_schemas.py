#!/usr/bin/env python3
"""Writes down how a genuine server refuses objects and schemas: values.jsonl and schemas.jsonl, one case a line.

    record_schemas.py KUBECONFIG      (realapi up v1.37; ../server/src/apply/recorded/things.crd.yaml applied)
"""
import json
import os
import sys

from genuine import Server

# The folder of the files that this program writes.
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../server/src/schema/recorded")
SERVER = Server(sys.argv[1])


def post(path, body):
    return SERVER.call("POST", path + "?dryRun=All", body)


def answer(code, status):
    if code < 300:
        return {"code": code}
    return {"code": code, "message": status["message"], "causes": (status.get("details") or {}).get("causes", [])}


def t(**kw):
    return {"spec": {"title": "abc", **kw}}


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}
VALUES = [
    t(), {}, {"spec": {}}, {"spec": None}, {"spec": []}, {"spec": "x"}, {"spec": 1}, {"spec": True}, {"spec": {"title": None}}, {"spec": {"title": ""}}, {"spec": {"title": "a"}}, {"spec": {"title": "abcdefg"}},
    {"spec": {"title": "äöü"}}, {"spec": {"title": "ABC"}}, {"spec": {"title": 1}}, {"spec": {"title": ["a"]}}, {"spec": {"title": {"a": 1}}}, {"spec": {"title": "ABCDEFG"}},
    t(replicas=0), t(replicas=11), t(replicas="3"), t(replicas=1.5), t(replicas=2.0), t(replicas=True), t(replicas=[1]), t(replicas={}),
    t(i32=2147483647), t(i32=2147483648), t(i32=-2147483649), t(i32=1e10),
    t(nn=2), t(nn=3), t(nn=0), t(nn=100), t(nn=-2), t(nn=102), t(nn="2"), t(nn=2.5), t(nn=-1.5),
    t(mode="c"), t(mode=""), t(mode=1), t(num=3), t(num="1"), t(num=1), t(b=1), t(b="true"), t(b=None), t(null1=None), t(null1=1),
    t(tags=[]), t(tags=["a", "b", "c", "d"]), t(tags=["a", "a"]), t(tags=[1, "a", None]), t(tags="a"), t(tags={}), t(tags=["a", "a", "a", "b", "b"]),
    t(ports=[{}]), t(ports=[{"port": 1}, {"port": 1}]), t(ports=[{"port": 1}, {"port": 1, "protocol": "UDP"}]), t(ports=["x"]), t(ports=[{"port": "x", "name": 1}]), t(ports={}), t(ports=[{"port": 1}, {"port": 2}, {"port": 1, "name": "x"}]),
    t(ports=[{"name": "a"}, {"name": "b"}]),
    t(plain=[{"a": 1}, {"a": "x"}, 3]), t(plain=[None]), t(labels={}), t(labels={"a": "1", "b": "2", "c": "3"}), t(labels={"a": 1}), t(labels={"a.b/c": 1}), t(labels={"a": None}), t(labels=[]),
    t(any={"known": 1}), t(any=1), t(any={"x": [1, {"y": None}]}), t(anyraw=1), t(anyraw=None), t(ios=1), t(ios="x"), t(ios=1.5), t(ios=True), t(ios={}),
    t(emb={}), t(emb={"apiVersion": "v1", "kind": "Pod"}), t(emb={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "labels": {"a": "b"}}}), t(emb={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": 1}}),
    t(emb={"apiVersion": "a/b/c", "kind": "Pod"}), t(emb={"apiVersion": "", "kind": ""}), t(emb={"apiVersion": "v1", "kind": 1}), t(emb={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "X Y"}}), t(emb=1),
    t(emb={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "labels": {"a b": "c d"}}}), t(emb={"apiVersion": "v1", "kind": "Pod", "metadata": []}), t(emb={"apiVersion": "v1", "kind": "not a kind"}),
    t(dt="2020-01-01T00:00:00Z"), t(dt="2020-01-01T00:00:00.123+02:00"), t(dt="yesterday"), t(dt="2020-01-01"), t(dt="2020-13-01T00:00:00Z"), t(dt=""), t(dt=1), t(dt="2020-01-01 00:00:00Z"), t(dt="2020-01-01t00:00:00z"),
    t(date="2020-01-31"), t(date="2020-02-31"), t(date="x"), t(ipv4="1.2.3.4"), t(ipv4="1.2.3.400"), t(ipv4="::1"), t(ipv4="01.2.3.4"), t(email="a@b.c"), t(email="a"), t(email="A <a@b.c>"), t(uri="http://x"), t(uri="x"), t(uri="::"), t(uri="/x/y"), t(uri="http://x y"),
    t(uuid="123e4567-e89b-12d3-a456-426614174000"), t(uuid="123"), t(uuid="123e4567e89b12d3a456426614174000"), t(uuid="123E4567-E89B-12D3-A456-426614174000"), t(byte="aGk="), t(byte="a"), t(byte="aGk"), t(byte=""), t(byte="a-_="), t(dur="1h"), t(dur="1.5h30m"), t(dur="P1D"), t(dur="2 weeks"), t(dur="3d"), t(dur="x"), t(dur="5"), t(dur="1w2d"),
    t(host="a.b"), t(host="-a"), t(host="a_b"), t(host="a..b"), t(host="x" * 64), t(cidr="10.0.0.0/8"), t(cidr="10.0.0.0"), t(cidr="10.0.0.1/33"), t(cidr="10.0.0.1/8"), t(cidr="::/0"),
    t(nested={"yy": "x", "deep": {"z": 1}, "x": 2}), t(nested=None), t(nested=3), t(one={}), t(one={"a": "x"}), t(one={"a": "x", "c": "y"}), t(anyo={}), t(anyo={"a": "x"}), t(anyo={"a": 1}), t(allo="ab"), t(allo="abcde"), t(allo="abc"), t(nota="bad"), t(nota="good"), t(nota=1),
    {**t(), "status": {"conditions": "x"}}, {**t(), "metadata": {"labels": {"a b": "c"}}}, {**t(), "metadata": {"finalizers": ["x y"]}},
]


def v(**kw):
    return kw


O = {"type": "object"}
SCHEMAS = [
    {}, v(type="string"), v(type="object"), v(type="array", items=O), v(type="object", properties={"spec": {}}), v(type="object", properties={"spec": {"type": ""}}), v(type="object", properties={"spec": {"type": "thing"}}), v(type="object", properties={"spec": {"type": "null"}}),
    v(type="object", nullable=True), v(type="object", properties={"a": {"type": "array"}}), v(type="object", properties={"a": {"type": "array", "items": {}}}), v(type="object", properties={"a": {"type": "array", "items": [{"type": "string"}]}}),
    v(type="object", additionalProperties={"type": "string"}), v(type="object", additionalProperties=True), v(type="object", properties={"a": {"type": "object", "additionalProperties": {"type": "string"}, "properties": {"x": {"type": "string"}}}}),
    v(type="object", properties={"a": {"type": "object", "additionalProperties": False}}), v(type="object", properties={"a": {"type": "object", "additionalProperties": True}}), v(type="object", properties={"a": {"type": "object", "additionalProperties": {}}}),
    v(type="object", properties={"a": {"$ref": "#/x"}}), v(type="object", properties={"a": {"type": "string", "uniqueItems": True}}), v(type="object", properties={"a": {"type": "array", "uniqueItems": True, "items": {"type": "string"}}}), v(type="object", properties={"a": {"type": "string", "pattern": "("}}),
    v(type="object", properties={"a": {"type": "string", "x-kubernetes-int-or-string": True}}), v(type="object", properties={"a": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}}), v(type="object", properties={"a": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}]}}),
    v(type="object", properties={"a": {"type": "string", "x-kubernetes-preserve-unknown-fields": True}}), v(type="object", properties={"a": {"x-kubernetes-preserve-unknown-fields": False}}), v(type="object", properties={"a": {"type": "string", "x-kubernetes-embedded-resource": True}}), v(type="object", properties={"a": {"type": "object", "x-kubernetes-embedded-resource": True}}),
    v(type="object", properties={"a": {"type": "object", "anyOf": [{"type": "object"}]}}), v(type="object", properties={"a": {"type": "object", "properties": {"x": {"type": "string"}}, "anyOf": [{"properties": {"x": {"type": "string"}}}]}}), v(type="object", properties={"a": {"type": "object", "anyOf": [{"properties": {"y": {"minLength": 1}}}]}}),
    v(type="object", properties={"a": {"type": "object", "not": {"default": 1}}}), v(type="object", properties={"a": {"type": "object", "allOf": [{"description": "x"}]}}), v(type="object", properties={"a": {"type": "object", "allOf": [{"nullable": True}]}}), v(type="object", properties={"a": {"type": "object", "allOf": [{"additionalProperties": {"type": "string"}}]}}),
    v(type="object", properties={"a": {"type": "array", "items": {"type": "string"}, "oneOf": [{"items": {"minLength": 1}}]}}), v(type="object", properties={"a": {"type": "string", "allOf": [{"items": {"minLength": 1}}]}}),
    v(type="object", properties={"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}), v(type="object", properties={"metadata": {"type": "object", "properties": {"name": {"type": "string", "pattern": "^a"}}}}), v(type="object", properties={"metadata": {"type": "string"}}), v(type="object", properties={"apiVersion": {"type": "integer"}, "kind": {"type": "string"}}),
    v(type="object", properties={"metadata": {"type": "object", "required": ["name"], "minProperties": 1}}), v(type="object", properties={"metadata": {"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": True}}),
    v(type="object", properties={"a": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "bag"}}), v(type="object", properties={"a": {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"}}), v(type="object", properties={"a": {"type": "string", "x-kubernetes-list-type": "set"}}),
    v(type="object", properties={"a": {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"}}), v(type="object", properties={"a": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}}),
    v(type="object", properties={"a": {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}}}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}}), v(type="object", properties={"a": {"type": "array", "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "k"]}}),
    v(type="object", properties={"a": {"type": "array", "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "object"}}}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}}), v(type="object", properties={"a": {"type": "array", "items": {"type": "object", "required": ["k"]}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}}),
    v(type="object", properties={"a": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-map-keys": ["k"]}}), v(type="object", properties={"a": {"type": "string", "x-kubernetes-map-type": "atomic"}}), v(type="object", properties={"a": {"type": "object", "x-kubernetes-map-type": "loose"}}),
    v(type="object", properties={"a": {"type": "array", "items": {"type": "string", "nullable": True}, "x-kubernetes-list-type": "set"}}), v(type="object", properties={"a": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}, "x-kubernetes-list-type": "set"}}),
    v(type="object", properties={"a": {"type": "integer", "default": "x"}}), v(type="object", properties={"a": {"type": "integer", "default": 1, "minimum": 2}}), v(type="object", properties={"a": {"type": "object", "default": {"b": 1}, "properties": {"c": {"type": "string"}}}}), v(type="object", default={"a": 1}), v(type="object", properties={"a": {"type": "integer", "default": None}}),
    v(type="object", properties={"a": {"type": "array", "items": {"type": "object", "properties": {"b": {}}}}}), v(type="object", properties={"a": {"type": "object", "properties": {"b": {"type": "array"}, "c": {}}}}), v(type="object", required=["x", "y"]),
    v(type="object", properties={"a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 1", "message": "too small"}]}}), v(type="object", properties={"a": {"type": "string", "definitions": {"x": {}}}}), v(type="object", properties={"a": {"type": "string", "id": "x"}}), v(type="object", properties={"a": {"type": "object", "patternProperties": {"x": {}}}}),
    v(type="object", properties={"a": {"type": "string", "enum": ["a"], "default": "b"}}), v(type="object", properties={"a": {"type": "string", "format": "nonsense"}}), v(type="object", properties={"a": {"type": "array", "items": {"type": "string", "default": "x"}}}), v(type="object", properties={"a": {"type": "object", "additionalProperties": {"type": "string", "default": "x"}}}),
    v(type="object", properties={"a": {"type": "array", "minItems": 3, "maxItems": 2, "items": {"type": "string"}}}), v(type="object", properties={"a": {"type": "object", "dependencies": {"x": ["y"]}}}), v(type="object", properties={"a": {"type": "string", "minLength": -1}}),
]


def crd(schema):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "cases.algos.example"}, "spec": {
        "group": "algos.example", "names": {"kind": "Case", "plural": "cases"}, "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}}


def main():
    with open(os.path.join(HERE, "values.jsonl"), "w") as f:
        for body in VALUES:
            full = {"apiVersion": "algos.example/v1", "kind": "Thing", **body, "metadata": {"name": "x", **body.get("metadata", {})}}
            f.write(json.dumps({"object": full, **answer(*post("/apis/algos.example/v1/namespaces/default/things", full))}, sort_keys=True) + "\n")
    with open(os.path.join(HERE, "schemas.jsonl"), "w") as f:
        for schema in SCHEMAS:
            f.write(json.dumps({"schema": schema, **answer(*post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd(schema)))}, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
