use super::*;
use crate::{
    Controller, WatchStreamExt,
    controller::{Action, ControllerState, Error, Monitor, RunnerError},
    reflector,
    watcher::Event,
};
use futures::{Stream, StreamExt, stream};
use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use std::{
    convert::Infallible,
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
};
use tokio::time::timeout;

const SECOND: Duration = Duration::from_secs(1);

type Output = Pin<Box<dyn Stream<Item = Result<(), String>>>>;

struct Running {
    assigner: Assigner,
    monitor: Monitor,
    /// How many reconciles were started.
    started: Arc<AtomicUsize>,
    output: Output,
}

/// A controller of one object, whose first reconcile does not end.
fn running() -> Running {
    let map = ConfigMap {
        metadata: ObjectMeta { name: Some("a".into()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    };
    let (store, writer) = reflector::store();
    let events = [Event::Init, Event::InitApply(map), Event::InitDone].map(Ok);
    let objects = stream::iter(events).chain(stream::pending()).reflect(writer).applied_objects();
    let (assigner, started) = (Assigner::new(), Arc::<AtomicUsize>::default());
    let controller = Controller::for_stream(objects, store).assigned_by(assigner.assignments());
    let monitor = controller.monitor();
    let reconcile = async |_, started: Arc<AtomicUsize>| {
        if started.fetch_add(1, Ordering::SeqCst) == 0 {
            pending::<()>().await;
        }
        Ok::<_, Infallible>(Action::await_change())
    };
    let output =
        controller.run(reconcile, |_, _, _| Action::await_change(), Arc::clone(&started)).map(|item| {
            match item {
                Ok(_) => Ok(()),
                Err(Error::RunnerError(RunnerError::Revoked { .. })) => Err("revoked".to_owned()),
                Err(error) => Err(error.to_string()),
            }
        });
    Running { assigner, monitor, started, output: Box::pin(output) }
}

impl Running {
    /// What the controller returns within a second.
    async fn next(&mut self) -> Option<Result<(), String>> {
        timeout(SECOND, self.output.next()).await.ok().flatten()
    }
}

#[tokio::test(start_paused = true)]
async fn a_revoked_reconcile_that_is_assigned_again_is_repeated() {
    // Whether the controller sees that nothing is assigned for a while.
    for polled in [false, true] {
        let mut running = running();
        drop(running.assigner.assign(Assignment::all()));
        assert_eq!((running.next().await, running.started.load(Ordering::SeqCst)), (None, 1));

        drop(running.assigner.assign_by(Assignment::none(), Instant::now()));
        if polled {
            assert!(running.output.next().now_or_never().is_none());
        }
        sleep(SECOND).await; // the task of the reconcile is cancelled
        drop(running.assigner.assign(Assignment::all()));
        assert_eq!(running.next().await, Some(Err("revoked".into())));
        assert_eq!(running.next().await, Some(Ok(())), "polled: {polled}");
        assert_eq!((running.next().await, running.started.load(Ordering::SeqCst)), (None, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_revoked_reconcile_that_is_not_assigned_is_not_repeated() {
    let mut running = running();
    drop(running.assigner.assign(Assignment::all()));
    assert_eq!(running.next().await, None);
    drop(running.assigner.assign_by(Assignment::none(), Instant::now()));
    assert_eq!(running.next().await, Some(Err("revoked".into())));
    assert_eq!((running.next().await, running.started.load(Ordering::SeqCst)), (None, 1));
}

#[tokio::test(start_paused = true)]
async fn a_controller_without_any_assignment_is_a_standby() {
    let mut running = running();
    let state = |running: &Running| running.monitor.snapshot().state;
    assert_eq!(state(&running), ControllerState::NotStarted);
    assert_eq!((running.next().await, state(&running)), (None, ControllerState::Standby));
    drop(running.assigner.assign(Assignment::all().valid_while(|| true)));
    assert_eq!((running.next().await, state(&running)), (None, ControllerState::Running));
    drop(running.assigner.assign_by(Assignment::none(), Instant::now() + SECOND / 2));
    assert!(running.next().await.is_some());
    assert_eq!((running.next().await, state(&running)), (None, ControllerState::Standby));
    drop(running.assigner.assign(Assignment::all().valid_while(|| false)));
    assert_eq!((running.next().await, state(&running)), (None, ControllerState::Standby));
}
