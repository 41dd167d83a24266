//! The task of one container: sends the requests of its [`LogReader`], and delivers the lines.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube_client::Api;
use kube_client::error::{Error, ErrorChain};
use kube_core::subresource::LogParams;
use thiserror::Error;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{Instant, sleep};

use super::containers::{ContainerState, containers_of};
use super::line::{LineReader, LogLine, Part};
use super::outage::Outage;
use super::params::Containers;
use super::pods::is_refusal;
use super::reader::{LogReader, Read, Step};
use crate::pods::summary::summaries;

/// Why lines are missing.
#[derive(Debug, Error)]
pub enum LogLinesError {
    /// The pods cannot be listed or watched.
    #[error("cannot watch the pods whose logs are read: {}", ErrorChain(source))]
    Pods {
        /// The cause.
        source: Error,
    },
    /// The log of a container cannot be read.
    #[error("cannot read the log of container {container} of pod {namespace}/{pod}: {}", ErrorChain(source))]
    Container {
        /// The namespace of the pod.
        namespace: Arc<str>,
        /// The pod.
        pod: Arc<str>,
        /// The container.
        container: Arc<str>,
        /// The cause.
        source: Error,
    },
}

/// What a task sends to the stream.
pub(super) type Item = Result<LogLine, LogLinesError>;

/// How long a log of a deleted pod may be silent before it is taken for ended.
const SILENCE_OF_DELETED: Duration = Duration::from_secs(10);

pub(super) struct ContainerTask {
    /// Of the pod's namespace.
    pub(super) pods: Api<Pod>,
    pub(super) namespace: Arc<str>,
    pub(super) pod: Arc<str>,
    pub(super) uid: Arc<str>,
    pub(super) container: Arc<str>,
    pub(super) follow: bool,
    pub(super) reader: LogReader,
    pub(super) state: watch::Receiver<ContainerState>,
    /// The latest known state: that of the watch, or a newer one.
    pub(super) latest: ContainerState,
    /// Limits how many requests are opened at the same time.
    pub(super) openings: Arc<Semaphore>,
    pub(super) items: mpsc::Sender<Item>,
}

impl ContainerTask {
    /// Runs until the log has ended for good, or nobody reads the items.
    pub(super) async fn run(mut self) {
        let mut outage = Outage::default();
        while !self.items.is_closed() {
            let seen = *self.state.borrow_and_update();
            if seen.gone || seen.run >= self.latest.run {
                self.latest = seen;
            }
            let read = match self.reader.step(self.latest) {
                Step::Done => return,
                Step::Wait if self.state.changed().await.is_err() => return,
                Step::Wait => continue,
                Step::Read(read) => read,
            };
            let (mut received, began) = (false, Instant::now());
            match self.read(read, &mut received).await {
                Ok(()) => {
                    self.reader.ended(read);
                    outage.ended(began, Instant::now(), received || read.last);
                    if read.last {
                        continue;
                    }
                }
                // The run before this one is not kept by the node.
                Err(Error::Api(status)) if read.previous && matches!(status.code, 400 | 404) => {
                    let (pod, container) = (&self.pod, &self.container);
                    tracing::warn!(%pod, %container, "the end of the log before a restart is lost: {status}");
                    self.reader.ended(read);
                    continue;
                }
                Err(err) => {
                    if received {
                        outage.over();
                    }
                    let refused = is_refusal(&err);
                    if (outage.failed(Instant::now()) || refused) && !self.report(err, refused).await {
                        return;
                    }
                }
            }
            tokio::select! {
                () = sleep(outage.pause()) => {}
                changed = self.state.changed() => if changed.is_err() { return },
                () = self.items.closed() => return,
            }
            self.look().await;
        }
    }

    /// Before an interrupted log is read on: whether it is still that of the same run. The watch may have been interrupted as well.
    async fn look(&mut self) {
        let Ok(Some(pod)) = summaries(&self.pods).get_opt(&self.pod).await else { return };
        if pod.metadata.uid.as_deref() != Some(&*self.uid) {
            return;
        }
        let this = Containers::Named(self.container.to_string());
        if let Some((_, state)) = containers_of(&pod, &this).pop()
            && state.run > self.latest.run
        {
            self.latest = state;
        }
    }

    /// Reports an error. Returns whether to go on.
    async fn report(&self, source: Error, refused: bool) -> bool {
        let (namespace, pod) = (self.namespace.clone(), self.pod.clone());
        let err = LogLinesError::Container { namespace, pod, container: self.container.clone(), source };
        self.items.send(Err(err)).await.is_ok() && !refused && self.follow
    }

    /// Sends one request and delivers its new lines; `received` is set when there was one.
    async fn read(&mut self, read: Read, received: &mut bool) -> Result<(), Error> {
        let params = LogParams {
            container: Some(self.container.to_string()),
            follow: read.follow,
            previous: read.previous,
            since_time: read.since,
            tail_lines: read.tail,
            timestamps: true,
            ..LogParams::default()
        };
        let opening = self.openings.clone().acquire_owned().await;
        let reader = self.pods.log_reader(&self.pod, &params).await?;
        // A log that is not followed counts until its end.
        let _opening = if read.follow { None } else { Some(opening) };
        let mut lines = LineReader::new(reader);
        let mut repeated = false;
        let mut state = self.state.clone();
        loop {
            let part = tokio::select! {
                part = lines.next() => part.map_err(interrupted)?,
                () = silent_after_deletion(&mut state) => return Ok(()),
            };
            let part = match part {
                Some(part) => part,
                // Without a line feed it may be incomplete, unless nothing can follow.
                None if read.last => match lines.rest() {
                    Some(rest) => rest,
                    None => return Ok(()),
                },
                None => return Ok(()),
            };
            if part.first {
                repeated = !self.reader.accept(part.time);
            }
            if !repeated {
                *received = true;
                if self.items.send(Ok(self.line(part))).await.is_err() {
                    return Ok(());
                }
            }
        }
    }

    fn line(&self, part: Part) -> LogLine {
        LogLine {
            namespace: self.namespace.clone(),
            pod: self.pod.clone(),
            container: self.container.clone(),
            time: part.time,
            text: part.text,
            partial: !part.end,
        }
    }
}

/// The connection failed in the middle of a log.
fn interrupted(err: io::Error) -> Error {
    match err.downcast::<Error>() {
        Ok(err) => err,
        Err(err) => Error::Service(err.into()),
    }
}

/// Returns some time after the pod was deleted: a node that does not answer leaves its logs open.
async fn silent_after_deletion(state: &mut watch::Receiver<ContainerState>) {
    // An error means that the sender, which knew the pod, is dropped.
    let _ = state.wait_for(|state| state.gone).await;
    sleep(SILENCE_OF_DELETED).await;
}
