//! The operators that are tried, on the smallest client: a controller loop over `kube::Client`.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kube::{
    Api, Client, CustomResource, Resource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    core::CustomResourceExt,
    runtime::{
        controller::{Action, Controller},
        watcher,
    },
};
use kube_verify::Verify;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The kind of all operators here.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Page", namespaced, status = "PageStatus")]
pub(crate) struct PageSpec {
    pub(crate) text: String,
}

#[derive(Serialize, Deserialize, Clone, Debug, Default, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageStatus {
    pub(crate) child: Option<String>,
    pub(crate) observed_generation: Option<i64>,
}

pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;
pub(crate) type Result<T = Action> = std::result::Result<T, Error>;

/// Runs a reconciler over Pages, with an event of a ConfigMap for its Page. A failed reconcile is repeated after five seconds.
pub(crate) async fn control<F, Fut>(client: Client, reconcile: F)
where
    F: Fn(Arc<Page>, Client) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result> + Send + 'static,
{
    control_with(client, reconcile, Action::requeue(Duration::from_secs(5))).await;
}

/// The same, with what happens after a failed reconcile.
pub(crate) async fn control_with<F, Fut>(client: Client, reconcile: F, retry: Action)
where
    F: Fn(Arc<Page>, Client) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result> + Send + 'static,
{
    let pages: Api<Page> = Api::all(client.clone());
    let maps: Api<ConfigMap> = Api::all(client.clone());
    let reconcile = Arc::new(reconcile);
    let controller =
        Controller::new(pages, watcher::Config::default()).owns(maps, watcher::Config::default());
    let run = controller.run(
        move |page, client: Arc<Client>| {
            let reconcile = reconcile.clone();
            async move { reconcile(page, (*client).clone()).await.map_err(Failed) }
        },
        move |_, _: &Failed, _| retry.clone(),
        Arc::new(client),
    );
    run.for_each(|_| async {}).await;
}

/// Runs a reconciler over Pages, without events of their children.
pub(crate) async fn control_alone<F, Fut>(client: Client, reconcile: F)
where
    F: Fn(Arc<Page>, Client) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result> + Send + 'static,
{
    let reconcile = Arc::new(reconcile);
    let reconcile = move |page, client: Arc<Client>| {
        let reconcile = reconcile.clone();
        async move { reconcile(page, (*client).clone()).await.map_err(Failed) }
    };
    let retry = |_, _: &Failed, _| Action::requeue(Duration::from_secs(5));
    let controller = Controller::new(Api::<Page>::all(client.clone()), watcher::Config::default());
    controller.run(reconcile, retry, Arc::new(client)).for_each(|_| async {}).await;
}

#[derive(Debug)]
pub(crate) struct Failed(pub(crate) Error);

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failed {}

/// A Page is created, changed and deleted.
pub(crate) fn verify<O, M>(operator: impl Fn(&kube_verify::World) -> O + Send + Sync + 'static) -> Verify
where
    O: kube_verify::Operator<M>,
{
    Verify::new(operator)
        .crds([Page::crd()])
        .step("create", |step| step.apply(page("a")))
        .step("change", |step| step.patch::<Page>("a", json!({"spec": {"text": "two"}})))
        .step("delete", |step| step.delete::<Page>("a"))
}

/// A Page of this name.
pub(crate) fn page(name: &str) -> serde_json::Value {
    json!({"apiVersion": "example.com/v1", "kind": "Page", "metadata": {"name": name}, "spec": {"text": "one"}})
}

pub(crate) fn pages(client: &Client) -> Api<Page> {
    Api::namespaced(client.clone(), "default")
}

/// Merges this into the status of a page.
pub(crate) async fn patch_status(client: &Client, page: &Page, status: serde_json::Value) -> Result<Page> {
    let patch = Patch::Merge(json!({"status": status}));
    Ok(pages(client).patch_status(&page.name_any(), &PatchParams::default(), &patch).await?)
}

const FINALIZER: &str = "example.com/page";

pub(crate) fn has_finalizer(page: &Page) -> bool {
    page.finalizers().iter().any(|finalizer| finalizer == FINALIZER)
}

/// Adds the finalizer, or removes it. A page that is gone has none any more, and can get none: what follows would never be cleaned up.
pub(crate) async fn set_finalizer(client: &Client, page: &Page, wanted: bool) -> Result<()> {
    if has_finalizer(page) == wanted {
        return Ok(());
    }
    let list = if wanted { vec![FINALIZER] } else { vec![] };
    let patch = Patch::Merge(json!({"metadata": {"finalizers": list}}));
    let patched = pages(client).patch(&page.name_any(), &PatchParams::default(), &patch).await.map(drop);
    Ok(if wanted { patched } else { patched.or_else(absent) }?)
}

pub(crate) fn is_deleted(page: &Page) -> bool {
    page.metadata.deletion_timestamp.is_some()
}

pub(crate) fn maps(client: &Client, page: &Page) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), &page.namespace().unwrap_or_default())
}

