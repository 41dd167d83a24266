//! The message of every public error: `{}` alone must contain the cause and, for watches, kind and scope.

use crate::common::{TestError, config_maps, expect_next, named, server};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client, error::ErrorChain};
use kube_core::{ApiResource, DynamicObject, GroupVersionKind, Status, params::PostParams};
use kube_runtime::{
    Controller,
    controller::{self, Action, RunnerError},
    finalizer,
    reflector::{ObjectRef, store},
    wait::{self, delete},
    watcher,
};
use kube_testserver::{Fault, Match};
use std::{error::Error as StdError, io, pin::pin, sync::Arc, time::Duration};

/// The messages, in the order of the enum variants.
#[derive(Default)]
struct Messages(String);

impl Messages {
    fn add(&mut self, name: &str, error: &(dyn StdError + 'static)) {
        let message = error.to_string();
        assert_eq!(message, ErrorChain(error).to_string(), "{name}: `{{}}` contains all causes");
        self.0.push_str(&format!("{name}\n    {message}\n"));
    }
}

/// Adds one error per variant. Does not compile if a variant is missing.
macro_rules! add_all_variants {
    ($messages:ident, $name:literal, $type:ty: $module:path { $($variant:ident => $value:expr),* $(,)? }) => {
        {
            use $module as variants;
            let _ = |error: &$type| match error { $(variants::$variant { .. } => ()),* };
            $({
                #[allow(unused_imports)]
                use variants::*;
                let error: $type = $value;
                $messages.add(concat!($name, "::", stringify!($variant)), &error);
            })*
        }
    };
}

fn refused() -> kube_client::Error {
    kube_client::Error::Service(io::Error::new(io::ErrorKind::ConnectionRefused, "connection refused").into())
}

fn missing() -> Box<Status> {
    Status::failure("404 page not found", "NotFound").with_code(404).boxed()
}

fn object() -> Box<ObjectRef<DynamicObject>> {
    Box::new(ObjectRef::new_with("web", ApiResource::erase::<ConfigMap>(&())).within("default"))
}

async fn never_ready() -> RunnerError {
    let (store, writer) = store::<ConfigMap>();
    drop(writer);
    RunnerError::Readiness(store.wait_until_ready().await.unwrap_err())
}

#[tokio::test]
async fn every_public_error_message_tells_its_cause() {
    let mut messages = Messages::default();
    add_all_variants!(messages, "watcher::Error", watcher::Error: watcher::Error {
        InitialListFailed => InitialListFailed(refused()),
        WatchStartFailed => WatchStartFailed(kube_client::Error::Api(missing())),
        WatchError => WatchError(missing()),
        WatchFailed => WatchFailed(kube_client::Error::ReadEvents(io::Error::other("reset"))),
        NoResourceVersion => NoResourceVersion,
    });
    add_all_variants!(messages, "controller::Error", controller::Error<TestError, watcher::Error>: controller::Error {
        ObjectNotFound => ObjectNotFound(object()),
        ReconcilerFailed => ReconcilerFailed(TestError("not yet"), object()),
        QueueError => QueueError(watcher::Error::WatchError(missing())),
        RunnerError => RunnerError(never_ready().await),
    });
    for error in [
        never_ready().await,
        RunnerError::InvalidConfig { problem: "Config::x requires y: expected z" },
        RunnerError::Panicked { object: object(), message: "oh".into() },
        RunnerError::TimedOut { object: object(), limit: Duration::from_secs(10) },
        RunnerError::Revoked { object: object() },
        RunnerError::SyncTimedOut {
            waited: Duration::from_secs(60),
            waiting: "pods (last error: no)".into(),
        },
        RunnerError::CallbackPanicked { callback: "mapper", object: object(), message: "oh".into() },
        RunnerError::SourcePanicked { name: "the stream of reconcile_on".into(), message: "oh".into() },
        RunnerError::Undecodable { object: object(), error: "ConfigMap.data: invalid type".into() },
    ] {
        let name = match &error {
            RunnerError::Readiness(_) => "RunnerError::Readiness",
            RunnerError::InvalidConfig { .. } => "RunnerError::InvalidConfig",
            RunnerError::Panicked { .. } => "RunnerError::Panicked",
            RunnerError::TimedOut { .. } => "RunnerError::TimedOut",
            RunnerError::Revoked { .. } => "RunnerError::Revoked",
            RunnerError::SyncTimedOut { .. } => "RunnerError::SyncTimedOut",
            RunnerError::CallbackPanicked { .. } => "RunnerError::CallbackPanicked",
            RunnerError::SourcePanicked { .. } => "RunnerError::SourcePanicked",
            RunnerError::Undecodable { .. } => "RunnerError::Undecodable",
        };
        messages.add(name, &error);
    }
    add_all_variants!(messages, "finalizer::Error", finalizer::Error<TestError>: finalizer::Error {
        ApplyFailed => ApplyFailed(TestError("not yet")),
        CleanupFailed => CleanupFailed(TestError("not yet")),
        AddFinalizer => AddFinalizer(refused()),
        RemoveFinalizer => RemoveFinalizer(refused()),
        UnnamedObject => UnnamedObject,
        InvalidFinalizer => InvalidFinalizer,
    });
    add_all_variants!(messages, "wait::Error", wait::Error: wait::Error {
        ProbeFailed => ProbeFailed(watcher::Error::InitialListFailed(refused())),
    });
    add_all_variants!(messages, "delete::Error", delete::Error: delete::Error {
        NoUid => NoUid,
        Delete => Delete(refused()),
        Await => Await(wait::Error::ProbeFailed(watcher::Error::InitialListFailed(refused()))),
    });
    insta::assert_snapshot!(messages.0);
}

/// The first error of a watch of this resource.
async fn first_error(client: &Client, resource: &ApiResource, namespace: Option<&str>) -> String {
    let api: Api<DynamicObject> = match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
        None => Api::all_with(client.clone(), resource),
    };
    let mut events = pin!(watcher(api, watcher::Config::default()));
    loop {
        if let Err(error) = expect_next(&mut events).await {
            return error.to_string();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_error_contains_kind_and_scope() {
    let (server, client) = server();
    let widgets = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"));
    let unknown = first_error(&client, &widgets, Some("shop")).await;
    assert!(
        unknown.starts_with("failed to list the objects (widgets.example.com in namespace shop): ")
            && unknown.contains("code 404"),
        "{unknown}"
    );
    server.fault(Match::watch::<ConfigMap>(), Fault::status(500, "InternalError"));
    let failing = first_error(&client, &ApiResource::erase::<ConfigMap>(&()), None).await;
    assert!(failing.starts_with("failed to start the watch (configmaps cluster-wide): "), "{failing}");
    let unreachable = Client::new(tower::service_fn(|_: http::Request<_>| async { no_route() }), "default");
    let unreachable = first_error(&unreachable, &ApiResource::erase::<ConfigMap>(&()), Some("shop")).await;
    assert_eq!(
        unreachable,
        "failed to list the objects (configmaps in namespace shop): ServiceError: no route"
    );
}

fn no_route() -> Result<http::Response<kube_client::client::Body>, io::Error> {
    Err(io::Error::other("no route"))
}

#[tokio::test(start_paused = true)]
async fn a_queue_error_of_a_controller_contains_the_kind() {
    let (server, client) = server();
    config_maps(&client).create(&PostParams::default(), &named("a")).await.unwrap();
    server.fault(Match::watch::<ConfigMap>(), Fault::status(500, "InternalError"));
    let output = Controller::new(config_maps(&client), watcher::Config::default()).run(
        |_: Arc<ConfigMap>, _| async { Ok::<_, TestError>(Action::await_change()) },
        |_, _, _| Action::await_change(),
        Arc::new(()),
    );
    let mut errors = pin!(output.filter_map(|item| async { item.err() }));
    let message = expect_next(&mut errors).await.to_string();
    assert!(
        message.starts_with(
            "a watch of the controller failed: failed to start the watch (configmaps in namespace default): "
        ),
        "{message}"
    );
}
