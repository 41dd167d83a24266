//! One life of a watcher and its store: changes, faults, odd servers, and a quiet end.

use super::{
    dice::Dice,
    faults::Faults,
    life::Life,
    servers::{Oddity, Servers},
};
use crate::common::named;
use futures::{StreamExt, stream::BoxStream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client};
use kube_core::{
    ResourceExt,
    params::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use kube_runtime::{
    WatchStreamExt, reflector,
    reflector::Store,
    watcher::{self, Event, watcher},
};
use kube_testserver::ApiServer;
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// How long after the last fault everything has to be in order, at the latest.
const SETTLED: Duration = Duration::from_secs(600);

/// Longer than it takes to notice that a quiet storage went back in time.
const NOTICED: Duration = Duration::from_secs(180);

/// Lives one life.
///
/// At its end the store equals the server, but for objects that cannot be decoded: each of these was named by an error, and none of
/// them is there that the server does not have. Unless the storage itself goes back in time, or versions cannot be
/// compared, the store never does.
pub(super) async fn live(seed: u64) -> Life {
    let mut dice = Dice::new(seed);
    let oddity = [Oddity::None, Oddity::Lag, Oddity::Lag, Oddity::OpaqueVersions][dice.below(4) as usize];
    let rewinds = oddity != Oddity::OpaqueVersions && dice.one_in(3);
    let server = ApiServer::new();
    let faults = Faults::new(dice.split());
    let servers = Servers::new(&server, &faults, oddity, dice.split());
    let witness = Arc::new(Witness::new(oddity != Oddity::OpaqueVersions && !rewinds));
    witness.tell(format!("{oddity:?}, rewinds: {rewinds}"));
    let mut changes = Changes::new(&server, dice.split(), &witness);

    let (store, writer) = reflector::store();
    let api: Api<ConfigMap> = Api::default_namespaced(servers.client());
    let events = watcher(api, config(&mut dice));
    let events: BoxStream<'static, _> =
        if dice.one_in(2) { events.boxed() } else { events.default_backoff().boxed() };
    let (shown, listener) = (store.clone(), Arc::clone(&witness));
    let filling = events.reflect(writer).for_each(move |item| {
        listener.see(&item, &shown);
        std::future::ready(())
    });
    let filling = tokio::spawn(filling);

    let mut outcome = Ok(());
    for _ in 0..20 + dice.below(60) {
        if rewinds && dice.one_in(20) {
            outcome = outcome.and(changes.rewind(&store).await);
        } else {
            changes.next().await;
            sleep(dice.millis(4000)).await;
        }
    }
    faults.end();
    servers.end();
    witness.tell("from here on, nothing goes wrong any more".to_owned());
    outcome = outcome.and(changes.settle(&store).await);
    filling.abort();
    let wrong = std::mem::take(&mut *witness.violations.lock().unwrap());
    if !wrong.is_empty() {
        outcome = Err(wrong.join("; "));
    }
    let story = std::mem::take(&mut *witness.story.lock().unwrap());
    Life { story, outcome }
}

fn config(dice: &mut Dice) -> watcher::Config {
    let config = watcher::Config::default().timeout(10 + u32::try_from(dice.below(30)).unwrap());
    let config = if dice.one_in(4) { config } else { config.any_semantic() };
    match dice.below(3) {
        0 => config.streaming_lists(),
        1 => config.page_size(2),
        _ => config,
    }
}

/// Sees what the watcher tells.
struct Witness {
    born: Instant,
    /// Whether what was seen may never be unseen.
    only_forward: bool,
    /// The highest version of each object that was seen, with its uid.
    highest: Mutex<BTreeMap<String, (u64, String)>>,
    /// The uids of objects that were deleted or could not be decoded at some time.
    may_be_missing: Mutex<BTreeSet<String>>,
    errors: Mutex<Vec<String>>,
    story: Mutex<Vec<String>>,
    violations: Mutex<Vec<String>>,
}

impl Witness {
    fn new(only_forward: bool) -> Self {
        Self {
            born: Instant::now(),
            only_forward,
            highest: Mutex::default(),
            may_be_missing: Mutex::default(),
            errors: Mutex::default(),
            story: Mutex::default(),
            violations: Mutex::default(),
        }
    }

    fn tell(&self, what: String) {
        self.story.lock().unwrap().push(format!("{:>9.3} {what}", self.born.elapsed().as_secs_f64()));
    }

    fn see(&self, item: &watcher::Result<Event<ConfigMap>>, store: &Store<ConfigMap>) {
        match item {
            Err(error) => {
                let error = chain(error);
                self.tell(error.clone());
                self.errors.lock().unwrap().push(error);
            }
            Ok(event) => {
                self.tell(event.to_string());
                if let Event::Delete(object) = event {
                    self.reach(object);
                }
                if self.only_forward && !matches!(event, Event::Init | Event::InitApply(_)) {
                    self.check(store);
                }
            }
        }
    }

    /// The store shows every object at the highest version that was seen, or a higher one, and lacks none without reason.
    fn check(&self, store: &Store<ConfigMap>) {
        let shown = store.state();
        for object in &shown {
            self.reach(object);
        }
        let shown: BTreeSet<String> = shown.iter().filter_map(|object| object.uid()).collect();
        let missing = self.may_be_missing.lock().unwrap();
        for (name, (version, uid)) in &*self.highest.lock().unwrap() {
            if !shown.contains(uid) && !missing.contains(uid) {
                self.violated(format!("{name} at {version} is missing, and was never deleted"));
            }
        }
    }

    fn reach(&self, object: &ConfigMap) {
        let version: u64 = object.resource_version().and_then(|it| it.parse().ok()).unwrap();
        let (name, uid) = (object.name_any(), object.uid().unwrap());
        let mut highest = self.highest.lock().unwrap();
        let before = highest.get(&name).map_or(0, |(version, _)| *version);
        if self.only_forward && version < before {
            self.violated(format!("{name} is shown at {version}, and was seen at {before}"));
        }
        highest.insert(name, (version.max(before), uid));
    }

    fn violated(&self, what: String) {
        self.tell(what.clone());
        self.violations.lock().unwrap().push(what);
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {}", chain(source)))
}

/// Changes at random, by a client without faults.
struct Changes {
    server: ApiServer,
    objects: Api<ConfigMap>,
    /// The same by a path that no cache answers.
    everything: Api<ConfigMap>,
    dice: Dice,
    witness: Arc<Witness>,
    count: usize,
}

impl Changes {
    fn new(server: &ApiServer, dice: Dice, witness: &Arc<Witness>) -> Self {
        let client = Client::new(server.clone(), "default");
        let (objects, everything) = (Api::default_namespaced(client.clone()), Api::all(client));
        Self { server: server.clone(), objects, everything, dice, witness: Arc::clone(witness), count: 0 }
    }

    /// One change, if what it needs is there.
    async fn next(&mut self) {
        self.count += 1;
        let name = format!("object-{}", self.dice.below(6));
        let what = self.dice.below(13);
        self.witness.tell(format!("change {what} of {name}"));
        match what {
            0..=3 => drop(self.objects.create(&PostParams::default(), &named(&name)).await),
            4..=6 => self.patch(&name, json!({})).await,
            7 | 8 => self.patch(&name, json!({ "undecodable": "yes" })).await,
            9 => self.patch(&name, json!({ "undecodable": null })).await,
            10 => self.delete(&name).await,
            11 => self.server.compact(),
            _ => self.server.end_watches(),
        }
    }

    async fn patch(&self, name: &str, data: serde_json::Value) {
        let labels = json!({ "change": self.count.to_string() });
        let patch = Patch::Merge(json!({ "metadata": { "labels": labels }, "data": data }));
        if let Ok(object) = self.objects.patch(name, &PatchParams::default(), &patch).await
            && is_undecodable(&object)
        {
            self.witness.may_be_missing.lock().unwrap().extend(object.uid());
        }
    }

    async fn delete(&self, name: &str) {
        if let Ok(object) = self.objects.get(name).await {
            self.witness.may_be_missing.lock().unwrap().extend(object.uid());
            drop(self.objects.delete(name, &DeleteParams::default()).await);
        }
    }

    /// The storage is replaced by an older one, and nobody writes until that can have been noticed: what happens to a storage that
    /// passes the version again at once is not seen.
    async fn rewind(&mut self, store: &Store<ConfigMap>) -> Result<(), String> {
        let version = self.server.resource_version().saturating_sub(1 + self.dice.below(10));
        if self.server.rewind(version).is_err() {
            return Ok(()); // the history does not reach back so far
        }
        self.witness.tell(format!("the storage goes back to {version}"));
        sleep(NOTICED).await;
        self.settle(store).await
    }

    /// Waits until nothing is out of order.
    async fn settle(&self, store: &Store<ConfigMap>) -> Result<(), String> {
        let end = Instant::now() + SETTLED;
        loop {
            sleep(Duration::from_secs(5)).await;
            match self.all_arrived(store).await {
                Err(wrong) if Instant::now() > end => return Err(wrong),
                Err(_not_yet) => {}
                Ok(()) => return Ok(()),
            }
        }
    }

    async fn all_arrived(&self, store: &Store<ConfigMap>) -> Result<(), String> {
        let there = self.everything.list(&ListParams::default()).await.unwrap().items;
        let state =
            |object: &ConfigMap| (object.name_any(), (object.uid(), object.labels().get("change").cloned()));
        let (bad, good): (Vec<_>, Vec<_>) = there.into_iter().partition(is_undecodable);
        let bad: BTreeMap<_, _> = bad.iter().map(state).collect();
        let good: BTreeMap<_, _> = good.iter().map(state).collect();
        let mut shown: BTreeMap<_, _> = store.state().iter().map(|object| state(object)).collect();
        let kept: Vec<_> = bad.keys().filter_map(|name| Some((name, shown.remove(name)?))).collect();
        if shown != good {
            return Err(format!("the store has {shown:?}, the server {good:?}"));
        }
        if let Some((name, state)) = kept.into_iter().find(|(name, state)| state.0 != bad[*name].0) {
            return Err(format!("{name} is shown as {state:?}, and is {:?}", bad[name]));
        }
        let errors = self.witness.errors.lock().unwrap();
        let named = |name: &String| errors.iter().any(|it| it.contains(name.as_str()));
        match bad.keys().find(|name| !named(name)) {
            Some(name) => Err(format!("{name} cannot be decoded, and no error names it")),
            None => Ok(()),
        }
    }
}

fn is_undecodable(object: &ConfigMap) -> bool {
    object.data.as_ref().is_some_and(|data| data.contains_key("undecodable"))
}
