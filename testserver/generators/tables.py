#!/usr/bin/env python3
"""Writes kinds.jsonl, types.jsonl, descriptions.jsonl and rbac.jsonl: the tables of built-in kinds, their schemas and what those
say for people, and the roles of a new server. See README.md beside this file.

    tables.py KUBECONFIG

The server is a new one with all API versions (`realapi up v1.37 --bare --runtime-config=api/all=true`). Its discovery has the kinds,
its OpenAPI v3 documents the types; overlay.json has what neither tells.
"""
import collections
import json
import os
import sys

from genuine import Server

# The folder of the files that this program writes.
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../server/data")
REFERENCE = "#/components/schemas/"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
KEYWORDS = ["type", "format", "required", "enum", "default", "oneOf", "x-kubernetes-map-type", "x-kubernetes-list-type",
            "x-kubernetes-list-map-keys", "x-kubernetes-patch-merge-key", "x-kubernetes-patch-strategy"]


def ask(server, path):
    code, answer = server.call("GET", path)
    assert code == 200, (path, code, answer)
    return answer


# ---- types ----------------------------------------------------------------------------------------------------------

def documents(server):
    """Type name -> schema. Several documents have the same type."""
    out = {}
    for place in ask(server, "/openapi/v3")["paths"].values():
        out.update(ask(server, place["serverRelativeURL"]).get("components", {}).get("schemas", {}))
    return out


def reduced(schema):
    """A schema without descriptions and in our own keywords: a reference beside other keywords is in no allOf, and what says nothing
    is left out (atomic lists, which all other lists are too, and zero values as defaults, which Go's zero values are)."""
    [target] = schema.get("allOf", [schema])
    out = {key: schema[key] for key in KEYWORDS if key in schema}
    if "$ref" in target:
        out["$ref"] = target["$ref"].removeprefix(REFERENCE)
    if "properties" in schema:
        out["properties"] = {name: reduced(prop) for name, prop in schema["properties"].items()}
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), dict):
            out[inner] = reduced(schema[inner])
    if schema.get("format") == "int-or-string":
        out = {"x-kubernetes-int-or-string": True}
    if out.get("default") in ("", 0, False, {}):
        del out["default"]
    if out.get("x-kubernetes-list-type") == "atomic":
        del out["x-kubernetes-list-type"]
    # Names of values are for readers of the documents: what refuses other values are the rules of the kind.
    if "enum" in out:
        out["x-enum"] = out.pop("enum")
    return merged_by_apply(out, "x-kubernetes-list-type" in schema)


def merged_by_apply(prop, has_list_type):
    """Servers merge lists without a list type in an apply as in strategic merge patches."""
    if prop.get("type") == "array" and not has_list_type and "merge" in prop.get("x-kubernetes-patch-strategy", "").split(","):
        key = prop.get("x-kubernetes-patch-merge-key")
        prop["x-kubernetes-list-type"] = "map" if key else "set"
        if key:
            prop["x-kubernetes-list-map-keys"] = [key]
    return prop


def assemble(types, overlay):
    out = {}
    for name in sorted(types):
        schema = reduced(types[name])
        by_value = overlay["by_value"]["*"] + overlay["by_value"].get(name, [])
        for field, prop in schema.get("properties", {}).items():
            prop.update(overlay["fields"].get(f"{name}.{field}", {}))
            if field in by_value and types[name]["properties"][field].get("default") == {}:
                prop["x-by-value"] = True
        schema.update(overlay["types"].get(name, {}))
        # The server does not ask for metadata.
        schema["required"] = [field for field in schema.get("required", []) if field != "metadata"] or None
        out[name] = {key: value for key, value in schema.items() if value is not None}
    unused = [t for t in [*overlay["by_value"], *overlay["types"]] if t != "*" and t not in types]
    unused += [f for f in overlay["fields"] if f.split(".")[-1] not in types.get(f.rsplit(".", 1)[0], {}).get("properties", {})]
    if unused:
        sys.exit(f"overlay.json names what the server does not have: {unused}")
    return out


def descriptions(types):
    """What each type says of itself (as "") and of its fields; what most types say of a field is at the type "*"."""
    own = {name: {"": schema.get("description", "")} | {f: prop.get("description", "") for f, prop in schema.get("properties", {}).items()}
           for name, schema in types.items()}
    everywhere = {}
    for field in ("apiVersion", "kind", "metadata"):
        texts = collections.Counter(fields[field] for fields in own.values() if fields.get(field))
        everywhere[field] = texts.most_common(1)[0][0]
    own = {name: {f: text for f, text in fields.items() if text and everywhere.get(f) != text} for name, fields in own.items()}
    return {"*": everywhere, **{name: own[name] for name in sorted(own) if own[name]}}


