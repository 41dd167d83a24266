//! The steps of the scenario, in order. Each prints a line and waits until its effect is visible.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, PostParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, CustomResourceExt as _, ResourceExt as _};
use tokio::sync::oneshot;

use crate::Options;
use crate::cluster::Cluster;
use crate::controller::{self, Context, config_map_name};
use crate::page::{self, Page, PageSpec};

const NAMES: [&str; 3] = ["alpha", "beta", "gamma"];
/// The limit for each step. Most take milliseconds, but the garbage collector of a real cluster discovers a new kind only every 30 s.
const STEP_TIMEOUT: Duration = Duration::from_secs(90);

/// Runs all steps on the server selected by `options`.
pub async fn run(options: &Options) -> anyhow::Result<()> {
    let started = Instant::now();
    let cluster = Cluster::open(options).await?;
    println!("1. connected to {} after {:.0?}", cluster.description, started.elapsed());
    if let Some(path) = &cluster.kubeconfig {
        println!("   to watch it: kubectl --kubeconfig {} get pages", path.display());
    }
    let has_config_maps = cluster.has_core_kinds().await?;
    if !has_config_maps {
        println!("   this server has no ConfigMaps: the steps that need them are skipped");
    }

    page::register(&cluster.client).await?;
    println!("2. registered {} by server-side apply and waited until it is established", Page::crd_name());

    let namespace = cluster.client.default_namespace().to_owned();
    let context = Context::new(cluster.client.clone(), has_config_maps);
    let (stop, stopped) = oneshot::channel::<()>();
    let (store, running) = controller::start(context.clone(), &namespace, stopped);
    let running = tokio::spawn(running);
    within("the initial list of pages", store.wait_until_ready()).await?;
    println!("3. the controller runs in namespace {namespace}");

    let outcome = steps(&cluster.client, &namespace, &context).await;
    if outcome.is_ok() && options.stay {
        println!("   still running: create, change and delete pages with kubectl; Ctrl-C stops");
        tokio::signal::ctrl_c().await.context("cannot listen for Ctrl-C")?;
    }
    let cleanup = if options.cluster { clean_up(&cluster.client, &namespace).await } else { Ok(()) };
    let _ = stop.send(());
    running.await.context("the controller panicked")?;
    cluster.close().await;
    outcome?;
    cleanup?;

    let counts = context.counts();
    ensure!(counts.errors == 0, "{} reconciles failed", counts.errors);
    println!(
        "done in {:.1?}: {} reconciles, {} cleanup(s), no errors; the controller has stopped",
        started.elapsed(),
        counts.reconciles,
        counts.cleanups
    );
    Ok(())
}

async fn steps(client: &Client, namespace: &str, context: &Context) -> anyhow::Result<()> {
    let pages: Api<Page> = Api::namespaced(client.clone(), namespace);
    println!("4. creating {} pages; each reconcile prints its reason:", NAMES.len());
    let created = create(&pages).await?;
    for name in NAMES {
        wait_until_rendered(&pages, name).await?;
    }
    let slowest = created
        .iter()
        .filter_map(|(name, at)| Some(context.counts().first_seen(name)?.saturating_duration_since(*at)))
        .max();
    println!(
        "   the slowest was first reconciled {:.1?} after its creation was requested",
        slowest.unwrap_or_default()
    );

    if context.has_config_maps {
        delete_config_map(client, namespace).await?;
    }

    println!("6. deleting page beta: its finalizer keeps it until the controller has cleaned up");
    let beta = pages.get("beta").await?;
    pages.delete("beta", &DeleteParams::default()).await?;
    within(
        "the deletion of page beta",
        await_condition(pages, "beta", conditions::is_deleted(&beta.uid().unwrap_or_default())),
    )
    .await?;
    if context.has_config_maps {
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let config_map = config_map_name("beta");
        let deleted = await_condition(maps, &config_map, |map: Option<&ConfigMap>| map.is_none());
        within("the garbage collection of the ConfigMap of page beta", deleted).await?;
        println!("   the page is deleted, and the server has deleted its ConfigMap");
    }
    Ok(())
}

/// Creates the pages. Returns when each creation was requested.
async fn create(pages: &Api<Page>) -> anyhow::Result<Vec<(&'static str, Instant)>> {
    let mut created = Vec::new();
    for name in NAMES {
        let page = Page::new(name, PageSpec { title: format!("Page {name}"), text: "Hello.".into() });
        let requested = Instant::now();
        match pages.create(&PostParams::default(), &page).await {
            Err(error) if error.is_already_exists() => {
                println!("   page {name} already exists, from an earlier run");
            }
            other => drop(other.with_context(|| format!("cannot create page {name}"))?),
        }
        created.push((name, requested));
    }
    Ok(created)
}

/// Waits until the status says that the page is rendered.
async fn wait_until_rendered(pages: &Api<Page>, name: &str) -> anyhow::Result<()> {
    let rendered = |page: Option<&Page>| {
        page.and_then(|page| page.status.as_ref()).is_some_and(|status| status.rendered)
    };
    within(&format!("the rendering of page {name}"), await_condition(pages.clone(), name, rendered)).await?;
    Ok(())
}

/// Deletes a ConfigMap and waits until the controller has created it again.
async fn delete_config_map(client: &Client, namespace: &str) -> anyhow::Result<()> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let name = config_map_name("alpha");
    println!("5. deleting ConfigMap {name}, which the controller has to restore:");
    let old_uid = maps.get(&name).await?.uid();
    maps.delete(&name, &DeleteParams::default()).await?;
    let recreated = |map: Option<&ConfigMap>| map.is_some_and(|map| map.uid() != old_uid);
    within(&format!("a new ConfigMap {name}"), await_condition(maps, &name, recreated)).await?;
    println!("   restored: {name} has a new uid");
    Ok(())
}

/// Deletes what the scenario created on a cluster: the pages while the controller still handles their finalizer, then the CRD.
async fn clean_up(client: &Client, namespace: &str) -> anyhow::Result<()> {
    let pages: Api<Page> = Api::namespaced(client.clone(), namespace);
    for name in NAMES {
        let Some(page) = pages.get_opt(name).await? else { continue };
        pages.delete(name, &DeleteParams::default()).await?;
        let deleted = conditions::is_deleted(page.metadata.uid.as_deref().unwrap_or_default());
        within(&format!("the deletion of page {name}"), await_condition(pages.clone(), name, deleted))
            .await?;
    }
    page::unregister(client).await?;
    println!("7. deleted the pages and their CRD");
    Ok(())
}

/// Waits for a condition for at most `STEP_TIMEOUT`.
async fn within<T, E>(what: &str, condition: impl Future<Output = Result<T, E>>) -> anyhow::Result<T>
where
    E: std::error::Error + Send + Sync + 'static,
{
    tokio::time::timeout(STEP_TIMEOUT, condition)
        .await
        .with_context(|| format!("waited {STEP_TIMEOUT:?} for {what}"))?
        .with_context(|| format!("while waiting for {what}"))
}
