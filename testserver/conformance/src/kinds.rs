//! The kinds that cases work on: the suite's own custom resources and some built-in ones.

use serde_json::{Value, json};

/// A kind and its path; `group` is `None` for the run's own group.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) group: Option<&'static str>,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) namespaced: bool,
}

const fn own(kind: &'static str, plural: &'static str, namespaced: bool) -> Kind {
    Kind { group: None, version: "v1", kind, plural, namespaced }
}

const fn builtin(group: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind { group: Some(group), version: "v1", kind, plural, namespaced: true }
}

/// Namespaced, with status and scale subresources, list and map types, and printer columns: used by most cases.
pub(crate) const WIDGET: Kind = own("Widget", "widgets", true);
/// Namespaced, without subresources, with a schema that uses all validations and defaults.
pub(crate) const GADGET: Kind = own("Gadget", "gadgets", true);
/// Namespaced, with a status subresource and many CEL rules.
pub(crate) const RULED: Kind = own("Ruled", "ruleds", true);
/// Namespaced, with the fields of the recorded values.
pub(crate) const SAMPLE: Kind = own("Sample", "samples", true);
/// Cluster-scoped, unstructured.
pub(crate) const COG: Kind = own("Cog", "cogs", false);
/// A built-in kind that only the suite writes.
pub(crate) const LEASE: Kind = builtin("coordination.k8s.io", "Lease", "leases");
pub(crate) const CONFIG_MAP: Kind = builtin("", "ConfigMap", "configmaps");
pub(crate) const SECRET: Kind = builtin("", "Secret", "secrets");
pub(crate) const SERVICE: Kind = builtin("", "Service", "services");
pub(crate) const POD: Kind = builtin("", "Pod", "pods");
pub(crate) const DEPLOYMENT: Kind = builtin("apps", "Deployment", "deployments");

/// The kinds whose CRDs a run creates.
pub(crate) const ALL: [&Kind; 5] = [&WIDGET, &GADGET, &RULED, &SAMPLE, &COG];

/// The CRD of one of this run's kinds.
pub(crate) fn crd(kind: &Kind, group: &str) -> Value {
    let mut crd = plain_crd(group, kind.kind, kind.plural, schema(kind));
    let version = &mut crd["spec"]["versions"][0];
    if kind.kind == WIDGET.kind {
        version["subresources"] = json!({
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"},
        });
        version["additionalPrinterColumns"] = json!([
            {"name": "Holder", "type": "string", "jsonPath": ".spec.holderIdentity"},
            {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas", "priority": 1},
        ]);
        version["selectableFields"] = json!([{"jsonPath": ".spec.color"}]);
        crd["spec"]["names"]["shortNames"] = json!([format!("w{}", &group[..8])]);
        crd["spec"]["names"]["categories"] = json!(["conformance"]);
    }
    if kind.kind == RULED.kind {
        crd["spec"]["versions"][0]["subresources"] = json!({"status": {}});
    }
    if !kind.namespaced {
        crd["spec"]["scope"] = json!("Cluster");
    }
    crd
}

/// A CRD with one version `v1`, namespaced, no subresources.
pub(crate) fn plain_crd(group: &str, kind: &str, plural: &str, schema: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

/// The schema of one of this run's kinds.
fn schema(kind: &Kind) -> Value {
    match kind.kind {
        "Widget" => widget(),
        "Gadget" => gadget(),
        "Ruled" => ruled(),
        "Sample" => sample(),
        _ => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
    }
}

fn widget() -> Value {
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "holderIdentity": {"type": "string"},
            "leaseTransitions": {"type": "integer"},
            "leaseDurationSeconds": {"type": "integer"},
            "replicas": {"type": "integer"},
            "color": {"type": "string"},
            "steps": {"type": "array", "items": {"type": "string"}},
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "required": ["name"],
                    "properties": {"name": {"type": "string"}, "port": {"type": "integer"}, "note": {"type": "string"}}}},
            "settings": {"type": "object", "additionalProperties": {"type": "string"}},
            "sealed": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        }},
        "status": {"type": "object", "properties": {
            "phase": {"type": "string"},
            "replicas": {"type": "integer"},
            "selector": {"type": "string"},
        }},
    }})
}

fn gadget() -> Value {
    json!({"type": "object", "required": ["spec"], "properties": {
        "spec": {"type": "object", "required": ["size"], "properties": {
            "size": {"type": "integer", "minimum": 1, "maximum": 10},
            "even": {"type": "integer", "multipleOf": 2},
            "ratio": {"type": "number", "minimum": 0, "exclusiveMinimum": true},
            "flag": {"type": "boolean"},
            "name": {"type": "string", "pattern": "^[a-z]+$"},
            "code": {"type": "string", "minLength": 2, "maxLength": 4},
            "mode": {"type": "string", "enum": ["fast", "slow"]},
            "when": {"type": "string", "format": "date-time"},
            "list": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"],
                "items": {"type": "object", "required": ["key"], "properties": {"key": {"type": "string"}, "value": {"type": "string"}}}},
            "few": {"type": "object", "maxProperties": 1, "additionalProperties": {"type": "integer"}},
            "port": {"x-kubernetes-int-or-string": true},
            "maybe": {"type": "string", "nullable": true},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"known": {"type": "integer"},
                "shut": {"type": "object", "properties": {"inner": {"type": "string"}}}}},
            "level": {"type": "integer", "default": 3},
            "nested": {"type": "object", "properties": {"deep": {"type": "string", "default": "yes"}, "other": {"type": "string"}}},
            "filled": {"type": "object", "default": {}, "properties": {"inside": {"type": "string", "default": "made"}}},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}, "weight": {"type": "integer", "default": 1}}}},
            "choice": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            "not9": {"type": "integer", "not": {"enum": [9]}},
            "embedded": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
            "low": {"type": "integer"},
            "high": {"type": "integer"},
            "fixed": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed is immutable"}]},
        }, "x-kubernetes-validations": [
            {"rule": "!has(self.low) || !has(self.high) || self.low <= self.high", "message": "low must not exceed high"},
            {"rule": "!has(self.low) || self.low != 13", "messageExpression": "has(self.high) ? 'low is 13 with a high' : 'low is 13'", "reason": "FieldValueForbidden", "fieldPath": ".low"},
        ]},
    }})
}

