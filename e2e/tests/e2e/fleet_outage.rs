//! A member of a fleet that is away: how long changes of the others take until they are reconciled does not change.
//!
//! On embedded servers under paused time, which does not depend on the machine. `KUBE_E2E_FLEET` names the kubeconfigs of three genuine
//! servers, separated by colons, each with a file `server.pid` beside it: the last one is suspended for 90 s. `cargo xtask chaos fleet`
//! starts such servers.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::operator::clusters::{ClusterOptions, ClusterSpec, ClusterState, Clusters, Fleet, OnCluster};
use kube::operator::manager::Manager;
use kube::runtime::controller::{Action, Controller};
use kube::runtime::watcher;
use kube::{Api, Client, Config, ResourceExt as _};
use kube_testserver::{ApiServer, Fault, FaultRule, Match, TestFleet};
use tokio::time::{Instant, interval, sleep, timeout};

const MEMBERS: [&str; 3] = ["one", "two", "away"];
/// On each member. Each is reconciled every second, so that requests hang on the one that is away.
const OBJECTS: usize = 20;
const PERIOD: Duration = Duration::from_millis(100);

/// When the value of an object of a member was first reconciled.
type Reconciled = Mutex<HashMap<(String, String), Instant>>;

async fn reconcile(map: Arc<ConfigMap>, context: Arc<OnCluster<Reconciled>>) -> Result<Action, kube::Error> {
    let value = map.data.iter().flatten().map(|(_, value)| value.clone()).next().unwrap_or_default();
    let key = (context.cluster().name().to_string(), format!("{} {value}", map.name_any()));
    context.lock().expect("no holder panics").entry(key).or_insert_with(Instant::now);
    Api::<ConfigMap>::default_namespaced(context.cluster().client()).get(&map.name_any()).await?;
    Ok(Action::requeue(Duration::from_secs(1)))
}

/// The servers of the members.
enum Servers {
    Embedded(TestFleet),
    Genuine(Vec<PathBuf>),
}

/// What takes the last one away, for as long as it lives.
enum Outage {
    Embedded(FaultRule),
    Genuine(String),
}

impl Servers {
    fn of_environment() -> anyhow::Result<Option<Self>> {
        let Ok(paths) = std::env::var("KUBE_E2E_FLEET") else { return Ok(None) };
        let paths: Vec<_> = paths.split(':').map(PathBuf::from).collect();
        ensure!(paths.len() == MEMBERS.len(), "KUBE_E2E_FLEET: expected {} kubeconfigs", MEMBERS.len());
        Ok(Some(Self::Genuine(paths)))
    }

    async fn config(&self, member: usize) -> anyhow::Result<Config> {
        Ok(match self {
            Self::Embedded(_) => Config::new(format!("https://{}", MEMBERS[member]).parse()?),
            Self::Genuine(paths) => {
                let kubeconfig = Kubeconfig::read_from(&paths[member])?;
                Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?
            }
        })
    }

    fn client(&self, config: &Config) -> kube::Result<Client> {
        match self {
            Self::Embedded(servers) => Client::with_transport(config, servers.clone()),
            Self::Genuine(_) => Client::try_from(config.clone()),
        }
    }

    fn suspend_last(&self) -> anyhow::Result<Outage> {
        Ok(match self {
            Self::Embedded(servers) => {
                let server = servers.server(MEMBERS[2]).context("it has a server")?;
                Outage::Embedded(server.fault(Match::any(), Fault::Delay(Duration::from_secs(4))))
            }
            Self::Genuine(paths) => {
                let pid = std::fs::read_to_string(paths[2].with_file_name("server.pid"))?.trim().to_owned();
                signal("-STOP", &pid)?;
                Outage::Genuine(pid)
            }
        })
    }

    /// How long to measure before, and how long the last one is away.
    fn times(&self) -> [Duration; 2] {
        match self {
            Self::Embedded(_) => [20, 30].map(Duration::from_secs),
            Self::Genuine(_) => [60, 90].map(Duration::from_secs),
        }
    }
}

impl Drop for Outage {
    fn drop(&mut self) {
        match self {
            Self::Embedded(rule) => rule.remove(),
            Self::Genuine(pid) => drop(signal("-CONT", pid)),
        }
    }
}

fn signal(signal: &str, pid: &str) -> anyhow::Result<()> {
    let status = Command::new("kill").args([signal, pid]).status()?;
    ensure!(status.success(), "kill {signal} {pid}: {status}");
    Ok(())
}

/// Changes objects of members in turn. Returns how long it took until each change was reconciled, in ms, sorted.
async fn latencies(
    clients: &[Client],
    reconciled: &Reconciled,
    length: Duration,
    round: &str,
) -> anyhow::Result<Vec<f64>> {
    let (end, mut ticks, mut sent) = (Instant::now() + length, interval(PERIOD), Vec::new());
    for count in 0.. {
        ticks.tick().await;
        if Instant::now() > end {
            break;
        }
        let (member, object) = (count % clients.len(), count % OBJECTS);
        let began = Instant::now();
        change(&clients[member], object, &format!("{round}-{count}")).await?;
        sent.push((MEMBERS[member], format!("{} {round}-{count}", name(object)), began));
    }
    sleep(Duration::from_secs(1)).await;
    let reconciled = reconciled.lock().expect("no holder panics");
    let latency = |(member, text, began): (&str, String, Instant)| {
        let at = reconciled.get(&(member.to_owned(), text.clone()));
        let at = at.with_context(|| format!("{member}: {text} was not reconciled within a second"))?;
        Ok(at.duration_since(began).as_secs_f64() * 1e3)
    };
    let mut all = sent.into_iter().map(latency).collect::<anyhow::Result<Vec<f64>>>()?;
    all.sort_by(f64::total_cmp);
    Ok(all)
}

