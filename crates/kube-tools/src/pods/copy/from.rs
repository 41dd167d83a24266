//! From a pod to local files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use k8s_openapi::api::core::v1::Pod;
use kube_client::Api;
use kube_core::subresource::AttachParams;
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;

use super::bridge::{PieceReader, channel};
use super::error::{CopyError, CopyErrorKind};
use super::params::CopyParams;
use super::path::Requested;
use super::progress::{Copied, Counter};
use super::resume::Received;
use super::unpack::Unpacker;
use crate::pods::exec::{ExecError, Output, collect, container_of, describe, exit_status, start};
use crate::pods::summary::{PodSummary, summaries};

/// The most bytes that are kept of the errors of `tar`.
pub(super) const ERRORS_KEPT: usize = 16 << 10;

pub(crate) async fn copy_from(
    pods: Api<Pod>,
    name: &str,
    remote: &str,
    local: PathBuf,
    params: &CopyParams,
) -> Result<Copied, CopyError> {
    let counter = Counter::new(params.progress.clone());
    match receive(&pods, name, remote, &local, params, &counter).await {
        Ok(()) => Ok(counter.copied()),
        Err(kind) => Err(CopyError { kind, copied: counter.copied() }),
    }
}

async fn receive(
    pods: &Api<Pod>,
    name: &str,
    remote: &str,
    local: &Path,
    params: &CopyParams,
    counter: &Counter,
) -> Result<(), CopyErrorKind> {
    if remote.is_empty() {
        return Err(CopyErrorKind::NoName { path: remote.to_owned() });
    }
    let requested = Requested::new(remote);
    let target = match requested.name() {
        Some(file) if local.is_dir() => local.join(file),
        _ => local.to_owned(),
    };
    let command = archive_command(&requested.argument);
    let container = container_of(pods, name, params.container.as_deref(), &command).await?;
    let path = requested.argument.clone();
    let resumable = params.retries > 0;
    let received = Received::default();
    let mut download = Download { pods, name, path, container, received, resumable, source: None };
    let (pieces, receiver) = channel();
    let unpacker = Unpacker { requested, target, preserve: params.preserve, counter: counter.clone() };
    let unpacking = tokio::task::spawn_blocking(move || unpacker.unpack(PieceReader::new(receiver)));
    let downloaded = download.run(params.retries, &pieces).await;
    drop(pieces);
    let unpacked = unpacking.await;
    // An archive that was cut off is an error of the unpacker as well.
    downloaded?;
    unpacked
        .unwrap_or_else(|err| Err(CopyErrorKind::Archive(format!("the task that unpacks it failed: {err}"))))
}

/// The archive of a path, received in one or several attempts.
struct Download<'a> {
    pods: &'a Api<Pod>,
    name: &'a str,
    path: String,
    container: Option<String>,
    /// What was passed on.
    received: Received,
    /// Whether it may be resumed.
    resumable: bool,
    /// Where the first attempt has read; `None` if that is not known.
    source: Option<Source>,
}

/// The files of a container: they are others in another pod of this name, and after a restart.
#[derive(PartialEq, Eq)]
struct Source {
    pod: Option<String>,
    restarts: Vec<(String, i32)>,
}

