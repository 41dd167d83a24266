//! A resource, its versions and subresources, and the endpoint that requests address.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use serde_json::Value;

use super::{
    builtin::{self, BuiltInKind},
    equivalent::{self, StorageEquivalent},
    fields::{self, ScalePaths},
};
use crate::{
    gotypes::{self, GoStruct},
    object::{meta, selector::FieldSource},
    schema::Schema,
};

/// Identifies the table of a resource in the [`Store`](crate::storage::Store); not reused after its resource is no longer served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TableId(pub(crate) usize);

/// A resource: a table of objects and the served versions.
#[derive(Debug)]
pub(crate) struct Resource {
    /// Empty for the core group.
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    /// Empty for kinds that are only created, such as reviews.
    pub(crate) list_kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    /// Defined by a CRD, not built in.
    pub(crate) custom: bool,
    /// Its CRD is being deleted: nothing can be created.
    pub(crate) terminating: bool,
    pub(crate) table: TableId,
    /// The `clientConfig` of the conversion webhook; without one, versions differ in name only.
    pub(crate) conversion: Option<Value>,
    /// Set if its objects are stored as another kind.
    pub(crate) equivalent: Option<StorageEquivalent>,
    pub(crate) versions: Vec<Version>,
}

/// One version of a resource.
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) served: bool,
    /// Whether this is the storage version.
    pub(crate) storage: bool,
    pub(crate) verbs: Vec<String>,
    pub(crate) subresources: Vec<Subresource>,
    pub(crate) scale: Option<ScalePaths>,
    /// Printer columns after the name; of custom resources only.
    #[cfg(feature = "tables")]
    pub(crate) columns: Vec<super::PrinterColumn>,
    /// Sent with every response of a deprecated version.
    pub(crate) warning: Option<String>,
    pub(crate) selectable: Vec<String>,
    pub(crate) schema: OnceLock<Schema>,
    pub(crate) built_in: Option<&'static BuiltInKind>,
    /// Of built-in kinds only.
    pub(crate) go_type: Option<&'static GoStruct>,
}

/// A subresource and its kind.
#[derive(Clone, Debug)]
pub(crate) struct Subresource {
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) verbs: Vec<String>,
}

/// A resource in one of its versions, as requests address it.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) resource: Arc<Resource>,
    pub(crate) version: usize,
}

impl Endpoint {
    pub(crate) fn version(&self) -> &Version {
        &self.resource.versions[self.version]
    }

    pub(crate) fn group(&self) -> &str {
        &self.resource.group
    }

    /// Group, version and plural.
    pub(super) fn path(&self) -> (&str, &str, &str) {
        (self.group(), &self.version().name, self.plural())
    }

    pub(crate) fn plural(&self) -> &str {
        &self.resource.plural
    }

    pub(crate) fn kind(&self) -> &str {
        &self.resource.kind
    }

    pub(crate) fn api_version(&self) -> String {
        meta::api_version(&self.resource.group, &self.version().name)
    }

    pub(crate) fn schema(&self) -> &Schema {
        self.version().schema()
    }

    /// The Go type of a built-in kind.
    pub(crate) fn go_type(&self) -> Option<&'static GoStruct> {
        self.version().go_type
    }

    pub(crate) fn allows(&self, verb: &str) -> bool {
        self.version().verbs.iter().any(|v| v == verb)
    }

    pub(crate) fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.version().subresources.iter().find(|s| s.name == name)
    }

    pub(crate) fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// Whether a field is selectable.
    pub(crate) fn selects(&self, field: &str) -> bool {
        match field {
            "metadata.name" => true,
            "metadata.namespace" => self.resource.namespaced,
            _ if self.resource.custom => self.version().selectable.iter().any(|f| f == field),
            _ => fields::selectable(&self.resource.group, &self.resource.plural)
                .any(|selectable| selectable == field),
        }
    }

    /// Where the value of a selectable field comes from, if not from its path alone.
    pub(crate) fn field_source(&self, field: &str) -> Option<FieldSource> {
        let built_in = !self.resource.custom;
        built_in.then(|| fields::source(&self.resource.group, &self.resource.plural, field)).flatten()
    }

    /// The error for a field selector with a field that is not selectable.
    pub(crate) fn refuses_field(&self, field: &str) -> String {
        let plain = !self.resource.custom
            && fields::selectable(&self.resource.group, &self.resource.plural).next().is_none();
        match (self.resource.kind.as_str(), plain) {
            ("Job", _) => format!("field label {field:?} not supported for Job"),
            (_, true) => format!(
                "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            ),
            (_, false) => format!("field label not supported: {field}"),
        }
    }

    /// Whether this is the resource with this plural in the core group.
    pub(crate) fn is_core(&self, plural: &str) -> bool {
        self.resource.is("", plural)
    }
}

