//! From local files to a pod.

use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Pod;
use kube_client::Api;
use kube_core::subresource::AttachParams;
use tokio::io::AsyncWriteExt;

use super::bridge::{PieceWriter, channel};
use super::error::{CopyError, CopyErrorKind};
use super::from::ERRORS_KEPT;
use super::pack::pack;
use super::params::CopyParams;
use super::path::{argument, split};
use super::progress::{Copied, Counter};
use crate::pods::exec::{
    ExecError, ExecParams, Output, Started, collect, container_of, exec_output, exit_status, start,
};

pub(crate) async fn copy_to(
    pods: Api<Pod>,
    name: &str,
    local: PathBuf,
    remote: &str,
    params: &CopyParams,
) -> Result<Copied, CopyError> {
    let counter = Counter::new(params.progress.clone());
    match send(&pods, name, &local, remote, params, &counter).await {
        Ok(()) => Ok(counter.copied()),
        Err(kind) => Err(CopyError { kind, copied: counter.copied() }),
    }
}

async fn send(
    pods: &Api<Pod>,
    name: &str,
    local: &Path,
    remote: &str,
    params: &CopyParams,
    counter: &Counter,
) -> Result<(), CopyErrorKind> {
    if remote.is_empty() {
        return Err(CopyErrorKind::NoName { path: remote.to_owned() });
    }
    local.symlink_metadata().map_err(|source| CopyErrorKind::Local { path: local.to_owned(), source })?;
    let test = ["test", "-d", &argument(remote)].map(str::to_owned).to_vec();
    let container = container_of(pods, name, params.container.as_deref(), &test).await?;
    let remote = target(pods, name, local, remote, test, container.clone()).await?;
    let (directory, file) = split(&remote).ok_or(CopyErrorKind::NoName { path: remote })?;
    // `p`: permissions, `o`: the owner is the user of the container. Both are known to GNU tar, BusyBox and Toybox.
    let mut command = match params.preserve {
        true => vec!["tar", "-xpof", "-"],
        false => vec!["tar", "--no-same-permissions", "--no-same-owner", "-xmf", "-"],
    };
    command.extend(["-C", &directory]);
    let command = command.into_iter().map(str::to_owned).collect();
    let streams = AttachParams { container, ..AttachParams::default() };
    let streams = streams.stdin(true).stdout(false).max_stdin_buf_size(64 << 10);
    let Started { mut process, ran } = start(pods, name, command, &streams).await?;
    let (stdin, stderr, status) = (process.stdin_pipe(), process.stderr(), process.take_status());

    let (pieces, mut receiver) = channel();
    let (source, counted) = (local.to_owned(), counter.clone());
    let packing =
        tokio::task::spawn_blocking(move || pack(&source, &file, &counted, PieceWriter::new(pieces)));
    let sending = async {
        let Some(mut stdin) = stdin else { return };
        while let Some(piece) = receiver.recv().await {
            // If `tar` ends early, its exit code and errors say why.
            if stdin.write_all(&piece).await.is_err() {
                break;
            }
        }
        // Without a receiver, the packing thread ends.
        receiver.close();
    };
    let ((), stderr, ended) = tokio::join!(sending, collect(stderr, ERRORS_KEPT), process.join());
    let packed = packing.await;
    let packed = packed.unwrap_or_else(|err| {
        Err(CopyErrorKind::Archive(format!("the task that packs the files failed: {err}")))
    });
    // A file that cannot be read makes `tar` fail as well, and a `tar` that fails breaks the pipe of the packing.
    match packed {
        Err(CopyErrorKind::Local { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {}
        packed => packed?,
    }
    ended.map_err(|source| ExecError::Disconnected { ran: ran.clone(), source })?;
    let status = exit_status(&ran, status).await?;
    Output::without_stdout(ran, status, stderr.bytes).exit_ok()?;
    Ok(())
}

/// The exit code with which `test` says no.
const NO: i32 = 1;

/// What the copy is called in the container: below `remote` if that is a directory.
async fn target(
    pods: &Api<Pod>,
    name: &str,
    local: &Path,
    remote: &str,
    test: Vec<String>,
    container: Option<String>,
) -> Result<String, CopyErrorKind> {
    let check = ExecParams { container, ..ExecParams::default() };
    match exec_output(pods.clone(), name, test, &check).await {
        Ok(output) if output.status.code() == NO => return Ok(remote.to_owned()),
        // Any other code says nothing about the directory: `test` was killed, or has failed itself.
        Ok(output) => drop(output.exit_ok()?),
        // A container without `test`.
        Err(ExecError::NotRun { .. }) => return Ok(remote.to_owned()),
        Err(err) => return Err(err.into()),
    }
    let file = file_name(local)?;
    Ok(format!("{}/{file}", remote.trim_end_matches('/')))
}

/// The name of a local file, also of `.` and `..`.
fn file_name(local: &Path) -> Result<String, CopyErrorKind> {
    let resolved: PathBuf;
    let named = match local.file_name() {
        Some(name) => Some(name),
        None => {
            resolved = local
                .canonicalize()
                .map_err(|source| CopyErrorKind::Local { path: local.to_owned(), source })?;
            resolved.file_name()
        }
    };
    let no_name = || CopyErrorKind::NoName { path: local.display().to_string() };
    named.and_then(|name| name.to_str()).map(str::to_owned).ok_or_else(no_name)
}
