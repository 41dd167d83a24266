//! A controller whose watches are late: it must not decide by what its caches showed before its own writes.

use super::{controller_scenario::ScenarioRun, rng::Rng};
use crate::common::{ApiExt, named, owned};
use bytes::Bytes;
use futures::{StreamExt, future::ready};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube_client::{Api, Client, client::Body, reconcile::ReconcileScope};
use kube_core::{
    PartialObjectMeta, Resource, ResourceExt,
    params::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use kube_runtime::{
    Config, Controller,
    controller::{Action, Own, Related},
    reflector::{self, Store},
    utils::CancelableJoinHandle,
    watcher,
};
use kube_testserver::ApiServer;
use serde_json::json;
use std::{
    fmt::Display,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    runtime::Handle,
    time::{Instant, sleep, sleep_until},
};
use tower::{ServiceExt, service_fn};

/// The longest delay of an event of a watch.
const LONGEST_DELAY: u64 = 5_000;

const NAMESPACES: [&str; 2] = ["default", "second"];

/// The annotation of an owner whose child has to be of this generation.
const GENERATION: &str = "generation";

/// Runs one scenario: each owner has one child, which is replaced when the owner asks for another generation.
///
/// Checks: an owner never has two children that exist, as the server sees them; in the end each has one, of the wanted generation.
pub(super) async fn run(seed: u64, sees_own_writes: bool) -> ScenarioRun {
    let mut rng = Rng::new(seed);
    let server = ApiServer::new();
    let client = Client::new(server.clone(), "default");
    let spaces: Api<Namespace> = Api::all(client.clone());
    spaces.create(&PostParams::default(), &named(NAMESPACES[1])).await.unwrap();
    let late = late_watches(&server, rng.split());
    let cache = CacheForm::ALL[usize::try_from(rng.below(CacheForm::ALL.len() as u64)).unwrap()];
    let context = Arc::new(Context::new(client.clone(), cache, rng.split()));
    context.record(format!("{cache:?}"));
    let (_controller, _fill) = start(late, &context, sees_own_writes, rng.one_in(2));

    let mut owners = Vec::new();
    for number in 0..1 + rng.below(3) {
        let namespace = NAMESPACES[usize::try_from(rng.below(2)).unwrap()];
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        owners.push(maps.add(named(&format!("owner-{number}"))).await);
    }
    for step in 0..5 + rng.below(20) {
        sleep(rng.millis(4_000)).await;
        let owner = &owners[usize::try_from(rng.below(owners.len() as u64)).unwrap()];
        context.disturb(owner, step, rng.below(4)).await;
    }
    sleep(Duration::from_secs(120)).await;
    for owner in &owners {
        context.check_end(owner).await;
    }
    let violations = context.violations.lock().unwrap().join("; ");
    let trace = context.trace.lock().unwrap().clone();
    ScenarioRun { trace, outcome: if violations.is_empty() { Ok(()) } else { Err(violations) } }
}

/// Where the reconciler finds the children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CacheForm {
    Store,
    #[cfg(feature = "compact-cache")]
    Compact,
    /// One watch for each namespace.
    Namespaces,
    /// A store of metadata, which the program fills beside the controller.
    Metadata,
}

impl CacheForm {
    const ALL: &[Self] = &[
        Self::Store,
        #[cfg(feature = "compact-cache")]
        Self::Compact,
        Self::Namespaces,
        Self::Metadata,
    ];
}

/// The children that a cache shows.
enum Children {
    Objects(Store<Secret>),
    Metadata(Store<PartialObjectMeta<Secret>>),
}

impl Children {
    /// Name and generation of each child of the owner.
    fn of(&self, owner: &ConfigMap) -> Vec<(String, String)> {
        match self {
            Self::Objects(store) => store.owned_by(owner).iter().map(|child| described(&**child)).collect(),
            Self::Metadata(store) => store.owned_by(owner).iter().map(|child| described(&**child)).collect(),
        }
    }
}

fn described(child: &impl ResourceExt) -> (String, String) {
    (child.name_any(), wanted(child))
}

fn wanted(object: &impl ResourceExt) -> String {
    object.annotations().get(GENERATION).cloned().unwrap_or_default()
}

