#!/usr/bin/env python3
"""Writes kinds.jsonl, types.jsonl, descriptions.jsonl and rbac.jsonl: the tables of built-in kinds, their schemas and what those
say for people, and the roles of a new server. See README.md beside this file.

    tables.py BINDINGS CORE_KUBECONFIG MODERN_KUBECONFIG

BINDINGS is the v1_NN module directory of the k8s-openapi crate; the kubeconfigs are those of genuine API servers.
"""
import collections
import json
import os
import re
import subprocess
import sys

# The folder of the files that this program writes.
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../server/data")
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
LIST_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
LIST_HINTS = ["list-type", "list-map-keys", "map-type", "patch-merge-key", "patch-strategy",
              "embedded-resource", "preserve-unknown-fields"]
TOKEN = re.compile(
    r'\s*("(?:[^"\\]|\\.)*"|__gen\.subschema_for::<(?P<ref>[^()]*)>\(\)|-?\d[\d.]*|true|false|[{}\[\](),:])', re.S)
DESCRIBED = re.compile(
    r'\{\s*let mut schema_obj = (__gen\.subschema_for::<[^()]*>\(\));\s*schema_obj\.ensure_object\(\)'
    r'\.insert\("description"\.into\(\), ("(?:[^"\\]|\\.)*")\.into\(\)\);\s*schema_obj\s*\}', re.S)


# ---- reading the bindings -------------------------------------------------------------------------------------------

def parse_schema(text):
    """The value of one json_schema! body; references become {"$ref": path}."""
    tokens = [(m.group(1), m.group("ref")) for m in TOKEN.finditer(DESCRIBED.sub(r'{"description": \2, "$ref-of": \1}', text))]
    at = 0

    def value():
        nonlocal at
        token, ref = tokens[at]
        at += 1
        if ref is not None:
            return {"$ref": ref.replace("r#", "").strip()}
        if token == "(":
            inner = value()
            assert tokens[at][0] == ")", tokens[at - 3:at + 3]
            at += 1
            return inner
        if token in "{[":
            out, close = ({}, "}") if token == "{" else ([], "]")
            while tokens[at][0] != close:
                if token == "{":
                    key = string(tokens[at][0])
                    assert tokens[at + 1][0] == ":", tokens[at:at + 3]
                    at += 2
                    item = value()
                    out.update(item if key == "$ref-of" else {key: item})
                else:
                    out.append(value())
                if tokens[at][0] == ",":
                    at += 1
            at += 1
            return out
        return string(token) if token.startswith('"') else json.loads(token)

    return value()


def string(literal):
    return json.loads(re.sub(r"\\u\{([0-9a-fA-F]+)\}", lambda m: "\\u%04x" % int(m.group(1), 16),
                             literal.replace("\\'", "'").replace("\\0", "\\u0000")), strict=False)


def body(text, opening):
    """The text between the parenthesis that ends `opening` and its match (string literals skipped)."""
    start = text.index(opening) + len(opening)
    depth, i = 1, start
    while depth:
        c = text[i]
        if c == '"':
            i = re.compile(r'"(?:[^"\\]|\\.)*"', re.S).match(text, i).end()
            continue
        depth += (c in "({[") - (c in ")}]")
        i += 1
    return text[start:i - 1]


def merge_rules(text):
    """Wire field name -> ("set"|"atomic"|"map", keys) for lists, ("map-atomic", None) for maps."""
    wire = {m.group(2): m.group(1) for m in re.finditer(r'"([^"]+)" => Field::Key_(\w+)', text)}
    rules = {}
    for m in re.finditer(r"merge_strategies::(list|map)::(\w+)\(\s*&mut self\.(?:r#)?(\w+),", text):
        shape, how, field = m.groups()
        name = wire.get(field) or wire.get(field.rstrip("_"))
        if name is None:
            continue
        if shape == "map":
            if how == "atomic":
                rules[name] = ("map-atomic", None)
        else:
            keys = re.match(r"[^&]*?other\.(?:r#)?\w+,\s*&\[(.*?)\],\n", text[m.end():], re.S) if how == "map" else None
            rules[name] = (how, re.findall(r"lhs\.(?:r#)?(\w+) ==", keys.group(1)) if keys else None)
    return rules


