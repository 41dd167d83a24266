//! [`Run`]: writes all objects, kind after kind, and tells how far it is.

use std::collections::{BTreeMap, HashMap, HashSet, hash_map};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::channel::mpsc::unbounded;
use futures::future::{BoxFuture, join_all, ready};
use futures::stream::{BoxStream, FuturesOrdered, select};
use futures::{FutureExt, Stream, StreamExt};
use kube_client::discovery::RestMapperError;
use kube_core::GroupVersionKind;

use super::establish::{WrittenCrd, defines, establish, is_served};
use super::id::{ObjectId, kind_of};
use super::new_namespace::{NewNamespaces, created_namespace, write_patiently};
use super::objects::{Entry, Objects};
use super::places::Places;
use super::progress::{Progress, Reporter};
use super::prune::{self, Pruning};
use super::report::Report;
use super::resolve::{Target, resolve};
use super::result::{ObjectError, ObjectOutcome, ObjectResult};
use super::settings::Settings;
use super::source::Source;
use super::unready::Unready;
use super::write::Verb;
use super::written::Written;
use crate::crds::CrdError;
use crate::kind_order::{is_crd, position};

/// A run of an [`Applier`](super::Applier): `.await` it for the [`Report`], or read it as a stream of its [`Progress`].
///
/// It does nothing until it is awaited or read, and goes on only while it is.
///
/// ```
/// use futures::StreamExt;
/// use kube_client::Client;
/// use kube_client::api::PatchParams;
/// use kube_tools::yaml::{Applier, Objects, Report};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
///
/// let objects = Objects::parse("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")?;
/// let run = Applier::new(client).apply(&objects, &PatchParams::apply("my-script"));
/// // Or `run.next().await`, step by step.
/// let report: Report = run.inspect(|step| println!("{step}")).collect().await; // 1/1 namespace/shop created
/// report.into_result()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a run does nothing unless it is awaited or read"]
pub struct Run {
    progress: BoxStream<'static, Progress>,
}

impl Run {
    pub(super) fn new(settings: &Settings, objects: &Objects, verb: Verb) -> Self {
        let (sender, progress) = unbounded();
        let mut settings = settings.clone();
        if verb.is_delete() || settings.apply_set.is_some() {
            // A kind that was missing a moment ago may be served by now: what is not deleted or recorded for want of it stays for ever.
            settings.mapper = settings.mapper.miss_interval(Duration::ZERO);
        }
        let work = Work {
            settings,
            reporter: Reporter::new(sender, objects.len()),
            verb,
            crds: Vec::new(),
            seen: HashMap::new(),
            new_namespaces: NewNamespaces::default(),
            has_failed: false,
            unready: Unready::default(),
            pruning: None,
        };
        // The work sends its steps, and has no item of its own.
        let work = work.run(objects.entries().to_vec()).into_stream().filter_map(|()| ready(None));
        Self { progress: select(progress, work).boxed() }
    }

    /// Runs to the end, without the progress. `.await` on the run does the same.
    pub async fn report(self) -> Report {
        self.collect().await
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").finish_non_exhaustive()
    }
}

impl Stream for Run {
    type Item = Progress;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Progress>> {
        self.progress.poll_next_unpin(cx)
    }
}

impl IntoFuture for Run {
    type Output = Report;
    type IntoFuture = BoxFuture<'static, Report>;

    fn into_future(self) -> Self::IntoFuture {
        self.report().boxed()
    }
}

/// The state of a run.
struct Work {
    settings: Settings,
    verb: Verb,
    reporter: Reporter,
    /// The CRDs that were written.
    crds: Vec<WrittenCrd>,
    /// The objects that were written, with their namespaces.
    seen: HashMap<ObjectId, Option<Source>>,
    /// The namespaces that were created.
    new_namespaces: NewNamespaces,
    /// Whether an object failed.
    has_failed: bool,
    /// What was written and is not ready yet.
    unready: Unready,
    /// The apply set, if the run prunes.
    pruning: Option<Pruning>,
}

impl Work {
    async fn run(mut self, mut entries: Vec<Entry>) {
        match prune::begin(&self.settings, &self.verb, &mut entries).await {
            Ok(pruning) => self.pruning = pruning,
            Err(refused) => return self.reporter.send(Progress::Prune(*refused)),
        }
        self.write(entries).await;
        let is_done = !self.has_failed && self.wait_ready().await;
        match self.pruning {
            Some(pruning) if is_done => pruning.finish(&self.reporter).await,
            Some(pruning) => pruning.skip(&self.reporter),
            None => {}
        }
    }

    /// Waits until what was written is ready, if the run waits. Returns whether nothing is missing.
    async fn wait_ready(&mut self) -> bool {
        match self.settings.wait_ready {
            Some(timeout) => {
                std::mem::take(&mut self.unready).wait(&self.settings.client, timeout, &self.reporter).await
            }
            None => true,
        }
    }

    async fn write(&mut self, entries: Vec<Entry>) {
        let mut waves: BTreeMap<usize, Vec<Entry>> = BTreeMap::new();
        for entry in entries {
            let gvk = kind_of(&entry.object);
            waves.entry(position(&gvk.group, &gvk.kind)).or_default().push(entry);
        }
        let mut waves: Vec<_> = waves.into_values().collect();
        if self.verb.is_delete() {
            waves.reverse();
            waves.iter_mut().for_each(|wave| wave.reverse());
        }
        for wave in waves {
            self.write_wave(wave).await;
        }
    }

