//! Step 2 of the tutorial: registers the custom resource and writes a page.

#![allow(unreachable_pub)] // in a program, `pub` marks what its other files use

// ANCHOR: all
mod page;
mod register;

use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use page::{Page, PageSpec};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::try_default().await?;
    register::register(client.clone()).await?;

    let pages: Api<Page> = Api::default_namespaced(client);
    let spec = PageSpec { title: "Hello".into(), paragraphs: vec!["Good morning.".into()] };
    let params = PatchParams::apply("tutorial").force();
    pages.patch("hello", &params, &Patch::Apply(Page::new("hello", spec))).await?;

    for page in pages.list(&Default::default()).await? {
        println!("{:?}: {}", page.metadata.name, page.spec.title);
    }
    Ok(())
}
// ANCHOR_END: all