def take_descriptions(schema):
    """What a schema says of itself (as "") and of each of its fields; nothing of it stays in the schema."""
    out = {"": schema.pop("description", "")}
    for field, prop in schema.get("properties", {}).items():
        out[field] = prop.pop("description", "")
    return {field: text for field, text in out.items() if text}


def read_bindings(root):
    types, kinds, paths, descriptions = {}, [], {}, {}
    for directory, _, files in os.walk(root):
        for name in sorted(files):
            text = open(os.path.join(directory, name)).read()
            owner = re.search(r"impl crate::schemars::JsonSchema for (\w+)", text)
            if not owner or "json_schema!(" not in text:
                continue
            schema_name = re.search(r'fn schema_name\(\).*?"([^"]+)"\.into\(\)', text, re.S).group(1)
            path = "crate::" + os.path.relpath(directory, root).replace("/", "::") + "::" + owner.group(1)
            paths[path] = schema_name
            schema = parse_schema(body(text, "json_schema!("))
            descriptions[schema_name] = take_descriptions(schema)
            types[schema_name] = (schema, merge_rules(text))
            const = dict(re.findall(r"const (GROUP|KIND|VERSION|URL_PATH_SEGMENT|LIST_KIND): &'static str = \"([^\"]*)\"", text))
            scope = re.search(r"type Scope = crate::(\w+)ResourceScope", text)
            if "KIND" in const and scope and schema_name != META + "Status" and not schema_name.endswith(".v1.List"):
                kinds.append({"type": schema_name, "scope": scope.group(1), "const": const})
    return types, kinds, paths, descriptions


def shared_descriptions(descriptions):
    """The same, with what most types say of a field moved to the type "*"."""
    everywhere = {}
    for field in ("apiVersion", "kind", "metadata"):
        texts = collections.Counter(fields[field] for fields in descriptions.values() if field in fields)
        everywhere[field] = texts.most_common(1)[0][0]
    own = {name: {f: text for f, text in fields.items() if everywhere.get(f) != text} for name, fields in descriptions.items()}
    return {"*": everywhere, **{name: own[name] for name in sorted(own) if own[name]}}


# ---- hints of the genuine servers, and the assembled schemas --------------------------------------------------------

def ask(kubeconfig, path):
    return json.loads(subprocess.check_output(["kubectl", "--kubeconfig", kubeconfig, "get", "--raw", path]))


def hints(kubeconfig):
    """(type, field) -> x-kubernetes-* extensions of that field, and the set of fields the server knows."""
    out = {}
    for name, schema in ask(kubeconfig, "/openapi/v2")["definitions"].items():
        for field, prop in schema.get("properties", {}).items():
            out[name, field] = {k: v for k, v in prop.items() if k.startswith("x-kubernetes-") or k == "default"}
        out[name, None] = {k: v for k, v in schema.items() if k == "x-kubernetes-map-type"}
    return out


def camel(rust):
    head, *rest = rust.rstrip("_").split("_")
    return head + "".join(w.capitalize() for w in rest)


