//! Copies to and from pods: commands of the pod run in a folder of this machine, with its `tar`.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use k8s_openapi::api::core::v1::Pod;
use kube_client::Api;
use kube_client::api::{Patch, PatchParams};
use kube_testserver::{Process, TestServer};
use kube_tools::ApiExt as _;
use kube_tools::pods::{Copied, CopyError, CopyErrorKind, CopyParams, CopyProgress, ExecError};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;

use crate::cutter::Cutter;
use crate::pod_exec::create_with_sidecar;
use crate::running_pod::{with_pod, within};

/// Runs the command of a pod as a program in a folder, which may have programs of its own in `bin`. Stops after `limit` bytes of output.
async fn run(process: Process, folder: PathBuf, limit: u64) -> i32 {
    let Process { command, mut stdin, mut stdout, mut stderr, .. } = process;
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap());
    let mut child = tokio::process::Command::new(&command[0])
        .env("PATH", path)
        .args(&command[1..])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let (output, mut errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let forward = async {
        let _ = tokio::io::copy(&mut stdin, &mut input).await;
        drop(input);
    };
    let print = async {
        let copied = tokio::io::copy(&mut output.take(limit), &mut stdout).await.unwrap();
        if copied == limit {
            stdout.flush().await.unwrap();
            std::future::pending::<()>().await;
        }
        drop(stdout);
    };
    let complain = async {
        let _ = tokio::io::copy(&mut errors, &mut stderr).await;
    };
    let ended = async { tokio::join!(print, complain, child.wait()).2 };
    tokio::pin!(forward, ended);
    let status = tokio::select! {
        status = &mut ended => status,
        () = &mut forward => ended.await,
    };
    status.unwrap().code().unwrap()
}

/// A server whose pod `web` has the files of a folder.
async fn with_files() -> (Api<Pod>, TestServer, TempDir) {
    let (pods, server) = with_pod().await;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    server.api().kubelet().on_exec(move |process| run(process, root.clone(), u64::MAX));
    (pods, server, folder)
}

