//! Chapter "Third-party CRDs": dynamic, handwritten and generated types.

use super::prelude::*;

async fn dynamic(client: Client) -> anyhow::Result<()> {
    use kube::core::{DynamicObject, ApiResource, GroupVersionKind};

    let gvk = GroupVersionKind::gvk("networking.istio.io", "v1", "VirtualService");
    let ar = ApiResource::from_gvk(&gvk);
    let api = Api::<DynamicObject>::namespaced_with(client, "default", &ar);

    let vs = api.get("my-virtualservice").await?;
    let hosts = vs.data["spec"]["hosts"].as_array();
    Ok(())
}

mod handwritten_types {
    use super::*;
    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct RouteDestination {}

    use kube::core::{Object, NotUsed};

    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct VirtualServiceSpec {
        pub hosts: Vec<String>,
        pub http: Option<Vec<HttpRoute>>,
    }

    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct HttpRoute {
        pub route: Vec<RouteDestination>,
    }

    // Wrap with Object<Spec, Status>
    type VirtualService = Object<VirtualServiceSpec, NotUsed>;
}

mod kopium {
    use super::*;
    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct HttpRoute {}

    #[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[kube(group = "networking.istio.io", version = "v1", kind = "VirtualService")]
    #[kube(namespaced)]
    pub struct VirtualServiceSpec {
        pub hosts: Vec<String>,
        pub http: Option<Vec<HttpRoute>>,
        // ... auto-generated from CRD schema
    }
}

async fn discover(client: Client, gvk: GroupVersionKind) -> anyhow::Result<()> {
    use kube::discovery::Discovery;

    let discovery = Discovery::new(client.clone()).run().await?;

    // Explore groups
    for group in discovery.groups() {
        for (ar, caps) in group.recommended_resources() {
            println!("{}/{} (scope: {:?})", ar.group, ar.kind, caps.scope);
        }
    }

    // Convert a specific GVK → ApiResource
    let (ar, caps) = discovery.resolve_gvk(&gvk).ok_or_else(|| anyhow::anyhow!("{gvk:?} is not served"))?;
    let api = Api::<DynamicObject>::all_with(client, &ar);
    Ok(())
}

async fn reconcile(obj: Arc<DynamicObject>, ctx: Arc<Context>) -> Result<Action, Error> {
    Ok(Action::await_change())
}

async fn controller(client: Client, wc: watcher::Config, ctx: Arc<Context>) {
    use kube::core::{DynamicObject, ApiResource, GroupVersionKind};
    use kube::runtime::Controller;

    let gvk = GroupVersionKind::gvk("example.com", "v1", "MyResource");
    let ar = ApiResource::from_gvk(&gvk);
    let api = Api::<DynamicObject>::all_with(client, &ar);

    Controller::new_with(api, wc, ar)
        .run(reconcile, error_policy, ctx)
        .for_each(|_| async {})
        .await;
}
