//! What users do: they create the samples, and change a value of each kind. A server in this process says what the definitions accept.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use cargo_kube::check::changes;
use cargo_kube::types::Definitions;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::Client;
use kube_client::api::PatchParams;
use kube_core::DynamicObject;
use kube_testserver::ApiServer;
use kube_tools::yaml::{Applier, Objects};
use serde_json::{Value, json};

/// The objects of the steps, beside the samples.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Workload {
    /// Namespaces that the samples need.
    pub(super) namespaces: Vec<Value>,
    /// The first sample of each kind with another value, if the definition accepts one.
    pub(super) changed: Vec<Value>,
}

/// The workload for samples that were read from `place`; definitions among them are none. An error if a kind has no sample, or if one is
/// refused.
pub(super) async fn workload(definitions: &Definitions, samples: &Objects, place: &str) -> Result<Workload> {
    let without_definitions = without_definitions(samples)?;
    let samples = without_definitions.as_ref().unwrap_or(samples);
    let first_of = |definition: &CustomResourceDefinition| {
        let first = samples.iter().find(|sample| is_of(sample, definition));
        first.with_context(|| {
            let (kind, group) = (&definition.spec.names.kind, &definition.spec.group);
            format!("{place}: expected an object of each kind, found none of {kind} in {group}")
        })
    };
    let firsts = definitions.iter().map(first_of).collect::<Result<Vec<_>>>()?;
    let namespaces = namespaces(samples);
    let applier = applier(definitions, &namespaces)?;
    let params = PatchParams::apply("user").force();
    applier.apply(samples, &params).await.into_result().with_context(|| place.to_owned())?;

    let mut changed = Vec::new();
    for sample in firsts {
        for candidate in changes(&serde_json::to_value(sample)?) {
            let mut objects = Objects::default();
            objects.add(&candidate)?;
            if applier.apply(&objects, &params).await.into_result().is_ok() {
                changed.push(candidate);
                break;
            }
        }
    }
    Ok(Workload { namespaces, changed })
}

fn kind(object: &DynamicObject) -> &str {
    object.types.as_ref().map_or("", |types| types.kind.as_str())
}

/// The others, if a folder has both.
fn without_definitions(objects: &Objects) -> Result<Option<Objects>> {
    let is_definition = |object: &&DynamicObject| kind(object) == "CustomResourceDefinition";
    if !objects.iter().any(|object| is_definition(&object)) {
        return Ok(None);
    }
    let mut others = Objects::default();
    objects.iter().filter(|object| !is_definition(object)).try_for_each(|object| others.add(object))?;
    Ok(Some(others))
}

fn is_of(object: &DynamicObject, definition: &CustomResourceDefinition) -> bool {
    let group = object.types.as_ref().and_then(|types| types.api_version.split_once('/'));
    kind(object) == definition.spec.names.kind
        && group.is_some_and(|(group, _)| group == definition.spec.group)
}

/// Those that are samples themselves, and those of samples. `default` is always there.
fn namespaces(samples: &Objects) -> Vec<Value> {
    let names = samples.iter().filter_map(|sample| match kind(sample) {
        "Namespace" => sample.metadata.name.as_deref(),
        _ => sample.metadata.namespace.as_deref(),
    });
    let names: BTreeSet<_> = names.filter(|name| *name != "default").collect();
    let namespace =
        |name: &str| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    names.into_iter().map(namespace).collect()
}

/// For a new server that has the definitions and the namespaces. Nobody serves conversions there.
fn applier(definitions: &Definitions, namespaces: &[Value]) -> Result<Applier> {
    let without_conversion = |definition: &CustomResourceDefinition| {
        let mut definition = definition.clone();
        definition.spec.conversion = None;
        definition
    };
    let server = ApiServer::builder()
        .with_crds(definitions.iter().map(without_conversion).collect::<Vec<_>>())
        .with_objects(namespaces)
        .service()?;
    Ok(Applier::new(Client::new(server, "default")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `color` cannot be changed at all, `first` only to a longer text, which its limit refuses.
    const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pages.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Page, plural: pages}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://localhost/'}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [first]
            properties:
              color: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}
              first: {type: string, maxLength: 3}
              replicas: {type: integer, maximum: MAXIMUM}
";

    const SAMPLE: &str = "
apiVersion: example.com/v1
kind: Page
metadata: {name: a, namespace: shop}
spec: {color: red, first: one, replicas: 3}
";

    async fn of(maximum: &str, samples: &str) -> Result<Workload> {
        let definitions = Definitions::parse(&DEFINITION.replace("MAXIMUM", maximum))?;
        workload(&definitions, &Objects::parse(samples)?, "deploy/samples").await
    }

    fn names(objects: &[Value]) -> Vec<&str> {
        objects.iter().filter_map(|object| object["metadata"]["name"].as_str()).collect()
    }

    #[tokio::test]
    async fn the_first_value_that_may_change_is_changed() {
        let found = of("5", SAMPLE).await.unwrap();
        assert_eq!(names(&found.namespaces), ["shop"]);
        let specs: Vec<_> = found.changed.iter().map(|object| object["spec"].clone()).collect();
        assert_eq!(specs, [json!({"color": "red", "first": "one", "replicas": 4})]);
        assert_eq!(of("3", SAMPLE).await.unwrap().changed, Vec::<Value>::new(), "no value may change");
    }

    #[tokio::test]
    async fn samples_may_need_other_objects() {
        let more = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: tools}\n\
                    ---\napiVersion: v1\nkind: Secret\nmetadata: {name: token, namespace: default}\n";
        let found = of("5", &format!("{SAMPLE}{more}")).await.unwrap();
        assert_eq!(names(&found.namespaces), ["shop", "tools"]);
        assert_eq!(found.changed.len(), 1, "of the kinds of the definitions alone");
    }

    #[tokio::test]
    async fn definitions_among_the_samples_are_none() {
        let definition = DEFINITION.replace("MAXIMUM", "5");
        let both = of("5", &format!("{definition}---\n{SAMPLE}---\n{}", other_definition())).await.unwrap();
        assert_eq!(both, of("5", SAMPLE).await.unwrap());
    }

    /// One that is none of the definitions.
    fn other_definition() -> String {
        DEFINITION.replace("MAXIMUM", "5").replace("example.com", "example.org")
    }

    #[tokio::test]
    async fn wrong_samples_are_named() {
        let missing = SAMPLE.replace("first: one, ", "");
        for (samples, expected) in [
            (
                "apiVersion: v1\nkind: Secret\nmetadata: {name: token}\n",
                "deploy/samples: expected an object of each kind, found none of Page in example.com",
            ),
            (
                &SAMPLE.replace("example.com/v1", "example.org/v1"),
                "deploy/samples: expected an object of each kind, found none of Page in example.com",
            ),
            (
                &DEFINITION.replace("MAXIMUM", "5"),
                "deploy/samples: expected an object of each kind, found none of Page in example.com",
            ),
            (&missing, "deploy/samples: 1 of 1 objects failed: "),
        ] {
            let error = format!("{:#}", of("5", samples).await.unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
        let error = format!("{:#}", of("5", &missing).await.unwrap_err());
        assert!(error.contains("spec.first"), "{error}");
    }
}