fn sample() -> Value {
    let fields: Value = serde_json::from_str(include_str!("../recorded/fields.json"))
        .expect("invariant: the fields are JSON");
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}})
}

fn ruled() -> Value {
    let text = json!({"type": "string", "maxLength": 20});
    let with = |schema: Value, rules: Value| {
        let mut schema = schema;
        schema["x-kubernetes-validations"] = rules;
        schema
    };
    let integer = |rules: Value| with(json!({"type": "integer"}), rules);
    let texts = |kind: &str, rules: Value| {
        let list = json!({"type": "array", "maxItems": 5, "x-kubernetes-list-type": kind, "items": text});
        with(list, rules)
    };
    let pair_rules = json!([
        {"rule": "self.a != self.b", "fieldPath": ".a", "reason": "FieldValueDuplicate"},
        {"rule": "!has(self.b) || self.b != 'forbidden'", "fieldPath": ".b", "reason": "FieldValueForbidden", "messageExpression": "'not ' + self.b"},
    ]);
    let map_rules = json!([{"rule": "self.all(k, k != 'x')"}, {"rule": "!('w' in self)", "fieldPath": "['w']", "message": "no w"}]);
    let item = json!({"type": "object", "required": ["k"], "properties": {
        "k": text, "v": integer(json!([{"rule": "self >= oldSelf", "message": "must not shrink"}]))}});
    let spec = json!({"type": "object", "properties": {
        "number": integer(json!([{"rule": "self > 5"}])),
        "text": with(text.clone(), json!([{"rule": "self.startsWith('a')", "message": "must start with a"}])),
        "flag": with(json!({"type": "boolean"}), json!([{"rule": "self"}])),
        "ratio": with(json!({"type": "number"}), json!([{"rule": "self > 0.5"}])),
        "pattern": {"type": "string", "pattern": "^[a-z]+$"},
        "list": {"type": "array", "maxItems": 5, "items": with(text.clone(), json!([{"rule": "self != 'bad'"}])),
            "x-kubernetes-validations": [{"rule": "self.size() < 3"}]},
        "map": {"type": "object", "maxProperties": 5, "additionalProperties": integer(json!([{"rule": "self > 0"}])),
            "x-kubernetes-validations": map_rules},
        "pair": with(json!({"type": "object", "properties": {"a": text, "b": text}}), pair_rules),
        "need": with(json!({"type": "object", "properties": {"p": text}}),
            json!([{"rule": "has(self.p)", "fieldPath": ".p", "reason": "FieldValueRequired", "message": "need p"}])),
        "divisor": integer(json!([{"rule": "10 / self > 1"}])),
        "when": with(json!({"type": "string", "format": "date-time"}), json!([{"rule": "self > timestamp('2020-01-01T00:00:00Z')"}])),
        "lasts": with(json!({"type": "string", "format": "duration"}), json!([{"rule": "self < duration('10m')"}])),
        "port": with(json!({"x-kubernetes-int-or-string": true}), json!([{"rule": "type(self) == int ? self > 3 : self == 'x'"}])),
        "name-x": text, "in": text, "while": text, "loop": text,
        "maybe": with(json!({"type": "object", "nullable": true, "properties": {"z": text}}), json!([{"rule": "has(self.z)"}])),
        "fixed": with(text.clone(), json!([{"rule": "self == oldSelf", "message": "fixed for ever"}])),
        "items": {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": item},
        "set": texts("set", json!([{"rule": "oldSelf.all(x, x in self)", "message": "only grows"}])),
        "fixedset": texts("set", json!([{"rule": "self == oldSelf"}])),
        "counter": integer(json!([{"rule": "oldSelf.hasValue() || self == 1", "optionalOldSelf": true, "message": "starts at 1"}])),
        "blank": integer(json!([{"rule": "self == 1", "messageExpression": "'  '", "message": "fallback"}])),
    }, "x-kubernetes-validations": [
        {"rule": "!has(self.name__dash__x) || self.name__dash__x != 'z'"},
        {"rule": "!has(self.__while__) || self.__while__ != 'z'"},
        {"rule": "!has(self.loop) || self.loop != 'z'"},
        {"rule": "!has(self.__in__) || self.__in__ != 'z'"},
    ]});
    let status =
        json!({"type": "object", "properties": {"seen": integer(json!([{"rule": "self >= oldSelf"}]))}});
    json!({"type": "object", "properties": {"spec": spec, "status": status}, "x-kubernetes-validations": [
        {"rule": "self.metadata.name != 'forbidden'"},
        {"rule": "self.kind == 'Ruled' && self.apiVersion.endsWith('/v1')"},
    ]})
}