impl Download<'_> {
    /// Returns at the end of the archive, or when the receiver of the pieces has ended.
    async fn run(&mut self, retries: u32, pieces: &mpsc::Sender<Bytes>) -> Result<(), CopyErrorKind> {
        let mut attempt = 0;
        loop {
            let err = match self.attempt(pieces).await {
                Err(CopyErrorKind::Exec(
                    err @ (ExecError::Disconnected { .. } | ExecError::Request { .. }),
                )) if attempt < retries
                    && self.source.is_some()
                    && (attempt > 0 || matches!(err, ExecError::Disconnected { .. })) =>
                {
                    err
                }
                ended => return ended,
            };
            attempt += 1;
            let received = self.received.bytes();
            tracing::warn!(error = %err, attempt, retries, received, "the copy is resumed");
            tokio::time::sleep(Duration::from_secs(u64::from(attempt.min(10)))).await;
        }
    }

    async fn attempt(&mut self, pieces: &mpsc::Sender<Bytes>) -> Result<(), CopyErrorKind> {
        let streams = AttachParams { container: self.container.clone(), ..AttachParams::default() };
        let resumed = self.received.resume_point();
        let resumed_at = resumed.as_ref().map(|point| point.offset);
        let whole = archive_command(&self.path);
        let command = resumed.as_ref().map_or_else(|| whole.clone(), |point| point.command(&self.path));
        let mut process = start(self.pods, self.name, command, &streams).await?.process;
        // The script of a resumed copy says less than its purpose.
        let ran = describe(&whole, self.name);
        if self.resumable {
            self.check_source(&ran, resumed_at).await?;
        }
        let (stdout, stderr) = (process.stdout(), process.stderr());
        let status = process.take_status();
        let errors = tokio::spawn(collect(stderr, ERRORS_KEPT));
        let Some(mut stdout) = stdout else { return Ok(()) };
        let (offset, mut expected) =
            resumed.map_or((0, Bytes::new()), |point| (point.offset, point.repeated));
        loop {
            let mut piece = BytesMut::with_capacity(32 << 10);
            // A pipe in memory has no errors.
            if stdout.read_buf(&mut piece).await.unwrap_or(0) == 0 {
                break;
            }
            let mut piece = piece.freeze();
            let repeated = piece.split_to(piece.len().min(expected.len()));
            if repeated != expected.split_to(repeated.len()) {
                return Err(CopyErrorKind::Changed { offset });
            }
            if piece.is_empty() {
                continue;
            }
            self.received.add(&piece).map_err(CopyErrorKind::Archive)?;
            if pieces.send(piece).await.is_err() {
                return Ok(());
            }
        }
        process.join().await.map_err(|source| ExecError::Disconnected { ran: ran.clone(), source })?;
        let status = exit_status(&ran, status).await?;
        let stderr = errors.await.map(|errors| errors.bytes).unwrap_or_default();
        Output::without_stdout(ran.clone(), status, stderr).exit_ok()?;
        if !expected.is_empty() {
            return Err(CopyErrorKind::Changed { offset });
        }
        if !self.received.is_whole() {
            let what = "it has no end-of-archive marker, so entries may be missing".to_owned();
            return Err(CopyErrorKind::Archive(what));
        }
        // A status tells of a restart some time after it: once more, now that the archive is whole.
        if resumed_at.is_some() {
            self.check_source(&ran, resumed_at).await?;
        }
        Ok(())
    }
}

impl Download<'_> {
    /// Notes where the first attempt reads; a later one has to read there too. Asked after the connection is open, so that the pod that is
    /// there now is that of the connection, or came after it.
    async fn check_source(&mut self, ran: &str, resumed_at: Option<u64>) -> Result<(), CopyErrorKind> {
        let source =
            summaries(self.pods).get(self.name).await.map(|pod| Source::of(&pod, self.container.as_deref()));
        match (resumed_at, source) {
            (None, source) => self.source = source.ok(),
            (Some(offset), Ok(source)) if self.source.as_ref() != Some(&source) => {
                return Err(CopyErrorKind::Changed { offset });
            }
            (Some(_), Ok(_)) => {}
            (Some(_), Err(source)) => return Err(ExecError::Request { ran: ran.to_owned(), source }.into()),
        }
        Ok(())
    }
}

impl Source {
    fn of(pod: &PodSummary, container: Option<&str>) -> Self {
        let statuses = pod.status.iter().flat_map(|status| {
            [
                &status.init_container_statuses,
                &status.container_statuses,
                &status.ephemeral_container_statuses,
            ]
        });
        let statuses =
            statuses.flatten().flatten().filter(|status| container.is_none_or(|name| name == status.name));
        let restarts = statuses.map(|status| (status.name.clone(), status.restart_count));
        Self { pod: pod.metadata.uid.clone(), restarts: restarts.collect() }
    }
}

/// Prints the whole archive of a path.
fn archive_command(path: &str) -> Vec<String> {
    ["tar", "cf", "-", path].map(str::to_owned).into()
}
