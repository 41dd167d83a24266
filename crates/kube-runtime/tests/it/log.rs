//! What `RUST_LOG=kube_runtime=debug` shows of a controller.

use crate::common::{
    ApiExt, TestError, config_maps, expect_next, named, server, set_subscriber, spawn_outputs,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_runtime::{Controller, controller::Action, watcher};
use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test(start_paused = true)]
async fn reconciles_are_told_from_start_to_end() {
    let lines = Lines::default();
    let log = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new("kube_runtime=debug"))
        .with_ansi(false)
        .with_writer(lines.clone());
    let _log = set_subscriber(log.finish());
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let output = Controller::new(config_maps(&client), watcher::Config::default()).run(
        |_: Arc<ConfigMap>, _| async { Ok::<_, TestError>(Action::requeue(Duration::from_secs(7))) },
        |_, _, _| Action::await_change(),
        Arc::new(()),
    );
    let mut outputs = spawn_outputs(output);
    assert_eq!(expect_next(&mut outputs.items).await, "done: a");
    let log = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let line = |words: &str| {
        log.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{words}:\n{log}"))
    };
    assert!(line("reconcile started").contains("object.ref=ConfigMap.v1/a.default"), "{log}");
    assert!(
        line("reconcile finished").contains(r#"namespace="default" name=a requeue_after=Some(7s)"#),
        "{log}"
    );
}
