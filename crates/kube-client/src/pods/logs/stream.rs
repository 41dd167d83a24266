//! [`LogLines`]: the stream, and the task that starts one task for each container.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;
use k8s_openapi::api::core::v1::Pod;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;

use super::containers::ContainerState;
use super::params::LogLinesParams;
use super::pods::{PodChange, PodView, watch as watch_pods};
use super::reader::{LogReader, Start};
use super::task::{ContainerTask, Item, LogLinesError};
use crate::{Api, Client};

/// The lines of many logs: returned by [`Api::log_lines`]. Dropping it ends the requests.
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

/// Requests that are being opened at the same time, and logs that are read at the same time without `follow`.
const OPENINGS: usize = 10;

impl Api<Pod> {
    /// The lines of the logs of all pods that `params` selects, as one stream. With `follow` it goes on with new lines, restarted containers and
    /// new pods, and has no end; without it ends when all logs have been read. `Api::all` reads the pods of all namespaces.
    ///
    /// ```
    /// use futures::TryStreamExt;
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::pods::LogLinesParams;
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../../doc/running_pod_in_process.txt")]
    /// # let status = serde_json::json!({"status": {"containerStatuses": [{"name": "main", "state": {"running": {}}, "restartCount": 0,
    /// #     "image": "i", "imageID": "", "ready": true}]}});
    /// # Api::<Pod>::default_namespaced(client.clone()).patch_status("web", &Default::default(), &kube_client::api::Patch::Merge(status)).await?;
    /// # server.kubelet().log("default", "web", "main", "one\ntwo");
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(client);
    /// let mut lines = pods.log_lines(&LogLinesParams::default().tail(1));
    /// while let Some(line) = lines.try_next().await? {
    ///     assert_eq!(line.to_string(), "[pod/web/main] two");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Ordering
    /// The lines of a container come in the order of its log. Lines of different containers come as they arrive.
    ///
    /// # Guarantees
    /// A log whose connection ends, or whose server restarts, is read on from its last line. Each line comes once, as far as the
    /// server's logs have timestamps, with these exceptions: lines that a node has rotated away or deleted meanwhile are lost; with
    /// `tail`, so are lines of an interruption before the first line; of a pod that is deleted, what had not been read is lost. When a container
    /// restarts, the rest of its previous log comes first; only one restart back is kept by nodes.
    ///
    /// # Cost
    /// One request for each container (after an interruption, a read of its pod as well), one watch (a list without `follow`), and the permissions `get` of `pods/log`, `get`, `list` and `watch` of `pods`.
    /// 64 lines are read ahead, and up to a line (at most 1 MiB) in each container's task. While the stream is not read, the nodes wait.
    ///
    /// # Errors
    /// An item that is an error, [`LogLinesError`], names the container. Interruptions shorter than a minute are retried and logged, longer
    /// ones are an error each minute while the stream goes on (without `follow`, the container's log ends). What the server refuses is one
    /// error and not retried; if that is the list of pods, the stream ends.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn log_lines(&self, params: &LogLinesParams) -> LogLines {
        let (sender, items) = mpsc::channel(LINES_AHEAD);
        let mut task = JoinSet::new();
        task.spawn(run(self.clone(), params.clone(), sender));
        LogLines { items, _task: task }
    }
}

/// The containers of a pod, each with the sender of its state.
type Containers = HashMap<String, watch::Sender<ContainerState>>;

struct Coordinator {
    client: Client,
    params: LogLinesParams,
    pods: HashMap<Arc<str>, Containers>,
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
                let gone: Vec<Arc<str>> = {
                    let listed: std::collections::HashSet<&Arc<str>> =
                        views.iter().map(|view| &view.uid).collect();
                    self.pods.keys().filter(|uid| !listed.contains(uid)).cloned().collect()
                };
                gone.iter().for_each(|uid| self.end(uid));
                views.into_iter().for_each(|view| self.update(view));
                self.starting = false;
            }
            PodChange::Is(view) => self.update(view),
            PodChange::Gone(uid) => self.end(&uid),
            // A receiver that is dropped ends this task as well.
            PodChange::Failed(source) => drop(self.items.send(Err(LogLinesError::Pods { source })).await),
        }
    }

    fn update(&mut self, view: PodView) {
        let PodView { uid, namespace, name, containers } = view;
        let known = self.pods.entry(uid.clone()).or_default();
        for (container, state) in containers {
            if let Some(sender) = known.get(&container) {
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
            known.insert(container, sender);
        }
    }

    /// The tasks of a deleted pod read what still comes.
    fn end(&mut self, uid: &Arc<str>) {
        for sender in self.pods.remove(uid).into_iter().flat_map(HashMap::into_values) {
            sender.send_modify(|state| state.gone = true);
        }
    }
}