    /// Writes objects that do not depend on each other.
    async fn write_wave(&mut self, wave: Vec<Entry>) {
        let unusable = self.wait_for_crds(&wave).await;
        let targets = join_all(wave.iter().map(|entry| resolve(&self.settings, entry))).await;
        let mut planned = Vec::new();
        for (entry, target) in wave.into_iter().zip(targets) {
            let target = match unusable.get(&kind_of(&entry.object)) {
                Some(unusable) => Err(ObjectOutcome::Failed(unusable.error())),
                None => self.plan(&entry, target),
            };
            planned.push((entry, target));
        }
        let (settings, verb, new_namespaces) = (&self.settings, &self.verb, &self.new_namespaces);
        let places = &Places::new(settings.concurrency);
        let writes = planned.into_iter().map(|(entry, target)| async move {
            let (id, resource, written) = match target {
                Ok(target) => {
                    let is_new = new_namespaces.of(&target).is_some();
                    let written = write_patiently(settings, places, &target, verb, is_new).await;
                    (target.id.completed(written.after.as_ref()), Some(target.resource), written)
                }
                Err(outcome) => (ObjectId::of(&entry.object), None, Written::without_object(outcome)),
            };
            ObjectResult {
                id,
                resource,
                source: entry.source,
                outcome: written.outcome,
                dry_run: verb.is_dry_run(),
                before: written.before.map(Box::new),
                after: written.after.map(Box::new),
            }
        });
        let mut results: FuturesOrdered<_> = writes.collect();
        let mut created = Vec::new();
        while let Some(result) = results.next().await {
            self.crds.extend(written_crd(&result));
            created.extend(created_namespace(&result));
            self.has_failed |= !result.is_ok();
            let written =
                result.after.as_deref().filter(|_| !result.dry_run && self.settings.wait_ready.is_some());
            if let Some(written) = written {
                self.unready.note(&result, written);
            }
            if let (Some(pruning), Some(applied)) = (&mut self.pruning, &result.after) {
                pruning.applied(applied.metadata.uid.as_deref());
            }
            self.reporter.object(result);
        }
        drop(results);
        self.new_namespaces.extend(created);
    }

    /// Where the object is written, or what became of it without that.
    fn plan(
        &mut self,
        entry: &Entry,
        target: Result<Target, RestMapperError>,
    ) -> Result<Target, ObjectOutcome> {
        let target = match target {
            Ok(target) => target,
            // There is no object of a kind that does not exist.
            Err(err) if self.verb.is_delete() && err.is_no_match() => return Err(ObjectOutcome::NotFound),
            Err(err) => return Err(ObjectOutcome::Failed(ObjectError::Kind(err))),
        };
        if let Some(err) = self.pruning.as_ref().and_then(|pruning| pruning.refusal(&kind_of(&entry.object)))
        {
            return Err(ObjectOutcome::Failed(ObjectError::Kind(err)));
        }
        if let Some(namespace) = self.new_namespaces.of(&target).filter(|_| self.verb.is_dry_run()) {
            let error = ObjectError::NamespaceNotCreated(namespace.to_owned());
            return Err(ObjectOutcome::Failed(error));
        }
        if target.object.metadata.name.is_some() {
            match self.seen.entry(target.id.clone()) {
                hash_map::Entry::Vacant(new) => new.insert(entry.source.clone()),
                hash_map::Entry::Occupied(first) => {
                    return Err(ObjectOutcome::Failed(ObjectError::Duplicate(first.get().clone())));
                }
            };
        }
        Ok(target)
    }

    /// Waits until the kinds of these objects are served, if their CRDs are of the same set. Returns those that cannot be used.
    async fn wait_for_crds(&self, wave: &[Entry]) -> HashMap<GroupVersionKind, UnusableCrd> {
        let kinds: HashSet<_> = wave.iter().map(|entry| kind_of(&entry.object)).collect();
        let defined = kinds.into_iter().filter_map(|kind| {
            let crd = self.crds.iter().find(|crd| defines(&crd.crd, &kind))?;
            Some((kind, crd))
        });
        let waits = defined.map(|(kind, crd)| async move {
            let served = is_served(&self.settings.mapper, crd, &kind).await;
            if matches!(served, Ok(true)) {
                return None;
            }
            if self.verb.is_dry_run() {
                // If it is not known, the objects fail with the error of discovery.
                return served.is_ok().then(|| (kind, UnusableCrd::NotInstalled(crd.name().to_owned())));
            }
            self.reporter.send(Progress::WaitingForCrd { name: crd.name().to_owned() });
            let error = establish(&self.settings, crd).await.err()?;
            Some((kind, UnusableCrd::NotServed(Arc::new(error))))
        });
        join_all(waits).await.into_iter().flatten().collect()
    }
}

/// Why a kind of the set cannot be used.
enum UnusableCrd {
    NotInstalled(String),
    NotServed(Arc<CrdError>),
}

impl UnusableCrd {
    /// For each object of the kind.
    fn error(&self) -> ObjectError {
        match self {
            Self::NotInstalled(name) => ObjectError::CrdNotInstalled(name.clone()),
            Self::NotServed(error) => ObjectError::Crd(error.clone()),
        }
    }
}

/// The CRD, if the object is one and was stored.
fn written_crd(result: &ObjectResult) -> Option<WrittenCrd> {
    let crd = result.after.as_deref().filter(|_| is_crd(&result.id.group, &result.id.kind))?;
    Some(WrittenCrd { crd: crd.clone(), is_new: matches!(result.outcome, ObjectOutcome::Created) })
}
