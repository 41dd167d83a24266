//! [`LogLines`]: the stream, and the task that starts one task for each container.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;
use k8s_openapi::api::core::v1::Pod;
use kube_client::{Api, Client};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;

use super::containers::ContainerState;
use super::params::LogLinesParams;
use super::pods::{PodChange, PodView, watch as watch_pods};
use super::reader::{LogReader, Start};
use super::task::{ContainerTask, Item, LogLinesError};

/// The lines of many logs: returned by [`ApiExt::log_lines`](crate::ApiExt::log_lines). Dropping it ends the requests.
#[derive(Debug)]
pub struct LogLines {
    items: mpsc::Receiver<Item>,
    _task: JoinSet<()>,
}

impl Stream for LogLines {
    type Item = Result<super::LogLine, LogLinesError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.items.poll_recv(cx)
    }
}

/// Lines that are read ahead, of all containers together.
const LINES_AHEAD: usize = 64;

/// Requests that are being opened at the same time, and logs that are read at the same time without `follow`; as long as they are answered.
const OPENINGS: usize = 10;

/// Pods that are not selected any more and whose position is known.
const UNSELECTED: usize = 1000;

pub(crate) fn log_lines(pods: Api<Pod>, params: &LogLinesParams) -> LogLines {
    let (sender, items) = mpsc::channel(LINES_AHEAD);
    let mut task = JoinSet::new();
    task.spawn(run(pods, params.clone(), sender));
    LogLines { items, _task: task }
}

/// The containers of a pod, each with the sender of its state.
type Containers = HashMap<String, watch::Sender<ContainerState>>;

struct Coordinator {
    client: Client,
    params: LogLinesParams,
    pods: HashMap<Arc<str>, Containers>,
    /// The pods that are not selected any more, in that order.
    unselected: VecDeque<Arc<str>>,
    /// Before the first list was received, for which `tail_lines` is.
    starting: bool,
    openings: Arc<Semaphore>,
    tasks: JoinSet<()>,
    items: mpsc::Sender<Item>,
}

async fn run(pods: Api<Pod>, params: LogLinesParams, items: mpsc::Sender<Item>) {
    let (sender, mut changes) = mpsc::channel(16);
    let mut watching = JoinSet::new();
    watching.spawn(watch_pods(pods.clone(), params.clone(), sender));
    let mut coordinator = Coordinator {
        client: pods.into(),
        params,
        pods: HashMap::new(),
        unselected: VecDeque::new(),
        starting: true,
        openings: Arc::new(Semaphore::new(OPENINGS)),
        tasks: JoinSet::new(),
        items,
    };
    loop {
        tokio::select! {
            change = changes.recv() => match change {
                Some(change) => coordinator.apply(change).await,
                None => break,
            },
            Some(_) = coordinator.tasks.join_next() => {}
        }
    }
    if !coordinator.params.follow {
        while coordinator.tasks.join_next().await.is_some() {}
    }
}

impl Coordinator {
    async fn apply(&mut self, change: PodChange) {
        match change {
            PodChange::Listed(views) => {
                let missing: Vec<Arc<str>> = {
                    let listed: std::collections::HashSet<&Arc<str>> =
                        views.iter().map(|view| &view.uid).collect();
                    self.pods.keys().filter(|uid| !listed.contains(uid)).cloned().collect()
                };
                missing.into_iter().for_each(|uid| self.pause(uid));
                if self.starting
                    && let Some(err) = unknown_container(&self.params, &views)
                {
                    let _ = self.items.send(Err(err)).await;
                }
                views.into_iter().for_each(|view| self.update(view));
                self.starting = false;
            }
            PodChange::Is(view) => self.update(view),
            PodChange::Gone(uid) => self.end(&uid),
            PodChange::Unselected(uid) => self.pause(uid),
            // A receiver that is dropped ends this task as well.
            PodChange::Failed(source) => drop(self.items.send(Err(LogLinesError::Pods { source })).await),
        }
    }

    fn update(&mut self, view: PodView) {
        let PodView { uid, namespace, name, containers, .. } = view;
        self.unselected.retain(|it| *it != uid);
        let senders = self.pods.entry(uid.clone()).or_default();
        for (container, state) in containers {
            if let Some(sender) = senders.get(&container) {
                sender.send_if_modified(|old| std::mem::replace(old, state) != state);
                continue;
            }
            let (sender, receiver) = watch::channel(state);
            let tail = self.params.tail_lines.filter(|_| self.starting);
            let start = Start { since: self.params.since_time, tail };
            let task = ContainerTask {
                pods: Api::namespaced(self.client.clone(), &namespace),
                namespace: namespace.clone(),
                pod: name.clone(),
                uid: uid.clone(),
                container: container.as_str().into(),
                follow: self.params.follow,
                reader: LogReader::new(self.params.follow, start),
                state: receiver,
                latest: state,
                openings: self.openings.clone(),
                items: self.items.clone(),
            };
            self.tasks.spawn(task.run());
            senders.insert(container, sender);
        }
    }

    /// The tasks of a pod that is not selected any more know how far they have read, for the case that it is selected again. Of many such
    /// pods, which may be deleted by now, the first ones are forgotten.
    fn pause(&mut self, uid: Arc<str>) {
        let Some(containers) = self.pods.get(&uid) else { return };
        containers.values().for_each(|sender| sender.send_modify(|state| state.unselected = true));
        if !self.unselected.contains(&uid) {
            self.unselected.push_back(uid);
        }
        if self.unselected.len() > UNSELECTED {
            let first = self.unselected.pop_front();
            first.into_iter().for_each(|uid| self.end(&uid));
        }
    }

    /// The tasks of a deleted pod read what still comes.
    fn end(&mut self, uid: &Arc<str>) {
        self.unselected.retain(|it| it != uid);
        for sender in self.pods.remove(uid).into_iter().flat_map(HashMap::into_values) {
            sender.send_modify(|state| state.gone = true);
        }
    }
}

/// The container that was asked for by its name, if there are pods and none has it.
fn unknown_container(params: &LogLinesParams, views: &[PodView]) -> Option<LogLinesError> {
    // So many names help to find the right one.
    const NAMED: usize = 20;
    let container = params.container.as_ref()?;
    let mut containers: Vec<String> = Vec::new();
    for name in views.iter().flat_map(|view| &view.names) {
        if name == container {
            return None;
        }
        if containers.len() < NAMED && !containers.contains(name) {
            containers.push(name.clone());
        }
    }
    let container = container.clone();
    (!containers.is_empty()).then_some(LogLinesError::NoContainer { container, containers })
}
