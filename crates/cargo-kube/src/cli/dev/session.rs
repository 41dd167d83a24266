//! Performs what the machine says: the build, the operator, the signals.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use futures::FutureExt as _;
use futures::future::{BoxFuture, OptionFuture};
use kube_tools::yaml::Objects;
use tokio::process::Command;

use super::cluster::Cluster;
use super::deployed::Deployed;
use super::machine::{Effect, Event, Machine};
use super::port;
use super::say::say;
use super::sources::Sources;
use crate::cli::output::causes;
use crate::cli::program::{Process, Program, build, ended_by};
use crate::cli::runtime::Signals;

/// A running `cargo kube dev`.
pub(super) struct Session<'a> {
    pub(super) program: &'a Program,
    /// Further arguments of the operator.
    pub(super) arguments: &'a [OsString],
    pub(super) cluster: &'a Cluster,
    pub(super) sources: Sources,
    pub(super) signals: Signals,
}

/// What runs at the moment. Dropped, it ends.
#[derive(Default)]
struct Running<'a> {
    work: Option<BoxFuture<'a, Done>>,
    operator: Option<Process>,
    /// What was registered last.
    registered: Option<(Deployed, Objects)>,
    /// Applies samples, and says which.
    samples: Option<BoxFuture<'a, Applied>>,
    /// Waits until the debug page answers.
    page: Option<BoxFuture<'a, Option<SocketAddr>>>,
    /// A source that has changed since the last build.
    changed: Option<PathBuf>,
    /// Whether the user knows how to look into the server.
    is_introduced: bool,
    /// The samples that were applied in this session: the user may have changed or deleted them since.
    applied: BTreeSet<String>,
}

/// What to tell the user of the samples, and which there are now.
type Applied = Result<(String, BTreeSet<String>)>;

/// A build or a registration has ended.
enum Done {
    Built(Event),
    Registered(Box<Result<(Deployed, Objects)>>),
}

impl<'s> Session<'s> {
    /// Builds, starts and restarts the operator until the user ends it.
    pub(super) async fn run(mut self) -> Result<()> {
        let (mut machine, mut effects) = Machine::start();
        let mut running = Running::default();
        loop {
            let mut not_started = None;
            for effect in effects {
                match effect {
                    Effect::End => return Ok(()),
                    Effect::Build => {
                        if let Some(path) = running.changed.take() {
                            say(&format!("{} has changed", Program::shown(&path)));
                        }
                        self.sources.refresh()?;
                        running.work = Some(self.build());
                    }
                    Effect::Register(executable) => {
                        let (cluster, arguments) = (self.cluster, self.arguments);
                        let work = async move {
                            Done::Registered(Box::new(cluster.register(&executable, arguments).await))
                        };
                        running.work = Some(work.boxed());
                    }
                    Effect::Cancel => running.work = None,
                    Effect::Start(executable) => not_started = self.start(&executable, &mut running).err(),
                    Effect::Terminate => running.operator.iter_mut().for_each(Process::terminate),
                    Effect::Kill => running.operator.iter_mut().for_each(Process::kill),
                    Effect::Say(text) => say(&text),
                }
            }
            let event = match not_started {
                Some(why) => Event::Exited(why),
                None => self.next(&mut running, machine.deadline()).await,
            };
            effects = machine.handle(event, Instant::now());
        }
    }

    fn build(&self) -> BoxFuture<'s, Done> {
        let program = self.program;
        let built =
            async move { Done::Built(Event::Built(build(program).await.map_err(|err| err.to_string()))) };
        built.boxed()
    }

    /// # Errors
    /// The program cannot be started: the reason, as one for its end.
    fn start(&self, executable: &Path, running: &mut Running<'s>) -> Result<(), String> {
        let (deployed, samples) = running.registered.as_ref().ok_or("no manifests")?;
        let (mut new, mut texts) = (Objects::default(), BTreeSet::new());
        for sample in samples.iter() {
            let text = serde_json::to_string(sample).map_err(|err| err.to_string())?;
            if !running.applied.contains(&text) && texts.insert(text) {
                new.add(sample).map_err(|err| err.to_string())?;
            }
        }
        let mut command = Command::new(executable);
        command.args(&deployed.arguments).args(self.arguments).envs(&deployed.environment);
        command.env("KUBECONFIG", self.cluster.operator_kubeconfig());
        // A program that runs in a pod would take these.
        command.env_remove("KUBERNETES_SERVICE_HOST").env_remove("KUBERNETES_SERVICE_PORT");
        // Before: afterwards the port may be the operator's.
        port::advice(&deployed.listens).for_each(|line| say(&line));
        let page = deployed.debug_page().filter(|address| !port::is_taken(*address));
        let started = Process::start(&mut command).and_then(Process::guarded);
        running.operator = Some(started.map_err(|err| format!("an error: {err}"))?);
        say(&format!("{} is started", self.program.name));
        if !std::mem::replace(&mut running.is_introduced, true) {
            self.cluster.look_at(deployed).iter().for_each(|line| say(line));
        }
        running.page =
            page.map(|address| async move { port::answers(address).await.then_some(address) }.boxed());
        deployed.left_out.iter().for_each(|why| say(why));
        if !new.is_empty() {
            let cluster = self.cluster;
            let applying = async move { cluster.apply_samples(&new).await.map(|lines| (lines, texts)) };
            running.samples = Some(applying.boxed());
        }
        Ok(())
    }

    async fn next(&mut self, running: &mut Running<'s>, deadline: Option<Instant>) -> Event {
        let sleep = |at: Instant| tokio::time::sleep_until(at.into());
        loop {
            let operator = running.operator.as_mut().map(Process::ended);
            tokio::select! {
                name = self.signals.next() => {
                    say(&format!("{name}: ending"));
                    running.samples = None;
                    return Event::Stop;
                }
                path = self.sources.changed() => {
                    running.changed = path.or(running.changed.take());
                    return Event::Changed;
                }
                Some(done) = OptionFuture::from(running.work.as_mut()) => {
                    running.work = None;
                    return done.into_event(&mut running.registered);
                }
                Some(ended) = OptionFuture::from(operator) => {
                    running.operator = None;
                    running.samples = None;
                    running.page = None;
                    return Event::Exited(ended.map_or_else(|err| err.to_string(), ended_by));
                }
                Some(found) = OptionFuture::from(running.page.as_mut()) => {
                    running.page = None;
                    if let Some(address) = found {
                        say(&format!("its debug page: http://{address}/debug/controllers"));
                    }
                }
                Some(applied) = OptionFuture::from(running.samples.as_mut()) => {
                    running.samples = None;
                    match applied {
                        Ok((lines, texts)) => {
                            lines.lines().for_each(|line| say(&format!("sample {line}")));
                            running.applied.extend(texts);
                        }
                        Err(err) => say(&causes(&err)),
                    }
                }
                Some(()) = OptionFuture::from(deadline.map(sleep)) => return Event::Time,
            }
        }
    }
}

impl Done {
    fn into_event(self, registered: &mut Option<(Deployed, Objects)>) -> Event {
        match self {
            Self::Built(event) => event,
            Self::Registered(result) => match *result {
                Ok(new) => {
                    *registered = Some(new);
                    Event::Registered(Ok(()))
                }
                Err(err) => Event::Registered(Err(causes(&err))),
            },
        }
    }
}