fn name(object: usize) -> String {
    format!("fleet-{object}")
}

async fn change(client: &Client, object: usize, value: &str) -> anyhow::Result<()> {
    let mut map =
        ConfigMap { data: Some(BTreeMap::from([("value".into(), value.into())])), ..<_>::default() };
    map.metadata.name = Some(name(object));
    map.metadata.labels = Some(BTreeMap::from([("fleet".into(), "outage".into())]));
    let params = PatchParams::apply("fleet-outage").force();
    Api::<ConfigMap>::default_namespaced(client.clone())
        .patch(&name(object), &params, &Patch::Apply(&map))
        .await?;
    Ok(())
}

async fn until(fleet: &Fleet, member: &str, state: ClusterState, limit: Duration) -> anyhow::Result<()> {
    let member = member.parse()?;
    let reached = async {
        while fleet.status(&member).map(|status| status.state) != Some(state) {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(limit, reached)
        .await
        .with_context(|| format!("{member} is not {state:?}: {:?}", fleet.status(&member)))
}

/// Prints both, and fails if those during the outage are longer.
fn compare(before: &[f64], during: &[f64]) -> anyhow::Result<()> {
    let at = |all: &[f64], share: f64| all[((all.len() - 1) as f64 * share) as usize];
    println!(
        "ms from a change to its reconcile on the other members, of {} and {}:",
        before.len(),
        during.len()
    );
    for (text, share) in [("median", 0.5), ("99 of 100", 0.99), ("longest", 1.0)] {
        println!("{text}: {:.1} before, {:.1} while one is away", at(before, share), at(during, share));
    }
    let (before, during) = (at(before, 0.5), at(during, 0.5));
    ensure!(
        during <= 1.5 * before + 5.0,
        "the median is {during:.1} ms while a member is away, {before:.1} ms before"
    );
    Ok(())
}

/// Computing takes no time here: a reconcile takes some only if it waits for something.
#[tokio::test(start_paused = true)]
async fn a_member_that_is_away_does_not_slow_the_others_down() -> anyhow::Result<()> {
    let [before, during] = measure(Servers::Embedded(TestFleet::new(MEMBERS))).await?;
    ensure!(before.len() > 150 && during.len() > 250, "{} and {}", before.len(), during.len());
    let waited: Vec<_> = before.iter().chain(&during).filter(|took| **took > 0.0).collect();
    ensure!(waited.is_empty(), "ms, before or while one is away: {waited:?}");
    Ok(())
}

/// Only by `cargo xtask chaos fleet`: it measures.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn genuine_members_are_not_slowed_down_by_one_that_is_suspended() -> anyhow::Result<()> {
    let Some(servers) = Servers::of_environment()? else { return Ok(()) };
    let [before, during] = measure(servers).await?;
    compare(&before, &during)
}

/// How long changes of the others take before one is away, and while it is.
async fn measure(servers: Servers) -> anyhow::Result<[Vec<f64>; 2]> {
    let servers = Arc::new(servers);
    let (mut specs, mut clients) = (Vec::new(), Vec::new());
    for (member, text) in MEMBERS.iter().enumerate() {
        let config = servers.config(member).await?;
        let client = servers.client(&config)?;
        for object in 0..OBJECTS {
            change(&client, object, "first").await?;
        }
        specs.push(ClusterSpec::new(text.parse()?, config));
        clients.push(client);
    }
    let (of_members, reconciled) = (Arc::clone(&servers), Arc::new(Reconciled::default()));
    let maps = |cluster: &kube::operator::clusters::Cluster| {
        let config = watcher::Config::default().labels("fleet=outage");
        Controller::new(Api::<ConfigMap>::default_namespaced(cluster.client()), config)
    };
    let manager = Manager::new(Client::new(ApiServer::new(), "default"))
        .cluster_options(ClusterOptions::new().connect(move |config| of_members.client(config)))
        .clusters(Clusters::fixed(specs))
        .controller_on_each("maps", maps, reconcile, Arc::clone(&reconciled));
    let fleet = manager.fleet();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(manager.run_until(async { stopped.await.unwrap_or_default() }));
    for member in MEMBERS {
        until(&fleet, member, ClusterState::Synced, Duration::from_secs(30)).await?;
    }

    let [calm, away] = servers.times();
    let others = &clients[..2];
    let before = latencies(others, &reconciled, calm, "before").await?;
    let outage = servers.suspend_last()?;
    let during = latencies(others, &reconciled, away, "during").await?;
    let seen = fleet.status(&MEMBERS[2].parse()?).context("it is a member")?;
    drop(outage);
    until(&fleet, MEMBERS[2], ClusterState::Synced, Duration::from_secs(90)).await?;
    change(&clients[2], 0, "back").await?;
    let key = (MEMBERS[2].to_owned(), format!("{} back", name(0)));
    let is_back = async {
        while !reconciled.lock().expect("no holder panics").contains_key(&key) {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(30), is_back).await.context("the member is back")?;

    println!("the one that is away: {:?} {:?}", seen.state, seen.reason);
    drop(stop);
    running.await??;
    Ok([before, during])
}
