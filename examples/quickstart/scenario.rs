//! The steps, in order, each told in a line and each waited for.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, PostParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, CustomResourceExt as _, ResourceExt as _};
use tokio::sync::oneshot;

use crate::Options;
use crate::cluster::Cluster;
use crate::controller::{self, Context, child_name};
use crate::page::{self, Page, PageSpec};

const NAMES: [&str; 3] = ["alpha", "beta", "gamma"];
/// No step takes longer, or the story ends with what was waited for. A genuine garbage collector learns of a new kind only when it
/// looks for new ones, every half minute; everything else is a matter of milliseconds.
const PATIENCE: Duration = Duration::from_secs(90);

/// Tells the whole story on the server that `options` names.
pub async fn tell(options: &Options) -> anyhow::Result<()> {
    let started = Instant::now();
    let cluster = Cluster::open(options).await?;
    println!("1. talking to {} after {:.0?}", cluster.name, started.elapsed());
    if let Some(path) = &cluster.kubeconfig {
        println!("   look for yourself: kubectl --kubeconfig {} get pages", path.display());
    }
    let children = cluster.has_core_kinds().await?;
    if !children {
        println!("   this server has no ConfigMaps: the steps that need them are left out");
    }

    page::register(&cluster.client).await?;
    println!("2. registered {} by server-side apply; it is established", Page::crd_name());

    let namespace = cluster.client.default_namespace().to_owned();
    let context = Context::new(cluster.client.clone(), children);
    let (stop, stopped) = oneshot::channel::<()>();
    let (store, running) = controller::start(context.clone(), &namespace, stopped);
    let running = tokio::spawn(running);
    within("the controller to know all pages", store.wait_until_ready()).await?;
    println!("3. the controller runs in namespace {namespace}");

    let told = steps(&cluster.client, &namespace, &context).await;
    if told.is_ok() && options.stay {
        println!("   staying: make, change and delete pages with kubectl; Ctrl-C ends it");
        tokio::signal::ctrl_c().await.context("cannot listen for Ctrl-C")?;
    }
    let swept = if options.cluster { sweep(&cluster.client, &namespace).await } else { Ok(()) };
    let _ = stop.send(());
    running.await.context("the controller panicked")?;
    cluster.close().await;
    told?;
    swept?;

    let counts = context.counts();
    ensure!(counts.errors == 0, "{} reconciles failed", counts.errors);
    println!(
        "done in {:.1?}: {} reconciles, {} cleanup(s), no errors; the controller stopped with nothing under way",
        started.elapsed(),
        counts.reconciles,
        counts.cleanups
    );
    Ok(())
}

async fn steps(client: &Client, namespace: &str, context: &Context) -> anyhow::Result<()> {
    let pages: Api<Page> = Api::namespaced(client.clone(), namespace);
    println!("4. creating {} pages; each reconcile tells its reason:", NAMES.len());
    let created = create(&pages).await?;
    for name in NAMES {
        rendered(&pages, name).await?;
    }
    let slowest = created
        .iter()
        .filter_map(|(name, at)| Some(context.counts().first_seen(name)?.saturating_duration_since(*at)))
        .max();
    println!(
        "   the slowest was first reconciled {:.1?} after its creation was asked for",
        slowest.unwrap_or_default()
    );

    if context.children {
        heal(client, namespace).await?;
    }

    println!("6. deleting page beta: its finalizer holds it until the controller has cleaned up");
    let beta = pages.get("beta").await?;
    pages.delete("beta", &DeleteParams::default()).await?;
    within(
        "page beta to be gone",
        await_condition(pages, "beta", conditions::is_deleted(&beta.uid().unwrap_or_default())),
    )
    .await?;
    if context.children {
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let child = child_name("beta");
        let gone = await_condition(maps, &child, |map: Option<&ConfigMap>| map.is_none());
        within("the ConfigMap of page beta to be collected", gone).await?;
        println!("   the page is gone, and the server collected its ConfigMap");
    }
    Ok(())
}

/// Creates the pages, and tells when the server had confirmed each.
async fn create(pages: &Api<Page>) -> anyhow::Result<Vec<(&'static str, Instant)>> {
    let mut created = Vec::new();
    for name in NAMES {
        let page = Page::new(name, PageSpec { title: format!("Page {name}"), text: "Hello.".into() });
        let asked = Instant::now();
        match pages.create(&PostParams::default(), &page).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                println!("   page {name} is there already, from an earlier run");
            }
            other => drop(other.with_context(|| format!("cannot create page {name}"))?),
        }
        created.push((name, asked));
    }
    Ok(created)
}

/// Waits until the controller reports the page as rendered.
async fn rendered(pages: &Api<Page>, name: &str) -> anyhow::Result<()> {
    let done = |page: Option<&Page>| {
        page.and_then(|page| page.status.as_ref()).is_some_and(|status| status.rendered)
    };
    within(&format!("page {name} to be rendered"), await_condition(pages.clone(), name, done)).await?;
    Ok(())
}

/// Deletes a ConfigMap by hand and waits for the controller to make it again.
async fn heal(client: &Client, namespace: &str) -> anyhow::Result<()> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let name = child_name("alpha");
    println!("5. deleting ConfigMap {name} by hand:");
    let lost = maps.get(&name).await?.uid();
    maps.delete(&name, &DeleteParams::default()).await?;
    let again = |map: Option<&ConfigMap>| map.is_some_and(|map| map.uid() != lost);
    within(&format!("ConfigMap {name} to come back"), await_condition(maps, &name, again)).await?;
    println!("   healed: {name} is back under a new uid");
    Ok(())
}

/// Leaves a cluster as it was: the pages first, so that their finalizer is answered, then the kind.
async fn sweep(client: &Client, namespace: &str) -> anyhow::Result<()> {
    let pages: Api<Page> = Api::namespaced(client.clone(), namespace);
    for name in NAMES {
        let Some(page) = pages.get_opt(name).await? else { continue };
        pages.delete(name, &DeleteParams::default()).await?;
        let gone = conditions::is_deleted(page.metadata.uid.as_deref().unwrap_or_default());
        within(&format!("page {name} to be gone"), await_condition(pages.clone(), name, gone)).await?;
    }
    page::unregister(client).await?;
    println!("7. removed the pages and their CRD from the cluster");
    Ok(())
}

async fn within<T, E>(what: &str, condition: impl Future<Output = Result<T, E>>) -> anyhow::Result<T>
where
    E: std::error::Error + Send + Sync + 'static,
{
    tokio::time::timeout(PATIENCE, condition)
        .await
        .with_context(|| format!("waited {PATIENCE:?} in vain for {what}"))?
        .with_context(|| format!("while waiting for {what}"))
}