/// Whether this is the resource of CustomResourceDefinitions.
pub(crate) fn is_definition(group: &str, plural: &str) -> bool {
    group == "apiextensions.k8s.io" && plural == "customresourcedefinitions"
}

impl Resource {
    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural
    }

    /// Whether its objects define other resources.
    pub(crate) fn is_definition(&self) -> bool {
        is_definition(&self.group, &self.plural)
    }

    /// All versions, served or not.
    pub(crate) fn all_versions(self: &Arc<Self>) -> impl Iterator<Item = Endpoint> {
        (0..self.versions.len()).map(|version| Endpoint { resource: self.clone(), version })
    }

    /// The storage version.
    pub(crate) fn storage(self: &Arc<Self>) -> Endpoint {
        let version = self.versions.iter().position(|v| v.storage).unwrap_or(0);
        Endpoint { resource: self.clone(), version }
    }

    /// A stored object as reads in its own version see it: pruned and defaulted by the schema that the version has now. `None` when it is
    /// stored like that.
    pub(crate) fn as_read(&self, stored: &Value) -> Option<Value> {
        let (_, name) = meta::split_api_version(stored["apiVersion"].as_str().unwrap_or_default());
        let version = self.versions.iter().find(|version| version.name == name).filter(|_| self.custom)?;
        let mut object = stored.clone();
        version.schema().prune(&mut object);
        version.schema().default(&mut object);
        (object != *stored).then_some(object)
    }

    /// Removes what the schema of a version lacks.
    pub(crate) fn prune_to(&self, api_version: &str, object: &mut Value) {
        let (_, name) = meta::split_api_version(api_version);
        if let Some(version) = self.versions.iter().find(|version| version.name == name) {
            version.schema().prune(object);
        }
    }

    /// The table is set later.
    pub(super) fn built_in(kind: &'static BuiltInKind) -> Self {
        let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let subresources = kind.subresources.iter().map(|sub| Subresource {
            name: sub.name.into(),
            group: if sub.version.is_empty() { kind.group } else { sub.group }.into(),
            version: if sub.version.is_empty() { kind.version } else { sub.version }.into(),
            kind: sub.kind.into(),
            verbs: owned(&sub.verbs),
        });
        let equivalent = equivalent::of(kind);
        let version = Version {
            name: kind.version.into(),
            served: true,
            storage: equivalent.is_none(),
            verbs: owned(&kind.verbs),
            subresources: subresources.collect(),
            scale: fields::scale_paths(kind.group, kind.plural),
            #[cfg(feature = "tables")]
            columns: Vec::new(),
            warning: kind.warning.map(Into::into),
            selectable: Vec::new(),
            schema: OnceLock::new(),
            built_in: Some(kind),
            go_type: gotypes::by_name(kind.type_name),
        };
        Self {
            group: kind.group.into(),
            plural: kind.plural.into(),
            singular: kind.singular.into(),
            kind: kind.kind.into(),
            list_kind: kind.list_kind.into(),
            short_names: owned(&kind.short_names),
            categories: owned(&kind.categories),
            namespaced: kind.namespaced,
            custom: false,
            terminating: false,
            table: TableId::default(),
            conversion: None,
            equivalent,
            versions: vec![version],
        }
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Version")
            .field("name", &self.name)
            .field("served", &self.served)
            .finish_non_exhaustive()
    }
}

impl Version {
    /// Parsed when first needed.
    pub(crate) fn schema(&self) -> &Schema {
        self.schema.get_or_init(|| {
            let kind =
                self.built_in.expect("invariant: versions of custom resources are made with their schema");
            builtin::schema(kind)
        })
    }

    /// The name of the type in OpenAPI documents; built-in kinds only.
    pub(crate) fn type_name(&self) -> Option<&'static str> {
        self.built_in.map(|kind| kind.type_name)
    }
}
