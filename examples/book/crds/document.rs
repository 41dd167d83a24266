//! From a struct to a CRD, and an object of it.

// ANCHOR: all
use kube::api::PostParams;
use kube::{Api, Client, CustomResource, CustomResourceExt, crds};
use kube_testserver::ApiServer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A text that is shown to visitors.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Document", namespaced, status = DocumentStatus, shortname = "doc")]
#[kube(printcolumn(name = "Title", type_ = "string", json_path = ".spec.title"))]
pub struct DocumentSpec {
    /// Shown above the text.
    title: String,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DocumentStatus {
    pages: u32,
}

#[tokio::test]
async fn a_document_is_registered_and_written() {
    let client = Client::new(ApiServer::new(), "default");

    crds::install(&client, "documents-operator", [Document::crd()]).await.unwrap();

    let documents: Api<Document> = Api::default_namespaced(client);
    let spec = DocumentSpec { title: "Read me".into(), tags: vec![] };
    let made = documents.create(&PostParams::default(), &Document::new("readme", spec)).await.unwrap();
    assert_eq!(made.spec.title, "Read me");
}
// ANCHOR_END: all
