//! An upgrade: a new version of a CRD, while objects of the old version are stored.

// ANCHOR: all
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, CustomResource, CustomResourceExt, ResourceExt, core::crd::merge_crds};
use kube_testserver::TestServer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

mod v1 {
    use super::*;

    #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "example.com", version = "v1", kind = "Shelf", plural = "shelves", namespaced)]
    pub struct ShelfSpec {
        pub boards: u32,
    }
}

mod v2 {
    use super::*;

    #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "example.com", version = "v2", kind = "Shelf", plural = "shelves", namespaced)]
    pub struct ShelfSpec {
        pub boards: u32,
        /// New, with a default, so that stored objects stay valid.
        #[serde(default = "pine")]
        pub wood: String,
    }

    fn pine() -> String {
        "pine".into()
    }
}

/// The step under test: installs both versions, rewrites every object in v2, then drops v1 from the stored versions.
async fn upgrade(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let both = merge_crds(vec![v1::Shelf::crd(), v2::Shelf::crd()], "v2")?;
    crds.patch(&both.name_any(), &PatchParams::apply("shelves").force(), &Patch::Apply(&both)).await?;
    for shelf in Api::<v2::Shelf>::all(client.clone()).list(&ListParams::default()).await? {
        let shelves: Api<v2::Shelf> = Api::namespaced(client.clone(), &shelf.namespace().unwrap_or_default());
        shelves.replace(&shelf.name_any(), &PostParams::default(), &shelf).await?;
    }
    let stored = json!({"status": {"storedVersions": ["v2"]}});
    crds.patch_status(&both.name_any(), &PatchParams::default(), &Patch::Merge(stored)).await?;
    Ok(())
}

#[tokio::test]
async fn stored_objects_survive_the_upgrade() {
    let server = TestServer::builder().with_crds([v1::Shelf::crd()]).service().unwrap();
    let client = Client::new(server, "default");
    let (old, new): (Api<v1::Shelf>, Api<v2::Shelf>) =
        (Api::default_namespaced(client.clone()), Api::default_namespaced(client.clone()));
    let made = old
        .create(&PostParams::default(), &v1::Shelf::new("tall", v1::ShelfSpec { boards: 6 }))
        .await
        .unwrap();

    upgrade(client.clone()).await.unwrap();

    let upgraded = new.get("tall").await.unwrap();
    assert_eq!((upgraded.uid(), upgraded.spec.boards, upgraded.spec.wood.as_str()), (made.uid(), 6, "pine"));
    // Programs that know v1 only still work.
    assert_eq!(old.get("tall").await.unwrap().spec.boards, 6);
    // v1 can be removed now: nothing is stored in it.
    let crds: Api<CustomResourceDefinition> = Api::all(client);
    let only = v2::Shelf::crd();
    crds.patch(&only.name_any(), &PatchParams::apply("shelves").force(), &Patch::Apply(&only)).await.unwrap();
    assert_eq!(new.get("tall").await.unwrap().spec.wood, "pine");
}
// ANCHOR_END: all
