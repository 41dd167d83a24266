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
use super::unpack::Unpacker;
use crate::pods::exec::{ExecError, Output, Started, collect, exit_status, start};

/// The most bytes that are kept of the errors of `tar`.
pub(super) const ERRORS_KEPT: usize = 16 << 10;

/// So many bytes are received again after an interruption, to see whether the archive is still the same.
const OVERLAP: usize = 4096;

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
    let mut download = Download {
        pods,
        name,
        path: requested.argument.clone(),
        container: params.container.clone(),
        received: 0,
        tail: BytesMut::new(),
    };
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
    /// Bytes of the archive that were passed on, and the last of them.
    received: u64,
    tail: BytesMut,
}

impl Download<'_> {
    /// Returns at the end of the archive, or when the receiver of the pieces has ended.
    async fn run(&mut self, retries: u32, pieces: &mpsc::Sender<Bytes>) -> Result<(), CopyErrorKind> {
        let mut attempt = 0;
        loop {
            let err = match self.attempt(pieces).await {
                Err(CopyErrorKind::Exec(
                    err @ (ExecError::Disconnected { .. } | ExecError::Request { .. }),
                )) if attempt < retries && (attempt > 0 || matches!(err, ExecError::Disconnected { .. })) => {
                    err
                }
                ended => return ended,
            };
            attempt += 1;
            tracing::warn!(error = %err, attempt, retries, received = self.received, "the copy is resumed");
            tokio::time::sleep(Duration::from_secs(u64::from(attempt.min(10)))).await;
        }
    }

    async fn attempt(&mut self, pieces: &mpsc::Sender<Bytes>) -> Result<(), CopyErrorKind> {
        let streams = AttachParams { container: self.container.clone(), ..AttachParams::default() };
        let Started { mut process, ran } = start(self.pods, self.name, self.command(), &streams).await?;
        let (stdout, stderr) = (process.stdout(), process.stderr());
        let status = process.take_status();
        let errors = tokio::spawn(collect(stderr, ERRORS_KEPT));
        let Some(mut stdout) = stdout else { return Ok(()) };
        let mut overlap = self.tail.split().freeze();
        let restart = self.received - u64::try_from(overlap.len()).unwrap_or(0);
        self.tail.extend_from_slice(&overlap);
        loop {
            let mut piece = BytesMut::with_capacity(32 << 10);
            // A pipe in memory has no errors.
            if stdout.read_buf(&mut piece).await.unwrap_or(0) == 0 {
                break;
            }
            let mut piece = piece.freeze();
            let repeated = piece.split_to(piece.len().min(overlap.len()));
            if repeated != overlap.split_to(repeated.len()) {
                return Err(CopyErrorKind::Changed { offset: restart });
            }
            if piece.is_empty() {
                continue;
            }
            self.passed(&piece);
            if pieces.send(piece).await.is_err() {
                return Ok(());
            }
        }
        process.join().await.map_err(|source| ExecError::Disconnected { ran: ran.clone(), source })?;
        let status = exit_status(&ran, status).await?;
        let stderr = errors.await.map(|errors| errors.kept).unwrap_or_default();
        Output::without_stdout(ran, status, stderr).exit_ok()?;
        if !overlap.is_empty() {
            return Err(CopyErrorKind::Changed { offset: restart });
        }
        Ok(())
    }

    /// The command that prints the archive, from the last bytes that were received on.
    fn command(&self) -> Vec<String> {
        let skip = self.received - u64::try_from(self.tail.len()).unwrap_or(0);
        if skip == 0 {
            return ["tar", "cf", "-", &self.path].map(str::to_owned).into();
        }
        let script = r#"tar cf - "$1" | tail -c "+$2""#;
        vec!["sh".into(), "-c".into(), script.into(), "sh".into(), self.path.clone(), (skip + 1).to_string()]
    }

    fn passed(&mut self, piece: &[u8]) {
        self.received += u64::try_from(piece.len()).unwrap_or(0);
        self.tail.extend_from_slice(&piece[piece.len().saturating_sub(OVERLAP)..]);
        let excess = self.tail.len().saturating_sub(OVERLAP);
        drop(self.tail.split_to(excess));
    }
}