/// The child of a page under this name, with an owner reference.
pub(crate) fn child(page: &Page, name: &str) -> ConfigMap {
    serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "ownerReferences": [owner(page)], "labels": {"page": page.name_any()}},
        "data": {"text": page.spec.text},
    }))
    .unwrap()
}

pub(crate) fn owner(page: &Page) -> OwnerReference {
    page.controller_owner_ref(&()).unwrap()
}

/// Applies the child of a page.
pub(crate) async fn apply_child(client: &Client, page: &Page, name: &str) -> Result<ConfigMap> {
    let apply = PatchParams::apply("pages").force();
    Ok(maps(client, page).patch(name, &apply, &Patch::Apply(child(page, name))).await?)
}

/// One child by server-side apply: nothing can go wrong.
pub(crate) async fn one_child(page: Arc<Page>, client: Client) -> Result {
    if page.metadata.deletion_timestamp.is_none() {
        apply_child(&client, &page, &format!("{}-page", page.name_any())).await?;
    }
    Ok(Action::await_change())
}

/// Children that are found by their label.
pub(crate) async fn children_of(client: &Client, page: &Page) -> Result<Vec<ConfigMap>> {
    let selector = ListParams::default().labels(&format!("page={}", page.name_any()));
    Ok(maps(client, page).list(&selector).await?.items)
}

/// BUG: the name is random, and only the status remembers it.
async fn random_child(page: Arc<Page>, client: Client) -> Result {
    let known = page.status.as_ref().and_then(|status| status.child.clone());
    if known.is_none() && page.metadata.deletion_timestamp.is_none() {
        let mut map = child(&page, "");
        map.metadata.name = None;
        map.metadata.generate_name = Some(format!("{}-", page.name_any()));
        let made = maps(&client, &page).create(&PostParams::default(), &map).await?;
        let pages: Api<Page> = Api::namespaced(client.clone(), &page.namespace().unwrap_or_default());
        let status = json!({"status": {"child": made.name_any()}});
        pages.patch_status(&page.name_any(), &PatchParams::default(), &Patch::Merge(status)).await?;
    }
    Ok(Action::await_change())
}

pub(crate) async fn random_child_alone(client: Client) {
    control_alone(client, random_child).await;
}

/// BUG: an error of the creation is swallowed.
pub(crate) async fn swallows(page: Arc<Page>, client: Client) -> Result {
    if let Err(error) = one_child(page, client).await {
        eprintln!("{error}");
    }
    Ok(Action::await_change())
}

/// BUG: every failed read counts as an absent object, and the password is generated again.
pub(crate) async fn replaces_passwords(page: Arc<Page>, client: Client) -> Result {
    if page.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let secrets: Api<k8s_openapi::api::core::v1::Secret> = Api::namespaced(client.clone(), "default");
    let name = format!("{}-password", page.name_any());
    if secrets.get(&name).await.is_err() {
        let password = format!("{:016x}", random(&name));
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "ownerReferences": [owner(&page)]},
            "stringData": {"password": password}});
        secrets.patch(&name, &PatchParams::apply("pages").force(), &Patch::Apply(secret)).await?;
    }
    Ok(Action::await_change())
}

/// Another number at each call.
pub(crate) fn random(seed: &str) -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(seed)
}

