//! How servers merge the values of a kind: the lists with keys, and the maps that belong to one manager as a whole.

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use serde_json::Value;

/// Where lists with keys and atomic maps are in a value. The rest is left out.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MergeType {
    /// A scalar, a struct or a map of which each entry has its own managers, and nothing of interest in it.
    Other,
    /// A struct or map that has one manager (`x-kubernetes-map-type: atomic`).
    Atomic,
    Struct(BTreeMap<String, MergeType>),
    /// A map with free keys.
    Map(Box<MergeType>),
    /// A list, with the keys that each of its items needs; none if it is not merged by keys.
    List {
        keys: Vec<String>,
        item: Box<MergeType>,
    },
    /// A type of the table.
    Reference(String),
}

impl MergeType {
    /// A built-in kind as Kubernetes 1.37 has it, alpha and beta versions included; `None` for other kinds. The first call in a process
    /// reads the table: about 1 ms.
    pub(super) fn of_built_in(api_version: &str, kind: &str) -> Option<&'static Self> {
        BUILT_IN.types.get(BUILT_IN.kinds.get(&(api_version, kind))?)
    }

    /// The type of `metadata`.
    pub(super) fn of_metadata() -> Self {
        Self::Reference("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta".into())
    }

    /// From an OpenAPI schema.
    pub(super) fn of_schema(schema: &Value) -> Self {
        if let Some(name) = schema["$ref"].as_str() {
            return Self::Reference(name.to_owned());
        }
        if schema["x-kubernetes-map-type"] == "atomic" {
            return Self::Atomic;
        }
        if let Some(items) = schema.get("items") {
            return match (needed_keys(schema, items), Self::of_schema(items)) {
                (keys, Self::Other) if keys.is_empty() => Self::Other,
                (keys, item) => Self::List { keys, item: Box::new(item) },
            };
        }
        let fields = schema["properties"].as_object().into_iter().flatten();
        let fields = fields.map(|(name, schema)| (name.clone(), Self::of_schema(schema)));
        let fields: BTreeMap<_, _> = fields.filter(|(_, part)| *part != Self::Other).collect();
        match schema.get("additionalProperties").map(Self::of_schema) {
            _ if !fields.is_empty() => Self::Struct(fields),
            Some(Self::Other) | None => Self::Other,
            Some(values) => Self::Map(Box::new(values)),
        }
    }

    pub(super) fn is_atomic(&self) -> bool {
        *self.resolved() == Self::Atomic
    }

    /// The type of a field, or of the value of a map.
    pub(super) fn field(&self, name: &str) -> &Self {
        match self.resolved() {
            Self::Struct(fields) => fields.get(name).unwrap_or(&Self::Other),
            Self::Map(values) => values,
            _ => &Self::Other,
        }
    }

    /// The type of the items of a list.
    pub(super) fn item(&self) -> &Self {
        match self.resolved() {
            Self::List { item, .. } => item,
            _ => &Self::Other,
        }
    }

    /// The keys that each item of a list needs.
    pub(super) fn keys(&self) -> &[String] {
        match self.resolved() {
            Self::List { keys, .. } => keys,
            _ => &[],
        }
    }

    fn resolved(&self) -> &Self {
        match self {
            Self::Reference(name) => BUILT_IN.types.get(name.as_str()).unwrap_or(&Self::Other),
            own => own,
        }
    }
}

/// A server asks for at least one of the keys that have no default, and validation for those that are required.
fn needed_keys(list: &Value, item: &Value) -> Vec<String> {
    if list["x-kubernetes-list-type"] != "map" {
        return Vec::new();
    }
    let keys: Vec<_> = list["x-kubernetes-list-map-keys"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let is_required = |key: &str| {
        item["required"].as_array().is_some_and(|required| required.iter().any(|name| name == key))
    };
    let has_default = |key: &str| item["properties"][key].get("default").is_some();
    let is_needed = |key: &&&str| !has_default(key) && (is_required(key) || keys.len() == 1);
    keys.iter().filter(is_needed).map(ToString::to_string).collect()
}

/// The built-in types, from the OpenAPI documents of a server. `testserver/generators/merge_types.py` writes them: a line has the name
/// of a type, its `apiVersion` and `kind` if it is one, and what is of use of its schema.
struct BuiltIn {
    types: HashMap<&'static str, MergeType>,
    /// By `apiVersion` and `kind`.
    kinds: HashMap<(&'static str, &'static str), &'static str>,
}

static BUILT_IN: LazyLock<BuiltIn> = LazyLock::new(|| {
    let mut table = BuiltIn { types: HashMap::new(), kinds: HashMap::new() };
    for line in include_str!("merge_types.tsv").lines() {
        let [name, kind, schema] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
        table.kinds.extend(kind.split_once(' ').map(|kind| (kind, name)));
        let schema: Value = serde_json::from_str(schema).unwrap_or_default();
        table.types.insert(name, MergeType::of_schema(&schema));
    }
    table
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_used_and_every_reference_leads_to_one() {
        fn check(of: &str, part: &MergeType) {
            match part {
                MergeType::Reference(name) => {
                    assert!(BUILT_IN.types.contains_key(name.as_str()), "{of}: {name}")
                }
                MergeType::Struct(fields) => fields.values().for_each(|part| check(of, part)),
                MergeType::Map(part) | MergeType::List { item: part, .. } => check(of, part),
                MergeType::Other | MergeType::Atomic => {}
            }
        }
        for (name, part) in &BUILT_IN.types {
            assert_ne!(*part, MergeType::Other, "{name}");
            check(name, part);
        }
        assert_eq!(BUILT_IN.types.len(), include_str!("merge_types.tsv").lines().count());
        assert!(BUILT_IN.kinds.len() > 60, "{}", BUILT_IN.kinds.len());
    }

    #[test]
    fn built_in_kinds_know_their_keys_and_atomic_maps() {
        let deployment = MergeType::of_built_in("apps/v1", "Deployment").unwrap();
        let template = deployment.field("spec").field("template").field("spec");
        assert_eq!(template.field("containers").keys(), ["name"]);
        let ports = template.field("containers").item().field("ports");
        assert_eq!(ports.keys(), ["containerPort"], "protocol has a default");
        assert_eq!(template.field("topologySpreadConstraints").keys(), ["topologyKey", "whenUnsatisfiable"]);
        assert!(template.field("imagePullSecrets").keys().is_empty(), "the name has a default");
        assert!(deployment.field("spec").field("selector").is_atomic());
        assert!(template.field("nodeSelector").is_atomic());
        assert!(!deployment.field("spec").field("strategy").is_atomic());
        assert_eq!(MergeType::of_built_in("example.com/v1", "Deployment"), None);
        assert_eq!(MergeType::of_metadata().field("ownerReferences").keys(), ["uid"]);
    }
}