struct Context {
    client: Client,
    cache: CacheForm,
    children: Mutex<Option<Children>>,
    rng: Mutex<Rng>,
    last_child: Mutex<u32>,
    start: Instant,
    trace: Mutex<Vec<String>>,
    violations: Mutex<Vec<String>>,
}

impl Context {
    fn new(client: Client, cache: CacheForm, rng: Rng) -> Self {
        Self {
            client,
            cache,
            children: Mutex::default(),
            rng: Mutex::new(rng),
            last_child: Mutex::default(),
            start: Instant::now(),
            trace: Mutex::default(),
            violations: Mutex::default(),
        }
    }

    fn record(&self, what: impl Display) {
        self.trace.lock().unwrap().push(format!("{:>9.3} {what}", self.start.elapsed().as_secs_f64()));
    }

    fn secrets(&self, owner: &ConfigMap) -> Api<Secret> {
        Api::namespaced(self.client.clone(), owner.meta().namespace.as_deref().unwrap())
    }

    /// What the server has.
    async fn existing(&self, owner: &ConfigMap) -> Vec<Secret> {
        let uid = owner.uid();
        let mut children = self.secrets(owner).list(&ListParams::default()).await.unwrap().items;
        children.retain(|child| child.owner_references().iter().any(|it| Some(&it.uid) == uid.as_ref()));
        children
    }

    async fn create_child(&self, owner: &ConfigMap) {
        let number = {
            let mut last = self.last_child.lock().unwrap();
            *last += 1;
            *last
        };
        let mut child: Secret = owned(&format!("child-{number}"), owner);
        child.annotations_mut().insert(GENERATION.to_owned(), wanted(owner));
        self.record(format!("{} gets {}", owner.name_any(), child.name_any()));
        let secrets = self.secrets(owner);
        let create = async move { secrets.create(&PostParams::default(), &child).await.unwrap() };
        if self.rng.lock().unwrap().one_in(2) {
            ReconcileScope::current().spawn(create).await.unwrap();
        } else {
            create.await;
        }
        let names: Vec<String> = self.existing(owner).await.iter().map(ResourceExt::name_any).collect();
        if names.len() > 1 {
            self.violations.lock().unwrap().push(format!("{} has {}", owner.name_any(), names.join(", ")));
        }
    }

    /// Another client changes something.
    async fn disturb(&self, owner: &ConfigMap, step: u64, what: u64) {
        let maps: Api<ConfigMap> =
            Api::namespaced(self.client.clone(), owner.meta().namespace.as_deref().unwrap());
        let name = owner.name_any();
        match what {
            0 => drop(maps.touch(&name, &step.to_string()).await),
            1 => {
                for child in self.existing(owner).await {
                    self.record(format!("another deletes {}", child.name_any()));
                    self.secrets(owner).remove(&child.name_any()).await;
                }
            }
            _ => {
                self.record(format!("{name} wants {step}"));
                let generation = json!({ "metadata": { "annotations": { GENERATION: step.to_string() } } });
                maps.patch(&name, &PatchParams::default(), &Patch::Merge(generation)).await.unwrap();
            }
        }
    }

    async fn check_end(&self, owner: &ConfigMap) {
        let maps: Api<ConfigMap> =
            Api::namespaced(self.client.clone(), owner.meta().namespace.as_deref().unwrap());
        let expected = wanted(&maps.get(&owner.name_any()).await.unwrap());
        let children: Vec<_> = self.existing(owner).await.iter().map(described).collect();
        if children.len() != 1 || children[0].1 != expected {
            let text = format!("in the end {} wants {expected:?} and has {children:?}", owner.name_any());
            self.violations.lock().unwrap().push(text);
        }
    }
}

