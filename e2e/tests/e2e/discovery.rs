//! Discovery: API groups, kinds and the server version.

use futures::FutureExt as _;
use kube::api::{DynamicObject, ListParams, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::{self, Discovery, Scope};
use kube::{Api, ResourceExt as _};

use crate::test_env::{Requires, run};
use crate::widget::{Widget, widget};

#[test]
fn a_discovered_kind_works_with_dynamic_objects() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let kind = GroupVersionKind::gvk("e2e.example.com", "v1", "Widget");
            let (resource, capabilities) = discovery::pinned_kind(&env.client, &kind).await?;
            assert_eq!(resource.plural, "widgets");
            assert_eq!(capabilities.scope, Scope::Namespaced);
            assert!(capabilities.supports_operation(discovery::verbs::WATCH));
            assert!(
                capabilities
                    .subresources
                    .iter()
                    .any(|(sub, _)| sub.plural == "widgets/status" || sub.plural == "status")
            );

            env.api::<Widget>().create(&PostParams::default(), &widget("typed", 3)).await?;
            let untyped: Api<DynamicObject> =
                Api::namespaced_with(env.client.clone(), &env.namespace, &resource);
            let list = untyped.list(&ListParams::default()).await?;
            assert_eq!(list.items.len(), 1);
            assert_eq!(list.items[0].name_any(), "typed");
            assert_eq!(list.items[0].data["spec"]["size"], 3);
            let parsed: Widget = list.items[0].clone().try_parse()?;
            assert_eq!(parsed.spec.size, 3);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn full_discovery_finds_custom_and_built_in_kinds() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let discovery = Discovery::new(env.client.clone()).run().await?;
            assert_eq!(discovery.failed_groups().collect::<Vec<_>>(), Vec::<&str>::new());
            let kind = GroupVersionKind::gvk("e2e.example.com", "v1", "Widget");
            let (resource, capabilities) =
                discovery.resolve_gvk(&kind).ok_or_else(|| anyhow::anyhow!("no kind {kind:?}"))?;
            assert_eq!(
                (resource.plural.as_str(), resource.api_version.as_str()),
                ("widgets", "e2e.example.com/v1")
            );
            assert!(capabilities.supports_operation(discovery::verbs::LIST));
            assert_eq!(
                discovery.has_group(""),
                discovery.resolve_gvk(&GroupVersionKind::gvk("", "v1", "Pod")).is_some()
            );
            let crd = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
            let (crds, _) = discovery.resolve_gvk(&crd).ok_or_else(|| anyhow::anyhow!("no kind {crd:?}"))?;
            assert_eq!(crds.api_version, "apiextensions.k8s.io/v1");
            Ok(())
        }
        .boxed()
    })
}
