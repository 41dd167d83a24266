//! The log lines of a controller at `RUST_LOG=kube_runtime=debug`.

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
pub(crate) struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl LogBuffer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogBuffer {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test(start_paused = true)]
async fn start_and_end_of_reconciles_are_logged() {
    let buffer = LogBuffer::default();
    let log = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new("kube_runtime=debug"))
        .with_ansi(false)
        .with_writer(buffer.clone());
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
    let log = buffer.text();
    let line = |message: &str| {
        log.lines().find(|line| line.contains(message)).unwrap_or_else(|| panic!("{message}:\n{log}"))
    };
    assert!(line("reconcile started").contains("object.ref=ConfigMap.v1./a.default"), "{log}");
    assert!(line("reconcile started").contains("reconcile.attempt=1"), "{log}");
    let finished = line("reconcile finished");
    assert!(finished.contains("object.ref=ConfigMap.v1./a.default"), "{log}");
    assert!(finished.contains(r#"reconcile.outcome="requeue_after""#), "{log}");
    assert!(finished.ends_with("reconcile finished requeue_after=Some(7s)"), "{log}");
}
