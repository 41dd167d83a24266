//! The task of one container: sends the requests of its [`LogReader`], and delivers the lines.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube_client::Api;
use kube_client::error::{Error, ErrorChain};
use kube_core::subresource::LogParams;
use thiserror::Error;
use tokio::io::AsyncBufRead;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{Instant, sleep};

use super::containers::{ContainerState, containers_of};
use super::line::{LineReader, LogLine, Part};
use super::outage::{Outage, is_stable};
use super::params::Containers;
use super::place::Place;
use super::pods::is_refusal;
use super::reader::{LogReader, Read, Step};
use crate::pods::summary::{PodSummary, summaries};

/// Why lines are missing.
#[derive(Debug, Error)]
pub enum LogLinesError {
    /// The pods cannot be listed or watched.
    #[error("cannot watch the pods whose logs are read: {}", ErrorChain(source))]
    Pods {
        /// The cause.
        source: Error,
    },
    /// The first list of the pods has some, and none has the container of [`LogLinesParams::container`](super::LogLinesParams::container).
    /// With `follow`, the stream goes on with pods that come later.
    #[error("container {container} is not valid for any pod out of: {}", containers.join(", "))]
    NoContainer {
        /// The container that was asked for.
        container: String,
        /// The names of those there are, at most 20.
        containers: Vec<String>,
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

/// How long a followed log counts among those that are being opened, at most. A node answers with the first line, if there is one.
const OPENING_LIMIT: Duration = Duration::from_millis(100);

/// How long a log that is not followed counts among those that are read while nothing of it comes.
const READING_LIMIT: Duration = Duration::from_secs(1);

/// The pause before it is asked again whether a pod that is not selected any more is still there.
const RETRY: Duration = Duration::from_secs(1);

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

/// What is known of a request.
#[derive(Debug)]
struct Attempt {
    began: Instant,
    /// The server has answered it.
    opened: bool,
    /// It had a new line.
    received: bool,
}

/// How a request has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// Its lines have been delivered.
    Log,
    /// The pod is another one of the same name, which has a task of its own.
    Replaced,
    /// The pod is not selected any more.
    Unselected,
}

impl ContainerTask {
    /// Runs until the log has ended for good, or nobody reads the items.
    pub(super) async fn run(mut self) {
        let (mut outage, mut opened_before) = (Outage::default(), false);
        while !self.items.is_closed() {
            let seen = *self.state.borrow_and_update();
            if seen.gone || seen.run >= self.latest.run {
                self.latest = seen;
            }
            self.latest.unselected = seen.unselected;
            let read = match self.reader.step(self.latest) {
                Step::Done => return,
                Step::Wait if self.state.changed().await.is_err() => return,
                Step::Wait => continue,
                Step::Read(read) => read,
            };
            let mut attempt = Attempt { began: Instant::now(), opened: false, received: false };
            let ended = self.read(read, &mut attempt).await;
            opened_before |= attempt.opened;
            match ended {
                Ok(Ended::Replaced) => return,
                Ok(Ended::Unselected) => continue,
                Ok(Ended::Log) => {
                    self.reader.ended(read);
                    outage.ended(attempt.began, Instant::now(), attempt.received || !read.follow);
                    if !read.follow {
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
                    if attempt.received || self.was_quiet(&attempt, &err).await {
                        outage.over();
                    }
                    // What was allowed before will be again: an authorizer or a token may be late.
                    let refused = is_refusal(&err) && !opened_before;
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
            if self.look().await == Some(Ended::Replaced) {
                return;
            }
        }
    }

    /// Whether a request that failed was none of an outage: there was nothing to receive. Nodes do not even answer before the first
    /// line.
    async fn was_quiet(&self, attempt: &Attempt, err: &Error) -> bool {
        let is_refused = matches!(err, Error::Api(_));
        is_stable(attempt.began, Instant::now())
            && (attempt.opened || !is_refused && matches!(self.current_pod().await, Ok(Some(_))))
    }

    /// Before an interrupted log is read on: whether it is still that of the same run. The watch may have been interrupted as well.
    async fn look(&mut self) -> Option<Ended> {
        let Some(pod) = self.current_pod().await.ok()? else {
            // Nobody will say so.
            return self.state.borrow().unselected.then_some(Ended::Replaced);
        };
        if !self.is_same(&pod) {
            return Some(Ended::Replaced);
        }
        let this = Containers::Named(self.container.to_string());
        if let Some((_, state)) = containers_of(&pod, &this).pop()
            && state.run > self.latest.run
        {
            self.latest = state;
        }
        None
    }

    /// Returns when the pod is there and not selected any more. A pod that is gone has a log that ends.
    fn unselected(&self) -> impl Future<Output = ()> + Send + use<> {
        let (pods, pod, uid) = (summaries(&self.pods), self.pod.clone(), self.uid.clone());
        let mut state = self.state.clone();
        async move {
            while state.wait_for(|state| state.unselected && !state.gone).await.is_ok() {
                match pods.get_opt(&pod).await {
                    Ok(Some(now)) if now.metadata.uid.as_deref() == Some(&*uid) => {
                        if state.borrow().unselected {
                            return;
                        }
                    }
                    Ok(_) => break,
                    Err(_) => sleep(RETRY).await,
                }
            }
            std::future::pending().await
        }
    }

    /// The pod that has the name now.
    async fn current_pod(&self) -> Result<Option<PodSummary>, Error> {
        summaries(&self.pods).get_opt(&self.pod).await
    }

    fn is_same(&self, pod: &PodSummary) -> bool {
        pod.metadata.uid.as_deref() == Some(&*self.uid)
    }

    /// Whether the log that was opened is that of another pod of the same name: logs are asked for by name, and the watch may lag. A pod
    /// that has its name after the opening had it before.
    async fn is_of_another_pod(&self) -> Result<bool, Error> {
        match self.current_pod().await {
            Ok(Some(pod)) => Ok(!self.is_same(&pod)),
            // What was opened is the rest of a deleted pod's log.
            Ok(None) => Ok(false),
            // Without the permission it cannot be known.
            Err(err) if is_refusal(&err) => Ok(false),
            Err(err) => Err(err),
        }
    }

    /// Reports an error. Returns whether to go on.
    async fn report(&self, source: Error, refused: bool) -> bool {
        let (namespace, pod) = (self.namespace.clone(), self.pod.clone());
        let err = LogLinesError::Container { namespace, pod, container: self.container.clone(), source };
        self.items.send(Err(err)).await.is_ok() && !refused && self.follow
    }

    /// Sends one request and delivers its new lines.
    async fn read(&mut self, read: Read, attempt: &mut Attempt) -> Result<Ended, Error> {
        let params = LogParams {
            container: Some(self.container.to_string()),
            follow: read.follow,
            previous: read.previous,
            since_time: read.since,
            tail_lines: read.tail,
            timestamps: true,
            ..LogParams::default()
        };
        let limit = if read.follow { OPENING_LIMIT } else { READING_LIMIT };
        let mut place = Place::take(&self.openings, limit).await;
        let reader = {
            let mut opening = pin!(self.pods.log_reader(&self.pod, &params));
            let mut unselected = pin!(self.unselected());
            let mut state = self.state.clone();
            loop {
                tokio::select! {
                    opened = &mut opening => break opened?,
                    () = &mut unselected => return Ok(Ended::Unselected),
                    () = silent_after_deletion(&mut state) => return Ok(Ended::Log),
                    () = place.expire() => {}
                }
            }
        };
        attempt.opened = true;
        if self.follow && self.is_of_another_pod().await? {
            return Ok(Ended::Replaced);
        }
        // A log that is not followed counts until its end, as long as something of it comes.
        if read.follow {
            place.leave();
        }
        self.deliver(LineReader::new(reader), read, attempt, place).await
    }

    async fn deliver(
        &mut self,
        mut lines: LineReader<impl AsyncBufRead + Unpin>,
        read: Read,
        attempt: &mut Attempt,
        mut place: Place,
    ) -> Result<Ended, Error> {
        let mut repeated = false;
        let mut state = self.state.clone();
        let mut unselected = pin!(self.unselected());
        loop {
            let part = tokio::select! {
                biased;
                () = &mut unselected => return Ok(Ended::Unselected),
                part = lines.next() => part.map_err(interrupted)?,
                () = silent_after_deletion(&mut state) => return Ok(Ended::Log),
                () = place.expire() => continue,
            };
            place.renew();
            let part = match part {
                Some(part) => part,
                // Without a line feed it may be incomplete, unless nothing can follow.
                None if read.last => match lines.rest() {
                    Some(rest) => rest,
                    None => return Ok(Ended::Log),
                },
                None => return Ok(Ended::Log),
            };
            if part.first {
                repeated = !self.reader.accept(part.time, &part.text);
            }
            if !repeated && read.delivers {
                attempt.received = true;
                if self.items.send(Ok(self.line(part))).await.is_err() {
                    return Ok(Ended::Log);
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
    let _ = state.wait_for(|state| state.gone || state.unselected).await;
    sleep(SILENCE_OF_DELETED).await;
}
