//! Operators that say or believe something of themselves that is not so.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::{
    Client, ResourceExt,
    api::{Patch, PatchParams},
    runtime::controller::Action,
};
use serde_json::json;

use super::operators::{Page, Result, apply_child, control, is_deleted, maps, one_child, patch_status};

fn observed(page: &Page) -> Option<i64> {
    page.status.as_ref().and_then(|status| status.observed_generation)
}

/// The status says what was done, after it was done.
pub(crate) async fn reports(page: Arc<Page>, client: Client) -> Result {
    one_child(page.clone(), client.clone()).await?;
    if !is_deleted(&page) && observed(&page) != page.metadata.generation {
        patch_status(&client, &page, json!({"observedGeneration": page.metadata.generation})).await?;
    }
    Ok(Action::await_change())
}

/// BUG: the status says that all is done, then it is done.
pub(crate) async fn reports_first(page: Arc<Page>, client: Client) -> Result {
    if is_deleted(&page) || observed(&page) == page.metadata.generation {
        return Ok(Action::await_change());
    }
    patch_status(&client, &page, json!({"observedGeneration": page.metadata.generation})).await?;
    apply_child(&client, &page, &format!("{}-page", page.name_any())).await?;
    Ok(Action::await_change())
}

/// BUG: the status is written once.
pub(crate) async fn reports_once(page: Arc<Page>, client: Client) -> Result {
    one_child(page.clone(), client.clone()).await?;
    if !is_deleted(&page) && observed(&page).is_none() {
        patch_status(&client, &page, json!({"observedGeneration": page.metadata.generation})).await?;
    }
    Ok(Action::await_change())
}

/// BUG: each process writes when it was started.
pub(crate) async fn says_when_it_started(client: Client) {
    let info = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "pages-operator"},
        "data": {"started": Timestamp::now().to_string()}});
    let maps = kube::Api::<k8s_openapi::api::core::v1::ConfigMap>::default_namespaced(client.clone());
    let apply = PatchParams::apply("pages").force();
    while maps.patch("pages-operator", &apply, &Patch::Apply(&info)).await.is_err() {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    control(client, one_child).await;
}

/// BUG: the child is deleted and created again at each change.
pub(crate) async fn makes_anew(page: Arc<Page>, client: Client) -> Result {
    if is_deleted(&page) {
        return Ok(Action::await_change());
    }
    let name = format!("{}-page", page.name_any());
    let old = maps(&client, &page).get_opt(&name).await?;
    if old.as_ref().is_some_and(|old| old.data == super::operators::child(&page, &name).data) {
        return Ok(Action::await_change());
    }
    if old.is_some() {
        let deleted = maps(&client, &page).delete(&name, &kube::api::DeleteParams::default()).await;
        deleted.map(drop).or_else(super::operators::absent)?;
    }
    apply_child(&client, &page, &name).await?;
    Ok(Action::await_change())
}