fn write(path: impl AsRef<Path>, content: &[u8], mode: u32) {
    let path = path.as_ref();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

fn assert_same(one: &Path, other: &Path) {
    assert_eq!(fs::read(one).unwrap(), fs::read(other).unwrap());
    let (one, other) = (one.metadata().unwrap(), other.metadata().unwrap());
    assert_eq!(one.permissions().mode() & 0o777, other.permissions().mode() & 0o777);
    assert_eq!(one.modified().unwrap(), other.modified().unwrap());
}

#[tokio::test]
async fn a_tree_keeps_its_files_links_modes_and_times() {
    let (pods, server, pod) = with_files().await;
    let here = tempfile::tempdir().unwrap();
    write(here.path().join("tree/a"), b"one", 0o750);
    write(here.path().join("tree/deep/large"), &vec![b'x'; 5_000_000], 0o600);
    write(here.path().join("tree/deep/ö name"), b"", 0o644);
    fs::create_dir(here.path().join("tree/empty")).unwrap();
    symlink("deep/large", here.path().join("tree/link")).unwrap();

    let (sender, progress) = tokio::sync::watch::channel(CopyProgress::default());
    let params = CopyParams::default().progress(sender);
    let sent = within(pods.copy_to("web", here.path().join("tree"), "copy", &params)).await.unwrap();
    assert_eq!((sent.files, sent.directories, sent.links, sent.bytes), (3, 3, 1, 5_000_003));
    assert_eq!((progress.borrow().files, progress.borrow().bytes), (3, 5_000_003));
    for file in ["a", "deep/large", "deep/ö name"] {
        assert_same(&here.path().join("tree").join(file), &pod.path().join("copy").join(file));
    }
    assert_eq!(fs::read_link(pod.path().join("copy/link")).unwrap(), Path::new("deep/large"));

    let back = within(pods.copy_from("web", "copy/", here.path().join("back"), &params)).await.unwrap();
    assert_eq!((back.files, back.directories, back.bytes, back.skipped_count), (3, 3, 5_000_003, 1));
    assert!(back.skipped[0].reason.contains("a symbolic link to deep/large"), "{back:?}");
    for file in ["a", "deep/large", "deep/ö name"] {
        assert_same(&here.path().join("tree").join(file), &here.path().join("back").join(file));
    }
    assert!(here.path().join("back/empty").is_dir() && !here.path().join("back/link").is_symlink());
    server.shutdown().await;
}

#[tokio::test]
async fn into_a_directory_a_copy_has_its_own_name() {
    let (pods, server, pod) = with_files().await;
    let here = tempfile::tempdir().unwrap();
    write(here.path().join("file"), b"one", 0o644);
    fs::create_dir(pod.path().join("there")).unwrap();
    let params = CopyParams::default().preserve(false);
    within(pods.copy_to("web", here.path().join("file"), "there/", &params)).await.unwrap();
    assert_eq!(fs::read(pod.path().join("there/file")).unwrap(), b"one");
    fs::create_dir(here.path().join("back")).unwrap();
    within(pods.copy_from("web", "there/file", here.path().join("back"), &params)).await.unwrap();
    assert_eq!(fs::read(here.path().join("back/file")).unwrap(), b"one");
    // A path in the pod that looks like an option is none.
    within(pods.copy_to("web", here.path().join("file"), "-v", &params)).await.unwrap();
    within(pods.copy_from("web", "-v", here.path().join("v"), &params)).await.unwrap();
    assert_eq!(fs::read(here.path().join("v")).unwrap(), b"one");
    server.shutdown().await;
}

#[tokio::test]
async fn failures_say_what_was_copied() {
    let (pods, server, pod) = with_files().await;
    let here = tempfile::tempdir().unwrap();
    let params = CopyParams::default();
    let err = within(pods.copy_from("web", "none", here.path().join("x"), &params)).await.unwrap_err();
    let text = err.to_string();
    assert!(text.starts_with("`tar cf - none` in pod web failed with exit code 2: "), "{text}");
    assert!(text.contains("none") && text.ends_with("(after 0 files, 0 bytes)"), "{text}");
    assert!(!here.path().join("x").exists());

    let err = within(pods.copy_to("web", here.path().join("none"), "x", &params)).await.unwrap_err();
    assert!(matches!(&err.kind, CopyErrorKind::Local { path, .. } if path.ends_with("none")), "{err}");

    write(here.path().join("large"), &vec![b'x'; 3_000_000], 0o644);
    let err =
        within(pods.copy_to("web", here.path().join("large"), "no/such/place", &params)).await.unwrap_err();
    let CopyErrorKind::Exec(ExecError::Failed { output }) = &err.kind else { panic!("{err:?}") };
    assert!(String::from_utf8_lossy(&output.stderr).contains("no/such"), "{err}");

    // A local file in the way of a directory.
    write(pod.path().join("tree/a"), b"one", 0o644);
    write(pod.path().join("tree/b/c"), b"two", 0o644);
    write(here.path().join("local/tree/b"), b"in the way", 0o644);
    let err = within(pods.copy_from("web", "tree/.", here.path().join("local"), &params)).await;
    let err = err.unwrap_err();
    assert!(matches!(&err.kind, CopyErrorKind::Local { .. }), "{err:?}");
    assert!(err.to_string().contains("local/"), "{err}");
    let err = within(pods.copy_to("web", here.path().join("large"), "", &params)).await.unwrap_err();
    assert!(matches!(&err.kind, CopyErrorKind::NoName { .. }), "{err:?}");
    server.shutdown().await;
}

#[tokio::test]
async fn an_interrupted_copy_from_a_pod_is_resumed() {
    let (_, server) = with_pod().await;
    let (client, cutter) = Cutter::between(&server).await;
    let pods: Api<Pod> = Api::default_namespaced(client);
    let (pod, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let content: Vec<u8> = (0..3_000_000_u32).map(|i| (i / 7 % 251) as u8).collect();
    write(pod.path().join("large"), &content, 0o644);
    let attempts = Arc::new(AtomicUsize::new(0));
    let counted = attempts.clone();
    let root = pod.path().to_owned();
    server.api().kubelet().on_exec(move |process| {
        // The first two attempts get stuck after some bytes.
        let limit = if counted.fetch_add(1, Ordering::SeqCst) < 2 { 1_000_000 } else { u64::MAX };
        run(process, root.clone(), limit)
    });
    let (sender, mut progress) = tokio::sync::watch::channel(CopyProgress::default());
    let params = CopyParams::default().retries(2).progress(sender);
    let copying = tokio::spawn({
        let (pods, target) = (pods.clone(), here.path().join("copy"));
        async move { pods.copy_from("web", "large", target, &params).await }
    });
    for bytes in [900_000, 1_900_000] {
        within(progress.wait_for(|progress| progress.bytes >= bytes)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        cutter.cut();
    }
    let copied = within(copying).await.unwrap().unwrap();
    assert_eq!((copied.files, copied.bytes, attempts.load(Ordering::SeqCst)), (1, 3_000_000, 3));
    assert!(fs::read(here.path().join("copy")).unwrap() == content);
    server.shutdown().await;
}

#[tokio::test]
async fn a_copy_of_files_that_changed_meanwhile_is_not_resumed() {
    let (_, server) = with_pod().await;
    let (client, cutter) = Cutter::between(&server).await;
    let pods: Api<Pod> = Api::default_namespaced(client);
    let (pod, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(pod.path().join("large"), &vec![b'a'; 3_000_000], 0o644);
    let root = pod.path().to_owned();
    server.api().kubelet().on_exec(move |process| run(process, root.clone(), 1_000_000));
    let (sender, mut progress) = tokio::sync::watch::channel(CopyProgress::default());
    let params = CopyParams::default().retries(2).progress(sender);
    let copying = tokio::spawn({
        let (pods, target) = (pods.clone(), here.path().join("copy"));
        async move { pods.copy_from("web", "large", target, &params).await }
    });
    // All that comes: `tar` must not read the file while it changes.
    within(progress.wait_for(|progress| progress.bytes >= 1_000_000 - 512)).await.unwrap();
    write(pod.path().join("large"), &vec![b'b'; 3_000_000], 0o644);
    tokio::time::sleep(Duration::from_millis(200)).await;
    cutter.cut();
    let err = within(copying).await.unwrap().unwrap_err();
    assert!(matches!(err.kind, CopyErrorKind::Changed { .. }), "{err:?}");
    assert!(!here.path().join("copy").exists());
    server.shutdown().await;
}

/// A copy of the file `large` that goes on after its first 900 kB.
async fn copy_of_large(pods: Api<Pod>, target: PathBuf) -> JoinHandle<Result<Copied, CopyError>> {
    let (sender, mut progress) = tokio::sync::watch::channel(CopyProgress::default());
    let params = CopyParams::default().container("main").retries(2).progress(sender);
    let copying = tokio::spawn(async move { pods.copy_from("web", "large", target, &params).await });
    within(progress.wait_for(|progress| progress.bytes >= 900_000)).await.unwrap();
    copying
}

/// `web` is rescheduled in the middle of the copy: the files of the image are the same, the others are not.
#[tokio::test]
async fn a_copy_is_not_resumed_in_another_pod_of_the_name() {
    let (direct, server) = with_pod().await;
    let (client, cutter) = Cutter::between(&server).await;
    let pods: Api<Pod> = Api::default_namespaced(client);
    let (pod, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(pod.path().join("large"), &vec![b'a'; 3_000_000], 0o644);
    let root = pod.path().to_owned();
    let attempts = AtomicUsize::new(0);
    server.api().kubelet().on_exec(move |process| {
        let limit = if attempts.fetch_add(1, Ordering::SeqCst) == 0 { 1_000_000 } else { u64::MAX };
        run(process, root.clone(), limit)
    });
    let copying = copy_of_large(pods, here.path().join("copy")).await;
    direct.delete("web", &kube_client::api::DeleteParams::default().grace_period(0)).await.unwrap();
    within(crate::running_pod::create_running(&direct)).await;
    cutter.cut();
    let err = within(copying).await.unwrap().unwrap_err();
    assert!(matches!(err.kind, CopyErrorKind::Changed { .. }), "{err:?}");
    assert!(!here.path().join("copy").exists());
    server.shutdown().await;
}

/// The kubelet says later than the resumed copy has begun that the container was restarted.
#[tokio::test]
async fn a_restart_that_is_told_late_is_a_change() {
    let (direct, server) = with_pod().await;
    let (client, cutter) = Cutter::between(&server).await;
    let pods: Api<Pod> = Api::default_namespaced(client);
    let (pod, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(pod.path().join("large"), &vec![b'a'; 3_000_000], 0o644);
    let root = pod.path().to_owned();
    let attempts = AtomicUsize::new(0);
    let told = direct.clone();
    server.api().kubelet().on_exec(move |process| {
        let first = attempts.fetch_add(1, Ordering::SeqCst) == 0;
        let copy = run(process, root.clone(), if first { 1_000_000 } else { u64::MAX });
        let pods = told.clone();
        async move {
            let code = copy.await;
            if !first {
                let status = json!([{ "name": "main", "restartCount": 1, "ready": true, "image": "i", "imageID": "i" }]);
                let status = Patch::Merge(json!({ "status": { "containerStatuses": status } }));
                pods.patch_status("web", &PatchParams::default(), &status).await.unwrap();
            }
            code
        }
    });
    let copying = copy_of_large(pods, here.path().join("copy")).await;
    cutter.cut();
    let err = within(copying).await.unwrap().unwrap_err();
    assert!(matches!(err.kind, CopyErrorKind::Changed { .. }), "{err:?}");
    server.shutdown().await;
}

/// Only 1 is the no of `test`: what was killed says nothing.
#[tokio::test]
async fn a_check_of_the_target_that_fails_is_no_answer() {
    let (pods, server) = with_pod().await;
    let here = tempfile::tempdir().unwrap();
    write(here.path().join("file"), b"x", 0o644);
    server.api().kubelet().on_exec(|process| async move {
        let mut stdin = process.stdin;
        let _ = tokio::io::copy(&mut stdin, &mut tokio::io::sink()).await;
        if process.command[0] == "test" { 137 } else { 0 }
    });
    let err = within(pods.copy_to("web", here.path().join("file"), "/srv/x", &CopyParams::default())).await;
    let err = err.unwrap_err();
    assert!(err.to_string().contains("`test -d /srv/x` in pod web failed with exit code 137"), "{err}");
    server.shutdown().await;
}

/// A copy of the directory `tree` that gets stuck after 1 MB, and is resumed after `meanwhile`.
async fn resumed_after(pod: &TempDir, meanwhile: impl FnOnce()) -> (Result<Copied, CopyError>, TempDir) {
    // The order of the entries is that of their names.
    write(
        pod.path().join("bin/tar"),
        b"#!/bin/sh\nfor tar in /usr/bin/tar /bin/tar; do [ -x $tar ] && break; done\n\
          if [ -e died ]; then $tar --sort=name -cf - \"$3\" | head -c $(cat died); exit 2; fi\n\
          exec $tar --sort=name -cf - \"$3\"\n",
        0o755,
    );
    let (_, server) = with_pod().await;
    let (client, cutter) = Cutter::between(&server).await;
    let pods: Api<Pod> = Api::default_namespaced(client);
    let here = tempfile::tempdir().unwrap();
    let (attempts, root) = (AtomicUsize::new(0), pod.path().to_owned());
    server.api().kubelet().on_exec(move |process| {
        let limit = if attempts.fetch_add(1, Ordering::SeqCst) == 0 { 1_000_000 } else { u64::MAX };
        run(process, root.clone(), limit)
    });
    let (sender, mut progress) = tokio::sync::watch::channel(CopyProgress::default());
    let params = CopyParams::default().retries(2).progress(sender);
    let copying = tokio::spawn({
        let target = here.path().join("copy");
        async move { pods.copy_from("web", "tree", target, &params).await }
    });
    within(progress.wait_for(|progress| progress.bytes >= 1_000_000 - 4 * 512)).await.unwrap();
    meanwhile();
    tokio::time::sleep(Duration::from_millis(200)).await;
    cutter.cut();
    let copied = within(copying).await.unwrap();
    server.shutdown().await;
    (copied, here)
}

#[tokio::test]
async fn a_resumed_copy_proves_that_it_continues_at_the_same_entry() {
    // Zeros before and behind the border are the same wherever the border is.
    let zeros = vec![0; 3_000_000];
    for grown in [false, true] {
        let pod = tempfile::tempdir().unwrap();
        write(pod.path().join("tree/a"), b"short", 0o644);
        write(pod.path().join("tree/b"), &zeros, 0o644);
        write(pod.path().join("tree/c"), b"last", 0o644);
        let (copied, here) = resumed_after(&pod, || {
            if grown {
                write(pod.path().join("tree/a"), &[b'l'; 600], 0o644);
            }
        })
        .await;
        match copied {
            Ok(copied) => {
                assert!(!grown, "the bytes behind the border are those of another position");
                assert_eq!((copied.files, copied.bytes), (3, 3_000_009));
                assert!(fs::read(here.path().join("copy/b")).unwrap() == zeros);
                assert_eq!(fs::read(here.path().join("copy/c")).unwrap(), b"last");
            }
            Err(err) => {
                assert!(grown, "{err}");
                assert!(matches!(err.kind, CopyErrorKind::Changed { .. }), "{err:?}");
                assert!(!here.path().join("copy/b").exists());
            }
        }
    }
}

#[tokio::test]
async fn the_death_of_tar_in_a_resumed_copy_is_seen() {
    let pod = tempfile::tempdir().unwrap();
    write(pod.path().join("tree/a"), &vec![b'a'; 1024 * 2000], 0o644);
    write(pod.path().join("tree/b"), &[b'b'; 512], 0o644);
    write(pod.path().join("tree/c"), &[b'c'; 512], 0o644);
    // The directory and two files with their headers, and nothing of the third.
    let length = 512 + 512 + 1024 * 2000 + 512 + 512;
    let (copied, _here) = resumed_after(&pod, || {
        fs::write(pod.path().join("died"), length.to_string()).unwrap();
    })
    .await;
    let err = copied.unwrap_err();
    let CopyErrorKind::Exec(ExecError::Failed { output }) = &err.kind else { panic!("{err:?}") };
    assert_eq!((output.status.code(), err.copied.files), (2, 2));
    assert!(err.to_string().starts_with("`tar cf - tree` in pod web failed with exit code 2"), "{err}");
}

#[tokio::test]
async fn an_archive_without_its_end_is_an_error_whatever_the_exit_code() {
    let (pods, server, pod) = with_files().await;
    write(pod.path().join("tree/a"), &[b'a'; 512], 0o644);
    write(pod.path().join("tree/b"), &[b'b'; 512], 0o644);
    write(
        pod.path().join("bin/tar"),
        b"#!/bin/sh\nfor tar in /usr/bin/tar /bin/tar; do [ -x $tar ] && break; done\n$tar \"$@\" | head -c 1536\n",
        0o755,
    );
    let here = tempfile::tempdir().unwrap();
    let copied =
        within(pods.copy_from("web", "tree", here.path().join("copy"), &CopyParams::default())).await;
    let err = copied.unwrap_err();
    assert!(
        matches!(&err.kind, CopyErrorKind::Archive(what) if what.contains("end-of-archive marker")),
        "{err:?}"
    );
    assert_eq!(err.copied.files, 1);
    server.shutdown().await;
}

#[tokio::test]
async fn a_copy_uses_the_container_that_kubectl_would_use() {
    let (pods, server, pod) = with_files().await;
    create_with_sidecar(&pods).await;
    let here = tempfile::tempdir().unwrap();
    write(here.path().join("file"), b"one", 0o644);
    let params = CopyParams::default();
    within(pods.copy_to("two", here.path().join("file"), "there", &params)).await.unwrap();
    assert_eq!(fs::read(pod.path().join("there")).unwrap(), b"one");
    within(pods.copy_from("two", "there", here.path().join("back"), &params)).await.unwrap();
    let used: Vec<String> =
        server.api().kubelet().sessions().into_iter().map(|session| session.container.name).collect();
    assert_eq!(used, ["app", "app", "app"]);
    let err =
        within(pods.copy_from("two", "there", here.path().join("x"), &params.clone().container("typo")))
            .await;
    let err = err.unwrap_err().to_string();
    assert!(
        err.contains("container typo is not valid for pod two out of: proxy, app, setup (init)"),
        "{err}"
    );
    let err = within(pods.copy_to("two", here.path().join("file"), "x", &params.container("typo"))).await;
    let err = err.unwrap_err().to_string();
    assert!(
        err.contains("container typo is not valid for pod two out of: proxy, app, setup (init)"),
        "{err}"
    );
    server.shutdown().await;
}

#[tokio::test]
async fn a_dropped_copy_removes_the_file_that_it_was_writing() {
    let (pods, server) = with_pod().await;
    let (pod, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(pod.path().join("large"), &vec![b'x'; 3_000_000], 0o644);
    let root = pod.path().to_owned();
    server.api().kubelet().on_exec(move |process| run(process, root.clone(), 1_000_000));
    let (sender, mut progress) = tokio::sync::watch::channel(CopyProgress::default());
    let (params, target) = (CopyParams::default().progress(sender), here.path().join("copy"));
    tokio::select! {
        ended = pods.copy_from("web", "large", &target, &params) => panic!("{ended:?}"),
        _ = progress.wait_for(|progress| progress.bytes > 500_000) => {}
    }
    let left = || fs::read_dir(here.path()).unwrap().count();
    for _ in 0..500 {
        if left() == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(left(), 0, "the incomplete file is left");
    server.shutdown().await;
}