/// BUG: no owner reference, and no finalizer.
pub(crate) async fn orphans(page: Arc<Page>, client: Client) -> Result {
    if page.metadata.deletion_timestamp.is_none() {
        let mut map = child(&page, &format!("{}-page", page.name_any()));
        map.metadata.owner_references = None;
        let apply = PatchParams::apply("pages").force();
        maps(&client, &page).patch(&map.name_any(), &apply, &Patch::Apply(&map)).await?;
    }
    Ok(Action::await_change())
}

/// BUG: the status says when it was written, and every status is an event.
pub(crate) async fn writes_for_ever(page: Arc<Page>, client: Client) -> Result {
    one_child(page.clone(), client.clone()).await?;
    let pages: Api<Page> = Api::namespaced(client, "default");
    let version = page.resource_version();
    let status = json!({"status": {"child": version}});
    pages.patch_status(&page.name_any(), &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(Action::await_change())
}

/// Children are found by a list of the server, and those of other texts are deleted.
pub(crate) async fn deletes_by_list(page: Arc<Page>, client: Client) -> Result {
    if page.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    // One child for each text; children of other texts go.
    let name = format!("{}-{}", page.name_any(), page.spec.text);
    for old in children_of(&client, &page).await?.into_iter().filter(|map| map.name_any() != name) {
        maps(&client, &page)
            .delete(&old.name_any(), &DeleteParams::default())
            .await
            .map(drop)
            .or_else(absent)?;
    }
    apply_child(&client, &page, &name).await?;
    Ok(Action::await_change())
}

pub(crate) fn absent(error: kube::Error) -> std::result::Result<(), kube::Error> {
    match error {
        kube::Error::Api(status) if status.code == 404 => Ok(()),
        error => Err(error),
    }
}

/// BUG: no watch of the children, so what overwrites one stays.
pub(crate) async fn blind(client: Client) {
    control_alone(client, one_child).await;
}

/// BUG: the child is replaced as a whole, whatever others have written.
pub(crate) async fn replaces(page: Arc<Page>, client: Client) -> Result {
    if page.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let name = format!("{}-page", page.name_any());
    match maps(&client, &page).get_opt(&name).await? {
        Some(old) if old.data == child(&page, &name).data => {}
        Some(_) => {
            drop(maps(&client, &page).replace(&name, &PostParams::default(), &child(&page, &name)).await?)
        }
        None => drop(maps(&client, &page).create(&PostParams::default(), &child(&page, &name)).await?),
    }
    Ok(Action::await_change())
}

/// BUG: which child is to be deleted is in the memory of the process alone.
pub(crate) fn remembers()
-> impl Fn(Arc<Page>, Client) -> futures::future::BoxFuture<'static, Result> + Send + Sync + 'static {
    let made = Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    move |page, client| {
        let made = made.clone();
        Box::pin(async move {
            let name = format!("{}-page", page.name_any());
            let pages: Api<Page> = Api::namespaced(client.clone(), "default");
            let finalizers =
                |list: serde_json::Value| Patch::Merge(json!({"metadata": {"finalizers": list}}));
            if page.metadata.deletion_timestamp.is_some() {
                if made.lock().unwrap().remove(&name) {
                    maps(&client, &page).delete(&name, &DeleteParams::default()).await?;
                }
                pages
                    .patch(&page.name_any(), &PatchParams::default(), &finalizers(json!([])))
                    .await
                    .map(drop)
                    .or_else(absent)?;
                return Ok(Action::await_change());
            }
            if page.finalizers().is_empty() {
                pages
                    .patch(
                        &page.name_any(),
                        &PatchParams::default(),
                        &finalizers(json!(["example.com/page"])),
                    )
                    .await?;
            }
            if maps(&client, &page).get_opt(&name).await?.is_none() {
                let mut map = child(&page, &name);
                map.metadata.owner_references = None;
                maps(&client, &page).create(&PostParams::default(), &map).await?;
                made.lock().unwrap().insert(name);
            }
            Ok(Action::await_change())
        })
    }
}

/// BUG: it asks for the Page again and again.
pub(crate) async fn asks_for_ever(page: Arc<Page>, client: Client) -> Result {
    one_child(page.clone(), client.clone()).await?;
    let pages: Api<Page> = Api::namespaced(client, "default");
    while pages.get_opt(&page.name_any()).await?.is_some() {}
    Ok(Action::await_change())
}