/// Decides by the cache alone.
async fn reconcile(owner: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, kube_client::Error> {
    let children = context.children.lock().unwrap().as_ref().unwrap().of(&owner);
    context.record(format!("reconcile of {} sees {children:?}", owner.name_any()));
    let current = children.iter().any(|(_, generation)| *generation == wanted(&*owner));
    for (name, _) in children.iter().filter(|(_, generation)| *generation != wanted(&*owner)) {
        let deleted = context.secrets(&owner).delete(name, &DeleteParams::default()).await;
        if let Err(error) = deleted.map(drop)
            && !error.is_not_found()
        {
            return Err(error);
        }
    }
    if !current {
        context.create_child(&owner).await;
    }
    Ok(match context.cache {
        // The watch that triggers may show what others delete before the store does, whose changes trigger nothing.
        CacheForm::Metadata => Action::requeue(Duration::from_secs(20)),
        _ => Action::await_change(),
    })
}

fn start(
    late: Client,
    context: &Arc<Context>,
    sees_own_writes: bool,
    skips: bool,
) -> (CancelableJoinHandle<()>, Option<CancelableJoinHandle<()>>) {
    let maps: Api<ConfigMap> = Api::all(late.clone());
    let secrets: Api<Secret> = Api::all(late.clone());
    let config = watcher::Config::default;
    let mut settings = Config::default().wait_for_own_writes(sees_own_writes);
    if skips {
        settings = settings.skip_own_writes();
    }
    let mut fill = None;
    let controller = match context.cache {
        CacheForm::Store | CacheForm::Namespaces => {
            let (store, writer) = reflector::store::<Secret>();
            *context.children.lock().unwrap() = Some(Children::Objects(store));
            let (own, related) = (Own::api(maps, config()), Related::api(secrets, config()).store(writer));
            match context.cache {
                CacheForm::Namespaces => Controller::for_own(own.namespaces(NAMESPACES))
                    .owns_related(related.namespaces(NAMESPACES)),
                _ => Controller::for_own(own).owns_related(related),
            }
        }
        #[cfg(feature = "compact-cache")]
        CacheForm::Compact => {
            let (store, writer) = reflector::compact_store::<Secret>();
            *context.children.lock().unwrap() = Some(Children::Objects(store));
            let related = Related::metadata(secrets, config()).compact_store(writer);
            Controller::new(maps, config().compact_cache()).owns_related(related)
        }
        CacheForm::Metadata => {
            let (store, writer) = reflector::store::<PartialObjectMeta<Secret>>();
            let filled = store.clone();
            let events = writer.watch(Api::all(late), config()).for_each(|_| ready(()));
            fill = Some(CancelableJoinHandle::spawn(events, &Handle::current()));
            let controller = Controller::new(maps, config()).owns(secrets, config()).reads(&store);
            *context.children.lock().unwrap() = Some(Children::Metadata(store));
            controller.reconcile_after(|| "the metadata".to_owned(), async move {
                filled.wait_until_ready().await.unwrap();
            })
        }
    };
    let output = controller.with_config(settings).run(
        reconcile,
        |_, error, context: Arc<Context>| {
            context.violations.lock().unwrap().push(error.to_string());
            Action::retry()
        },
        Arc::clone(context),
    );
    (CancelableJoinHandle::spawn(output.for_each(|_| ready(())), &Handle::current()), fill)
}

/// A client whose watches are late, each event by another time, in their order.
fn late_watches(server: &ApiServer, rng: Rng) -> Client {
    let (server, rng) = (server.clone(), Arc::new(Mutex::new(rng)));
    let service = service_fn(move |request: Request<Body>| {
        let (server, rng) = (server.clone(), Arc::clone(&rng));
        async move {
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch="));
            let response = server.oneshot(request).await?;
            let (parts, body) = response.into_parts();
            let of_watch = Mutex::new(rng.lock().unwrap().split());
            let delayed = body.into_data_stream().map(move |data| {
                let longest = if is_watch { LONGEST_DELAY } else { 1 };
                let due = Instant::now() + of_watch.lock().unwrap().millis(longest);
                async move {
                    sleep_until(due).await;
                    data.map(Frame::data).map_err(|error| io::Error::other(error.to_string()))
                }
            });
            // Polls the body for as many events as may be under way, so that their times do not add up.
            let body = StreamBody::new(delayed.buffered(1_000)).boxed_unsync();
            Ok::<Response<http_body_util::combinators::UnsyncBoxBody<Bytes, io::Error>>, io::Error>(
                Response::from_parts(parts, body),
            )
        }
    });
    Client::new(service, "default")
}
