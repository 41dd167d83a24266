//! Step 3 of the tutorial: every page owns a ConfigMap with its HTML.

#![allow(unreachable_pub)] // in a program, `pub` marks what its other files use

// ANCHOR: all
mod page;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::apply::{Apply, ApplyError};
use kube::runtime::{Controller, controller::Action, watcher};
use kube::{Api, Client, ResourceExt, Sparse, apply, error::ErrorChain};
use page::Page;
use std::sync::Arc;

async fn reconcile(page: Arc<Page>, client: Arc<Client>) -> Result<Action, ApplyError> {
    let children = Apply::owned_by((*client).clone(), "pages", &*page)?;
    let applied = children.apply(&html(&page)).await?;
    println!("{}: {:?}", page.name_any(), applied.change);
    Ok(Action::await_change())
}

/// The child, with exactly the fields that this controller wants.
fn html(page: &Page) -> Sparse<ConfigMap> {
    apply!(ConfigMap {
        metadata: { name: format!("{}-html", page.name_any()) },
        data: {
            "index.html": format!("<h1>{}</h1>\n{}", page.spec.title, page.spec.paragraphs.join("\n")),
        },
    })
}

#[tokio::main]
async fn main() -> Result<(), kube::Error> {
    let client = Client::try_default().await?;
    let pages: Api<Page> = Api::all(client.clone());
    let maps: Api<ConfigMap> = Api::all(client.clone());
    Controller::new(pages, watcher::Config::default())
        .owns(maps, watcher::Config::default())
        .shutdown_on_signal()
        .run(reconcile, |_, _, _| Action::retry(), Arc::new(client))
        .for_each(async |outcome| {
            if let Err(error) = outcome {
                eprintln!("{}", ErrorChain(&error));
            }
        })
        .await;
    Ok(())
}
// ANCHOR_END: all
