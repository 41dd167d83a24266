//! What a server tells about itself.

use futures::FutureExt as _;
use kube::api::{DynamicObject, ListParams, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::{self, Scope};
use kube::{Api, ResourceExt as _};

use crate::widget::{Widget, widget};
use crate::world::{Need, run};

#[test]
fn a_registered_kind_is_discovered_and_used_without_its_type() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let kind = GroupVersionKind::gvk("e2e.example.com", "v1", "Widget");
            let (resource, capabilities) = discovery::pinned_kind(&world.client, &kind).await?;
            assert_eq!(resource.plural, "widgets");
            assert_eq!(capabilities.scope, Scope::Namespaced);
            assert!(capabilities.supports_operation(discovery::verbs::WATCH));
            assert!(
                capabilities
                    .subresources
                    .iter()
                    .any(|(sub, _)| sub.plural == "widgets/status" || sub.plural == "status")
            );

            world.api::<Widget>().create(&PostParams::default(), &widget("typed", 3)).await?;
            let untyped: Api<DynamicObject> =
                Api::namespaced_with(world.client.clone(), &world.namespace, &resource);
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
fn the_server_tells_its_version() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let version = world.client.apiserver_version().await?;
            assert!(version.git_version.starts_with('v'), "{version:?}");
            Ok(())
        }
        .boxed()
    })
}
