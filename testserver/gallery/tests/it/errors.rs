//! Operators that take an error for something else.

use std::{
    sync::{Arc, Once},
    time::Duration,
};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams, PostParams},
    runtime::controller::Action,
};
use kube_verify::{Family, Oracle};
use serde_json::json;

use super::operators::{
    Page, PageStatus, Result, absent, child, control, control_alone, control_with, is_deleted, maps,
    one_child, owner, pages, patch_status, verify,
};

fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}

fn status_is_current(page: &Page) -> bool {
    page.status.as_ref().and_then(|status| status.child.as_ref()) == Some(&page.spec.text)
}

/// BUG: a conflict is nothing to worry about, although no event follows.
pub(crate) async fn ignores_conflicts_of_updates(page: Arc<Page>, client: Client) -> Result {
    if is_deleted(&page) || status_is_current(&page) {
        return Ok(Action::await_change());
    }
    let mut wanted = (*page).clone();
    wanted.status = Some(PageStatus { child: Some(page.spec.text.clone()), ..PageStatus::default() });
    match pages(&client).replace_status(&page.name_any(), &PostParams::default(), &wanted).await {
        Err(error) if !is_conflict(&error) => Err(error.into()),
        _ => Ok(Action::await_change()),
    }
}

/// BUG: the same with a patch that names the version that it is for.
pub(crate) async fn ignores_conflicts_of_patches(page: Arc<Page>, client: Client) -> Result {
    if is_deleted(&page) || status_is_current(&page) {
        return Ok(Action::await_change());
    }
    let patch = Patch::Merge(json!({
        "metadata": {"resourceVersion": page.resource_version()},
        "status": {"child": page.spec.text},
    }));
    match pages(&client).patch_status(&page.name_any(), &PatchParams::default(), &patch).await {
        Err(error) if !is_conflict(&error) => Err(error.into()),
        _ => Ok(Action::await_change()),
    }
}

/// BUG: what has failed once is not tried again.
pub(crate) async fn gives_up(client: Client) {
    control_with(client, one_child, Action::await_change()).await;
}

/// BUG: each process that had an error says so again and again, for ever.
pub(crate) fn complains(client: Client, every: Duration) -> impl Future<Output = ()> {
    let begun = Arc::new(Once::new());
    control(client, move |page, client| {
        let begun = begun.clone();
        async move {
            let done = one_child(page, client.clone()).await;
            if done.is_err() {
                begun.call_once(|| drop(tokio::spawn(complain(client, every))));
            }
            done
        }
    })
}

async fn complain(client: Client, every: Duration) {
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    for count in 1.. {
        tokio::time::sleep(every).await;
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "complaint"},
            "data": {"count": format!("{count} times")}});
        // It is tried again the next time.
        drop(maps.patch("complaint", &PatchParams::apply("pages").force(), &Patch::Apply(map)).await);
    }
}

/// No plan waits so long at its end, but for the last of each family.
#[test]
fn a_timer_of_half_an_hour_that_a_fault_has_set_is_found() {
    let half_an_hour = Duration::from_secs(1800);
    let new = || verify(move |_| move |client: Client| complains(client, half_an_hour));
    let report = new().families([Family::Refused]).report();
    let found: Vec<_> = report.findings().collect();
    let last = "500 for apply configmaps a-page #3";
    assert!(found.iter().all(|(plan, _)| plan == last), "{report}");
    assert!(found.iter().any(|(_, finding)| finding.oracle() == Oracle::FixedPoint), "{report}");
    let again = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| new().replay(last)));
    assert!(again.is_err(), "a plan that is asked for waits as long");
}

/// BUG: a read that fails is impossible.
pub(crate) async fn panics(page: Arc<Page>, client: Client) -> Result {
    if is_deleted(&page) {
        return Ok(Action::await_change());
    }
    let name = format!("{}-page", page.name_any());
    let map = maps(&client, &page).get_opt(&name).await.expect("the API server answers");
    if map.is_none_or(|map| map.data != child(&page, &name).data) {
        return one_child(page, client).await;
    }
    Ok(Action::await_change())
}

/// BUG: what takes longer than five seconds has failed, and gets another name the next time.
async fn hurries(page: Arc<Page>, client: Client) -> Result {
    let known = page.status.as_ref().and_then(|status| status.child.clone());
    if known.is_none() && !is_deleted(&page) {
        let mut map = child(&page, "");
        map.metadata.name = None;
        map.metadata.generate_name = Some(format!("{}-", page.name_any()));
        let (maps, params) = (maps(&client, &page), PostParams::default());
        let created = tokio::time::timeout(Duration::from_secs(5), maps.create(&params, &map)).await??;
        patch_status(&client, &page, json!({"child": created.name_any()})).await?;
    }
    Ok(Action::await_change())
}

pub(crate) async fn hurries_alone(client: Client) {
    control_alone(client, hurries).await;
}

/// A password is made where there is certainly none, and never written over another.
pub(crate) async fn makes_a_password_once(page: Arc<Page>, client: Client) -> Result {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "default");
    let name = format!("{}-password", page.name_any());
    if !is_deleted(&page) && secrets.get_opt(&name).await?.is_none() {
        let password = format!("{:016x}", super::operators::random(&name));
        let secret: Secret = serde_json::from_value(json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": name, "ownerReferences": [owner(&page)]}, "stringData": {"password": password}}))?;
        match secrets.create(&PostParams::default(), &secret).await {
            Err(error) if !is_conflict(&error) => absent(error)?,
            _ => {}
        }
    }
    Ok(Action::await_change())
}