def rewrite(schema, paths):
    if isinstance(schema, list):
        return [rewrite(s, paths) for s in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema and isinstance(schema["$ref"], str):
        return {"$ref": paths[schema["$ref"]]}
    return {k: rewrite(v, paths) for k, v in schema.items()}


def wire_key(rust, prop, types):
    """The wire spelling of a merge key: looked up in the item type, whatever its case."""
    item = prop.get("items", {}).get("$ref")
    fields = types[item][0].get("properties", {}) if item in types else {}
    flat = camel(rust).lower()
    return next((f for f in fields if f.lower() == flat), camel(rust))


def list_rules(prop, rule, known, types):
    how, keys = rule or (None, None)
    if how == "map-atomic":
        return {"x-kubernetes-map-type": "atomic"}
    if known is not None:
        out = {k: v for k, v in known.items() if k[len("x-kubernetes-"):] in LIST_HINTS}
        merge = "merge" in out.get("x-kubernetes-patch-strategy", "").split(",")
        if merge and "x-kubernetes-list-type" not in out and prop.get("type") == "array":
            key = out.get("x-kubernetes-patch-merge-key")
            out["x-kubernetes-list-type"] = "map" if key else "set"
            if key:
                out["x-kubernetes-list-map-keys"] = [key]
        if out or how in (None, "atomic"):
            return {k: v for k, v in out.items() if v != "atomic" or k != "x-kubernetes-list-type"}
    # A list that is merged without a key is atomic.
    if how == "map" and keys:
        keys = [wire_key(k, prop, types) for k in keys]
        out = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
        if len(keys) == 1:
            out |= {"x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": keys[0]}
        return out
    return {"x-kubernetes-list-type": "set"} if how == "set" else {}


def assemble(types, known, overlay):
    out = {}
    for name in sorted(types):
        schema, rules = types[name]
        for field, prop in schema.get("properties", {}).items():
            prop.update(list_rules(prop, rules.get(field), known.get((name, field)), types))
            prop.update(overlay["fields"].get(f"{name}.{field}", {}))
            by_value = overlay["by_value"]["*"] + overlay["by_value"].get(name, [])
            if "$ref" in prop and field in by_value and f"{name}.{field}" not in overlay["by_pointer"]:
                prop["x-by-value"] = True
        schema.update(known.get((name, None), {}))
        schema.update(overlay["types"].get(name, {}))
        # The bindings always have metadata; the server does not ask for it.
        schema["required"] = [field for field in schema.get("required", []) if field != "metadata"] or None
        schema = {k: v for k, v in schema.items() if v is not None}
        if name in overlay["atomic"]:
            schema["x-kubernetes-map-type"] = "atomic"
        out[name] = schema
    unused = [t for t in overlay["atomic"] if t not in types]
    unused += [f for f in overlay["by_pointer"] if f.rsplit(".", 1)[0] not in types]
    unused += [t for t in overlay["by_value"] if t != "*" and t not in types]
    unused += [f for f in overlay["fields"] if f.split(".")[-1] not in types.get(f.rsplit(".", 1)[0], ({},))[0].get("properties", {})]
    if unused:
        sys.exit(f"overlay.json names what the bindings do not have: {unused}")
    return out


# ---- kinds ----------------------------------------------------------------------------------------------------------

def discovered(kubeconfig):
    """(group, plural) -> discovery entries, subresources as "plural/name"; every served version is looked at."""
    places = [("", "/api/v1")]
    for group in ask(kubeconfig, "/apis")["groups"]:
        places += [(group["name"], "/apis/" + v["groupVersion"]) for v in reversed(group["versions"])]
    out = {}
    for group, path in places:
        for entry in ask(kubeconfig, path)["resources"]:
            out[group, entry["name"]] = entry
    return out


def subresources(group, plural, kind, schema, found, overlay):
    extra = overlay["kinds"].get(f"{group}/{plural}", {}).get("subresources", {})
    out = {}
    for (g, name), entry in found.items():
        if g == group and name.startswith(plural + "/"):
            out[name.split("/", 1)[1]] = {k: entry[k] for k in ("group", "version", "kind", "verbs") if k in entry}
    if "status" in schema.get("properties", {}) and "status" not in out and (group, plural) not in found:
        out["status"] = {"kind": kind, "verbs": ["get", "patch", "update"]}
    out.update(extra)
    return [dict(name=n, **out[n]) for n in sorted(out) if out[n]]


def assemble_kinds(kinds, types, found, overlay):
    out = []
    for entry in kinds:
        const, scope = entry["const"], entry["scope"]
        group, plural, kind = const.get("GROUP", ""), const["URL_PATH_SEGMENT"], const["KIND"]
        if scope == "Sub" or not plural:
            continue
        seen = found.get((group, plural), {})
        extra = overlay["kinds"].get(f"{group}/{plural}", {})
        listable = "LIST_KIND" in const
        subs = subresources(group, plural, kind, types[entry["type"]], found, overlay) if listable else []
        out.append({
            "group": group, "version": const["VERSION"], "kind": kind, "plural": plural, "singular": kind.lower(),
            "short_names": extra.get("short_names", seen.get("shortNames", [])),
            "categories": extra.get("categories", seen.get("categories", [])),
            "namespaced": scope == "Namespace",
            "verbs": extra.get("verbs", seen.get("verbs", LIST_VERBS if listable else ["create"])),
            "subresources": [{"group": "", "version": "", **s} for s in subs],
            "list_kind": const.get("LIST_KIND", ""), "type_name": entry["type"],
        })
    return sorted(out, key=lambda k: (k["group"], k["version"], k["plural"]))


# ---- roles ----------------------------------------------------------------------------------------------------------

ROLES = ["cluster-admin", "admin", "edit", "view", "system:aggregate-to-admin", "system:aggregate-to-edit",
         "system:aggregate-to-view", "system:basic-user", "system:discovery", "system:public-info-viewer"]
BINDINGS = ["cluster-admin", "system:basic-user", "system:discovery", "system:public-info-viewer"]


def roles(kubeconfig, overlay):
    """What a new server has, with the rules that later versions added; aggregated rules are computed by the server."""
    out = []
    for plural, names in (("clusterroles", ROLES), ("clusterrolebindings", BINDINGS)):
        for name in names:
            seen = ask(kubeconfig, f"/apis/rbac.authorization.k8s.io/v1/{plural}/{name}")
            role = {"aggregationRule": seen["aggregationRule"]} if "aggregationRule" in seen else {}
            role |= {key: seen[key] for key in ("apiVersion", "kind")}
            role["metadata"] = {key: seen["metadata"][key] for key in ("name", "labels", "annotations")}
            if "rules" in seen:
                added = overlay["rules"].get(name, [])
                rules = [] if "aggregationRule" in seen else seen["rules"] + added
                role["rules"] = [dict(sorted(rule.items())) for rule in rules]
            role |= {key: seen[key] for key in ("roleRef", "subjects") if key in seen}
            out.append(role)
    return out


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    root, core, modern = sys.argv[1:]
    overlay = json.load(open(os.path.join(HERE, "overlay.json")))
    types, kinds, paths, descriptions = read_bindings(root)
    types = {name: (rewrite(schema, paths), rules) for name, (schema, rules) in types.items()}
    schemas = assemble(types, hints(core) | hints(modern), overlay)
    lists = {k["type"] for k in kinds}
    lines = [f"{name}\t{json.dumps(schema, separators=(',', ':'), sort_keys=True)}\n" for name, schema in schemas.items()]
    with open(os.path.join(HERE, "types.jsonl"), "w") as f:
        f.writelines(lines)
    with open(os.path.join(HERE, "descriptions.jsonl"), "w") as f:
        f.writelines(f"{name}\t{json.dumps(texts, ensure_ascii=False, separators=(',', ':'))}\n"
                     for name, texts in shared_descriptions(descriptions).items())
    table = assemble_kinds(kinds, schemas, discovered(core), overlay)
    with open(os.path.join(HERE, "kinds.jsonl"), "w") as f:
        f.writelines(json.dumps(k, separators=(",", ":")) + "\n" for k in table)
    with open(os.path.join(HERE, "rbac.jsonl"), "w") as f:
        f.writelines(json.dumps(role, separators=(",", ":")) + "\n" for role in roles(core, overlay))
    print(f"{len(table)} kinds, {len(lines)} types, {len(lists)} with a kind of their own", file=sys.stderr)


if __name__ == "__main__":
    main()
