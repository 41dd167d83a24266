#!/usr/bin/env python3
"""Prints the client's table of built-in types, crates/kube-core/src/apply/merge_types.tsv, from the OpenAPI v3 documents of a genuine
server; those of version 2 have no defaults.

    merge_types.py KUBECONFIG

One type a line: its name, its apiVersion and kind if it is one, and of its schema what leads to lists that are merged by keys
(x-kubernetes-list-type: map) and to atomic maps (x-kubernetes-map-type). Keys that an item may leave out are left out: those with a
default, and one of several. Required fields have the default "" or 0, which validation refuses.
"""
import json
import subprocess
import sys

REFERENCE = "#/components/schemas/"


def ask(kubeconfig, path):
    return json.loads(subprocess.check_output(["kubectl", "--kubeconfig", kubeconfig, "get", "--raw", path]))


def reference(schema):
    """The type that a schema refers to. With a default beside it, the reference is the only part of an allOf."""
    [target] = schema.get("allOf", [schema])
    return target.get("$ref", "").removeprefix(REFERENCE)


def list_keys(prop, definitions):
    """The keys that each item needs. Where a list has no type, servers use the merge key of strategic patches."""
    keys = prop.get("x-kubernetes-list-map-keys", []) if prop.get("x-kubernetes-list-type") == "map" else []
    if "x-kubernetes-list-type" not in prop and "merge" in prop.get("x-kubernetes-patch-strategy", "").split(","):
        keys = [prop["x-kubernetes-patch-merge-key"]] if "x-kubernetes-patch-merge-key" in prop else []
    item = prop.get("items", {})
    item = definitions.get(reference(item), item)
    has_default = lambda key: "default" in item.get("properties", {}).get(key, {})
    return [key for key in keys if key in item.get("required", []) or len(keys) == 1 and not has_default(key)]


def is_free_form(schema):
    """Whether it describes any JSON: for the client a value as a whole, too."""
    described = ("properties", "additionalProperties", "allOf", "oneOf", "$ref", "format")
    return schema.get("type", "object") == "object" and not any(word in schema for word in described)


def reduced(schema, definitions, wanted):
    """The part of a schema that is of use; None if there is none. `wanted`: the types that have some."""
    if schema.get("x-kubernetes-map-type") == "atomic" or is_free_form(schema):
        return {"x-kubernetes-map-type": "atomic"}
    if reference(schema):
        return {"$ref": reference(schema)} if reference(schema) in wanted else None
    out = {}
    if "items" in schema:
        items, keys = reduced(schema["items"], definitions, wanted), list_keys(schema, definitions)
        if keys:
            out |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
        if items or keys:
            out["items"] = items or {}
        if len(keys) > 1:
            out["items"]["required"] = keys
    for name, prop in sorted(schema.get("properties", {}).items()):
        if part := reduced(prop, definitions, wanted):
            out.setdefault("properties", {})[name] = part
    if isinstance(schema.get("additionalProperties"), dict):
        if part := reduced(schema["additionalProperties"], definitions, wanted):
            out["additionalProperties"] = part
    return out or None


def is_list(schema):
    return any(kind["kind"].endswith("List") for kind in schema.get("x-kubernetes-group-version-kind", []))


def main():
    documents = ask(sys.argv[1], "/openapi/v3")["paths"].values()
    documents = [ask(sys.argv[1], document["serverRelativeURL"]) for document in documents]
    definitions = {}
    for document in documents:
        definitions |= document.get("components", {}).get("schemas", {})
    # Lists of objects are not applied.
    definitions = {name: schema for name, schema in definitions.items() if not is_list(schema)}
    wanted = set()
    while True:
        more = {name for name, schema in definitions.items() if reduced(schema, definitions, wanted)}
        if more == wanted:
            break
        wanted = more
    for name in sorted(wanted):
        kinds = definitions[name].get("x-kubernetes-group-version-kind", [])
        kind = kinds[0] if len(kinds) == 1 else None
        title = "{} {}".format("/".join(filter(None, [kind["group"], kind["version"]])), kind["kind"]) if kind else ""
        schema = json.dumps(reduced(definitions[name], definitions, wanted), sort_keys=True, separators=(",", ":"))
        print(name, title, schema, sep="\t")


main()
