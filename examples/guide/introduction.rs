//! Chapters "Introduction" and "Architecture": scopes, static and dynamic types.

use super::prelude::*;

mod first_program {
    #![allow(clippy::uninlined_format_args)]
    use kube::{Api, Client};
    use k8s_openapi::api::core::v1::Pod;

    pub(crate) async fn main() -> anyhow::Result<()> {
        let client = Client::try_default().await?;
        let pods: Api<Pod> = Api::default_namespaced(client);

        for pod in pods.list(&Default::default()).await? {
            println!("{}", pod.metadata.name.unwrap_or_default());
        }
        Ok(())
    }
}

async fn namespaced_and_cluster_scoped(client: Client) -> anyhow::Result<()> {
    // Namespace-scoped resource
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");

    // Cluster-scoped resource
    let nodes: Api<Node> = Api::all(client.clone());

    // Creating a Namespace with Api::namespaced() causes a compile error
    // let ns: Api<Namespace> = Api::namespaced(client, "default"); // <- won't compile
    Ok(())
}

async fn scope_checks() -> anyhow::Result<()> {
    use k8s_openapi::api::core::v1::{Pod, Node, Namespace};

    let client = Client::try_default().await?;

    // Pod has NamespaceResourceScope -> Api::namespaced() is allowed
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");

    // Node has ClusterResourceScope -> only Api::all() is allowed
    let nodes: Api<Node> = Api::all(client.clone());

    // Creating a cluster-scoped resource with Api::namespaced() causes a compile error
    // let ns: Api<Namespace> = Api::namespaced(client.clone(), "default");
    // error: Namespace: Resource<Scope = ClusterResourceScope>
    //        but expected NamespaceResourceScope
    Ok(())
}

async fn static_types(client: Client) -> anyhow::Result<()> {
    // k8s-openapi type
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let pod = pods.get("my-pod").await?;
    println!("{}", pod.metadata.name.unwrap());

    // CRD type generated via derive
    let docs: Api<Document> = Api::namespaced(client, "default");
    Ok(())
}

async fn dynamic_types(client: Client) -> anyhow::Result<()> {
    use kube::core::{DynamicObject, ApiResource, GroupVersionKind};

    let gvk = GroupVersionKind::gvk("example.com", "v1", "Document");
    let ar = ApiResource::from_gvk(&gvk);
    let api = Api::<DynamicObject>::namespaced_with(client, "default", &ar);

    let obj = api.get("my-doc").await?;
    // Field access goes through serde_json::Value
    let title = obj.data["spec"]["title"].as_str();
    Ok(())
}

mod semi_dynamic {
    use super::*;
    use kube::core::Object;

    #[derive(Deserialize, Serialize, Clone, Debug)]
    struct MySpec {
        replicas: i32,
    }

    #[derive(Deserialize, Serialize, Clone, Debug)]
    struct MyStatus {
        ready: bool,
    }

    type MyResource = Object<MySpec, MyStatus>;
    // spec and status can be accessed with type safety
    // GVK is specified at runtime via ApiResource
}

async fn convenience_methods(api: Api<Pod>) -> anyhow::Result<()> {
    use kube::ResourceExt;

    let pod: Pod = api.get("my-pod").await?;

    // Name and namespace
    let name = pod.name_any();       // Returns name or generateName
    let ns = pod.namespace();         // Option<String>

    // Metadata access
    let labels = pod.labels();        // &BTreeMap<String, String>
    let annotations = pod.annotations();
    let finalizers = pod.finalizers(); // &[String]
    let owner_refs = pod.owner_references(); // &[OwnerReference]

    // Identifiers
    let uid = pod.uid();              // Option<String>
    let rv = pod.resource_version();  // Option<String>
    Ok(())
}