# ---- kinds ----------------------------------------------------------------------------------------------------------

def discovered(server):
    """(group, version, entry of discovery) for each resource and subresource."""
    places = [("", "v1", "/api/v1")]
    for group in ask(server, "/apis")["groups"]:
        places += [(group["name"], v["version"], "/apis/" + v["groupVersion"]) for v in group["versions"]]
    return [(group, version, entry) for group, version, path in places for entry in ask(server, path)["resources"]]


def warn(server, kinds):
    """Notes what the server says of kinds that are deprecated."""
    for kind in kinds:
        if kind["list_kind"]:
            path = "/apis/" + kind["group"] if kind["group"] else "/api"
            _, headers, _ = server.full("GET", f"{path}/{kind['version']}/{kind['plural']}")
            if warning := headers["Warning"]:
                kind["warning"] = warning.removeprefix('299 - "').removesuffix('"')


def assemble_kinds(found, types):
    named = {(k["group"], k["version"], k["kind"]): name
             for name, schema in types.items() for k in schema.get("x-kubernetes-group-version-kind", [])}
    kinds, subresources = {}, collections.defaultdict(list)
    for group, version, entry in found:
        plural, _, sub = entry["name"].partition("/")
        if sub:
            described = {"group": "", "version": ""} | {key: entry[key] for key in ("group", "version", "kind", "verbs")  if key in entry}
            subresources[group, version, plural].append({**described, "name": sub})
            continue
        kinds[group, version, plural] = {
            "group": group, "version": version, "kind": entry["kind"], "plural": plural, "singular": entry["singularName"],
            "short_names": entry.get("shortNames", []), "categories": entry.get("categories", []),
            "namespaced": entry["namespaced"], "verbs": entry["verbs"], "subresources": [],
            "list_kind": entry["kind"] + "List" if "list" in entry["verbs"] else "",
            "type_name": named[group, version, entry["kind"]],
        }
    for place, subs in subresources.items():
        kinds.get(place, {})["subresources"] = sorted(subs, key=lambda sub: sub["name"])
    return [kinds[place] for place in sorted(kinds)]


# ---- roles ----------------------------------------------------------------------------------------------------------

ROLES = ["cluster-admin", "admin", "edit", "view", "system:aggregate-to-admin", "system:aggregate-to-edit",
         "system:aggregate-to-view", "system:basic-user", "system:discovery", "system:public-info-viewer"]
BINDINGS = ["cluster-admin", "system:basic-user", "system:discovery", "system:public-info-viewer"]


def roles(server):
    """What a new server has; aggregated rules are computed by the server."""
    out = []
    for plural, names in (("clusterroles", ROLES), ("clusterrolebindings", BINDINGS)):
        for name in names:
            seen = ask(server, f"/apis/rbac.authorization.k8s.io/v1/{plural}/{name}")
            role = {"aggregationRule": seen["aggregationRule"]} if "aggregationRule" in seen else {}
            role |= {key: seen[key] for key in ("apiVersion", "kind")}
            role["metadata"] = {key: seen["metadata"][key] for key in ("name", "labels", "annotations")}
            if "rules" in seen or "aggregationRule" in seen:
                role["rules"] = [] if "aggregationRule" in seen else [dict(sorted(rule.items())) for rule in seen["rules"]]
            role |= {key: seen[key] for key in ("roleRef", "subjects") if key in seen}
            out.append(role)
    return out


def write(name, lines):
    with open(os.path.join(HERE, name), "w") as file:
        file.writelines(line + "\n" for line in lines)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    server = Server(sys.argv[1])
    overlay = json.load(open(os.path.join(HERE, "overlay.json")))
    types, found = documents(server), discovered(server)
    kinds = assemble_kinds(found, types)
    warn(server, kinds)
    # Lists have the schema of their kind, which the server makes.
    lists = {kind["type_name"] + "List" for kind in kinds}
    types = {name: schema for name, schema in types.items() if name not in lists}
    compact = lambda value: json.dumps(value, separators=(",", ":"))
    write("types.jsonl", [f"{name}\t{json.dumps(schema, separators=(',', ':'), sort_keys=True)}"
                          for name, schema in assemble(types, overlay).items()])
    write("descriptions.jsonl", [f"{name}\t{json.dumps(texts, ensure_ascii=False, separators=(',', ':'))}"
                                 for name, texts in descriptions(types).items()])
    write("kinds.jsonl", map(compact, kinds))
    write("rbac.jsonl", map(compact, roles(server)))
    print(f"{len(kinds)} kinds, {len(types)} types", file=sys.stderr)


if __name__ == "__main__":
    main()
