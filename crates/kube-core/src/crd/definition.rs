//! The definition of a derived kind, from what the attributes of the derive say. The derive writes these as one constant, and the rest is
//! here, so that the generated code stays short.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec, CustomResourceDefinitionVersion, CustomResourceSubresourceScale,
    CustomResourceSubresourceStatus, CustomResourceSubresources, CustomResourceValidation, JSONSchemaProps,
    SelectableField,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

type Text = &'static str;

/// What the attributes of `#[derive(CustomResource)]` say.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the fields are named like the attributes")]
pub struct Definition {
    pub group: Text,
    pub version: Text,
    pub kind: Text,
    pub singular: Text,
    pub plural: Text,
    pub namespaced: bool,
    pub short_names: &'static [Text],
    pub categories: &'static [Text],
    pub annotations: &'static [(Text, Text)],
    pub labels: &'static [(Text, Text)],
    pub served: bool,
    pub storage: bool,
    pub columns: &'static [Column],
    pub selectable: &'static [Text],
    pub status: bool,
    pub scale: Option<Scale>,
    pub deprecated: bool,
    pub deprecation_warning: Option<Text>,
}

/// A column of `kubectl get`.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the fields are named like the attributes")]
pub struct Column {
    pub name: Text,
    pub type_: Text,
    pub json_path: Text,
    pub description: Option<Text>,
    pub format: Option<Text>,
    pub priority: Option<i32>,
}

/// The scale subresource.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the fields are named like the attributes")]
pub struct Scale {
    pub spec_replicas_path: Text,
    pub status_replicas_path: Text,
    pub label_selector_path: Option<Text>,
}

impl Definition {
    /// The definition with this schema. Empty lists are omitted, because API servers drop them: a comparison with the stored
    /// definition would always show a difference.
    #[must_use]
    pub fn crd(&self, schema: Option<JSONSchemaProps>) -> CustomResourceDefinition {
        CustomResourceDefinition {
            metadata: ObjectMeta {
                name: Some(format!("{}.{}", self.plural, self.group)),
                annotations: map(self.annotations),
                labels: map(self.labels),
                ..ObjectMeta::default()
            },
            spec: CustomResourceDefinitionSpec {
                group: self.group.to_owned(),
                scope: if self.namespaced { "Namespaced" } else { "Cluster" }.to_owned(),
                names: CustomResourceDefinitionNames {
                    kind: self.kind.to_owned(),
                    plural: self.plural.to_owned(),
                    singular: Some(self.singular.to_owned()),
                    short_names: list(self.short_names, owned),
                    categories: list(self.categories, owned),
                    ..CustomResourceDefinitionNames::default()
                },
                versions: vec![self.version(schema)],
                ..CustomResourceDefinitionSpec::default()
            },
            ..CustomResourceDefinition::default()
        }
    }

    fn version(&self, schema: Option<JSONSchemaProps>) -> CustomResourceDefinitionVersion {
        CustomResourceDefinitionVersion {
            name: self.version.to_owned(),
            served: self.served,
            storage: self.storage,
            schema: schema.map(|schema| CustomResourceValidation { open_api_v3_schema: Some(schema) }),
            additional_printer_columns: list(self.columns, Column::definition),
            selectable_fields: list(self.selectable, |path| SelectableField { json_path: owned(path) }),
            subresources: self.status.then(|| CustomResourceSubresources {
                status: Some(CustomResourceSubresourceStatus(serde_json::json!({}))),
                scale: self.scale.as_ref().map(Scale::definition),
            }),
            deprecated: self.deprecated.then_some(true),
            deprecation_warning: self.deprecation_warning.map(str::to_owned),
        }
    }
}

impl Column {
    fn definition(&self) -> CustomResourceColumnDefinition {
        CustomResourceColumnDefinition {
            name: self.name.to_owned(),
            type_: self.type_.to_owned(),
            json_path: self.json_path.to_owned(),
            description: self.description.map(str::to_owned),
            format: self.format.map(str::to_owned),
            priority: self.priority,
        }
    }
}

impl Scale {
    fn definition(&self) -> CustomResourceSubresourceScale {
        CustomResourceSubresourceScale {
            spec_replicas_path: self.spec_replicas_path.to_owned(),
            status_replicas_path: self.status_replicas_path.to_owned(),
            label_selector_path: self.label_selector_path.map(str::to_owned),
        }
    }
}

fn owned(text: &Text) -> String {
    (*text).to_owned()
}

fn list<T, U>(items: &[T], convert: impl Fn(&T) -> U) -> Option<Vec<U>> {
    (!items.is_empty()).then(|| items.iter().map(convert).collect())
}

fn map(entries: &[(Text, Text)]) -> Option<BTreeMap<String, String>> {
    let entry = |(key, value): &(Text, Text)| (owned(key), owned(value));
    (!entries.is_empty()).then(|| entries.iter().map(entry).collect())
}
