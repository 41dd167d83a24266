//! Registers the custom resource of the tutorial.

// ANCHOR: all
use crate::page::Page;
use kube::{Client, CustomResourceExt, crds};

/// Applies the CRD, and returns when the server serves the new kind.
pub async fn register(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    crds::install(&client, "pages-registration", [Page::crd()]).await?;
    Ok(())
}
// ANCHOR_END: all
