//! Definitions of custom resources: installed, and as YAML.

use futures::FutureExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::crds::{self, CrdError};
use kube::{Api, CustomResourceExt as _, ResourceExt as _};
use serde_json::Value;

use crate::definition::definition;
use crate::kubectl::Kubectl;
use crate::test_env::{Requires, run, skip, unique};
use crate::widget::Widget;

fn crd(group: &str, plural: &str, kind: &str, versions: &[&str]) -> CustomResourceDefinition {
    definition(group, plural, kind, "Cluster", versions)
}

#[test]
fn kinds_are_served_once_they_are_installed_and_no_version_is_dropped() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let (client, group) = (&env.client, format!("{}.example.com", unique("install")));
            let list = async |version: &str, kind: &str| {
                let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(&group, version, kind));
                Api::<DynamicObject>::all_with(client.clone(), &kind).list(&ListParams::default()).await
            };
            let definitions = [crd(&group, "pages", "Page", &["v1"]), crd(&group, "shops", "Shop", &["v1"])];
            crds::install(client, "e2e", definitions).await?;
            list("v1", "Page").await?;
            list("v1", "Shop").await?;

            let newer = crds::install(client, "e2e", [crd(&group, "pages", "Page", &["v2"])]).await?.remove(0);
            assert_eq!(newer.kept_versions, ["v1"]);
            list("v2", "Page").await?;
            list("v1", "Page").await?;
            let again = crds::install(client, "e2e", [crd(&group, "pages", "Page", &["v2"])]).await?.remove(0);
            assert_eq!(again.crd.metadata.generation, newer.crd.metadata.generation);
            let stored = again.crd.status.and_then(|status| status.stored_versions).unwrap_or_default();
            assert_eq!(stored, ["v1", "v2"]);

            let taken = crds::install(client, "e2e", [crd(&group, "papers", "Page", &["v1"])]).await.unwrap_err();
            assert!(
                matches!(&taken.failed[..], [CrdError::NamesTaken { message, .. }] if message.contains("is already in use")),
                "{taken}"
            );
            let api: Api<CustomResourceDefinition> = Api::all(client.clone());
            for plural in ["pages", "shops", "papers"] {
                api.delete(&format!("{plural}.{group}"), &Default::default()).await?;
            }
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn the_yaml_of_a_definition_is_read_by_kubectl_as_it_was_written() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let Some(kubectl) = Kubectl::open(env)? else { return skip("KUBE_E2E_KUBECTL is not set") };
            let mut odd = Widget::crd();
            odd.metadata.name = Some("odd".to_owned());
            let texts = [
                "yes",
                "1.0",
                "0x1f",
                "1e3",
                "~",
                "null",
                "2001-01-01",
                "a: b",
                "# no",
                "- a",
                "'",
                "a\n  b\n",
                "\ttab",
                "é\u{85}x",
                "12:30:45",
                "0o17",
                "=",
                "<<",
            ];
            let annotations =
                texts.iter().enumerate().map(|(at, text)| (format!("example.com/{at}"), (*text).to_owned()));
            odd.annotations_mut().extend(annotations);
            let definitions = [Widget::crd(), odd];
            let yaml = crds::to_yaml(definitions.clone())?;
            let printed = kubectl
                .run(&["create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-"], &yaml)
                .await?;
            let read: Vec<Value> =
                serde_json::Deserializer::from_str(&printed).into_iter().collect::<Result<_, _>>()?;
            let read: Vec<_> = match &read[..] {
                [list] if list["kind"] == "List" => list["items"].as_array().cloned().unwrap_or_default(),
                _ => read,
            };
            assert_eq!(read, definitions.map(|crd| serde_json::to_value(crd).expect("it is JSON")));
            Ok(())
        }
        .boxed()
    })
}
