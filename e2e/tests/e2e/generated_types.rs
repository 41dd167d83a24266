//! Types that `cargo kube gen` made of definitions: the server accepts the definitions, and objects that a type has read are written back
//! unchanged.

use futures::FutureExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, PostParams};
use kube::core::ApiResource;
use kube::crds;
use kube::yaml::Objects;
use kube::{Api, ResourceExt as _};
use serde_json::Value;

use crate::test_env::{Requires, run, skip};

const INPUTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/cargo-kube/tests/difficult/crds");

#[test]
fn definitions_are_accepted_and_samples_are_written_back_unchanged() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            if env.older_than(31) {
                return skip("the server knows no selectable fields");
            }
            let kinds = difficult::by_kind::KINDS;
            let mut definitions: Vec<CustomResourceDefinition> =
                kinds.iter().map(|kind| (kind.all_versions)()).collect();
            definitions.dedup();
            crds::install(&env.client, "e2e", definitions.clone()).await?;
            let inputs = Objects::read(INPUTS)?;
            let mut written = 0;
            for sample in inputs.iter() {
                let Some(types) = sample.types.clone() else { continue };
                let version = types.api_version.rsplit('/').next().unwrap_or_default();
                let found = kinds
                    .iter()
                    .zip(definitions_of(kinds))
                    .find(|(kind, crd)| crd.spec.names.kind == types.kind && kind.version == version);
                let Some((kind, crd)) = found else { continue };
                let resource = ApiResource {
                    group: crd.spec.group.clone(),
                    version: version.to_owned(),
                    api_version: types.api_version.clone(),
                    kind: types.kind.clone(),
                    plural: crd.spec.names.plural.clone(),
                };
                let api: Api<DynamicObject> = match crd.spec.scope.as_str() {
                    "Cluster" => Api::all_with(env.client.clone(), &resource),
                    _ => Api::namespaced_with(env.client.clone(), &env.namespace, &resource),
                };
                let mut sample = sample.clone();
                sample.metadata.name = Some(format!("{}-{version}", sample.name_any()));
                let mut stored = api.create(&PostParams::default(), &sample).await?;
                if stored.data.get("status") != sample.data.get("status") {
                    // The status has an endpoint of its own.
                    stored.data["status"] = sample.data["status"].clone();
                    stored = api.replace_status(&stored.name_any(), &PostParams::default(), &stored).await?;
                }
                assert!(keeps(&stored.data, &sample.data), "{}: {}\n{}", kind.crd, sample.data, stored.data);
                let back = (kind.round_trip)(serde_json::to_value(&stored)?)?;
                let back: DynamicObject = serde_json::from_value(back)?;
                let again = api.replace(&stored.name_any(), &PostParams::default(), &back).await?;
                // A write that changes nothing keeps the version.
                assert_eq!(
                    again.resource_version(),
                    stored.resource_version(),
                    "{}: {stored:?}\n{again:?}",
                    kind.crd
                );
                written += 1;
            }
            assert!(written >= 60, "{written}");
            let api: Api<CustomResourceDefinition> = Api::all(env.client.clone());
            for crd in definitions {
                api.delete(&crd.name_any(), &Default::default()).await?;
            }
            Ok(())
        }
        .boxed()
    })
}

/// Whether all that was sent is stored; the server adds defaults, and may drop null.
fn keeps(stored: &Value, sent: &Value) -> bool {
    match (stored, sent) {
        (_, Value::Null) => true,
        (Value::Object(stored), Value::Object(sent)) => sent.iter().all(|(name, value)| {
            value.is_null() || stored.get(name).is_some_and(|stored| keeps(stored, value))
        }),
        (Value::Array(stored), Value::Array(sent)) => {
            stored.len() == sent.len() && stored.iter().zip(sent).all(|(stored, sent)| keeps(stored, sent))
        }
        (Value::Number(stored), Value::Number(sent)) => stored.as_f64() == sent.as_f64(),
        (stored, sent) => stored == sent,
    }
}

fn definitions_of(kinds: &[difficult::Kind]) -> impl Iterator<Item = CustomResourceDefinition> {
    kinds.iter().map(|kind| (kind.all_versions)())
}
