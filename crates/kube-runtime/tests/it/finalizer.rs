//! Finalizers against a server that enforces them.

use crate::{
    common::{ApiExt, TestError, config_maps, eventually, named, server},
    layers::{counted, interfering},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Api;
use kube_core::{
    ResourceExt,
    params::{DeleteParams, PostParams},
};
use kube_runtime::{
    Controller,
    controller::Action,
    finalizer::{Error, Event, finalizer},
    watcher,
};
use kube_testserver::{Fault, Match};
use std::{
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

const NAME: &str = "example.com/cleanup";

/// Reconciles once. Returns which event the reconciler got, and the result.
async fn once(
    api: &Api<ConfigMap>,
    object: ConfigMap,
    fail: bool,
) -> (Option<&'static str>, Result<Action, Error<TestError>>) {
    let called = Mutex::new(None);
    let result = finalizer(api, NAME, Arc::new(object), |event| {
        *called.lock().unwrap() = Some(match event {
            Event::Apply(_) => "apply",
            Event::Cleanup(_) => "cleanup",
        });
        std::future::ready(if fail {
            Err(TestError("no"))
        } else {
            Ok(Action::requeue(Duration::from_secs(9)))
        })
    })
    .await;
    (called.into_inner().unwrap(), result)
}

#[tokio::test(start_paused = true)]
async fn the_finalizer_is_added_applied_cleaned_up_and_removed() {
    let (_server, client) = server();
    let api = config_maps(&client);
    let created = api.add(named("a")).await;

    let (called, result) = once(&api, created, false).await;
    assert_eq!((called, result.unwrap()), (None, Action::await_change()));
    let marked = api.get("a").await.unwrap();
    assert_eq!(marked.finalizers(), [NAME]);

    let (called, result) = once(&api, marked.clone(), false).await;
    assert_eq!((called, result.unwrap()), (Some("apply"), Action::requeue(Duration::from_secs(9))));
    let (called, result) = once(&api, marked, true).await;
    assert!(matches!((called, result), (Some("apply"), Err(Error::ApplyFailed(_)))));

    api.remove("a").await;
    let deleting = api.get("a").await.unwrap();
    let (called, result) = once(&api, deleting.clone(), true).await;
    assert!(matches!((called, result), (Some("cleanup"), Err(Error::CleanupFailed(_)))));
    assert_eq!(api.get("a").await.unwrap().finalizers(), [NAME], "a failed clean-up keeps the object");

    let (called, result) = once(&api, deleting.clone(), false).await;
    assert_eq!((called, result.unwrap()), (Some("cleanup"), Action::requeue(Duration::from_secs(9))));
    assert!(api.get_opt("a").await.unwrap().is_none());

    let (called, result) = once(&api, deleting.clone(), false).await;
    assert_eq!(
        (called, result.is_ok()),
        (Some("cleanup"), true),
        "a stale state cleans up again without an error"
    );
    let mut done = deleting;
    done.finalizers_mut().clear();
    let (called, result) = once(&api, done, false).await;
    assert_eq!((called, result.unwrap()), (None, Action::await_change()));
}

/// As after the definition stopped serving the version of the program: the object is stored, and another version shows it.
#[tokio::test(start_paused = true)]
async fn a_path_that_is_not_served_does_not_mean_that_the_object_is_deleted() {
    let (server, client) = server();
    let api = config_maps(&client);
    let created = api.add(named("a")).await;
    once(&api, created, false).await.1.unwrap();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let deleted = api.get("a").await.unwrap();

    let not_served = || Fault::status(404, "NotFound");
    server.fault(Match::patch::<ConfigMap>().name("a").times(1), not_served());
    let (called, result) = once(&api, deleted.clone(), false).await;
    assert_eq!(called, Some("cleanup"));
    assert!(matches!(result, Err(Error::RemoveFinalizer(_))), "{result:?}");

    server.fault(Match::patch::<ConfigMap>().name("a").times(1), Fault::status(409, "Conflict"));
    server.fault(Match::get::<ConfigMap>().name("a").times(1), not_served());
    let (_, result) = once(&api, deleted.clone(), false).await;
    assert!(matches!(result, Err(Error::RemoveFinalizer(_))), "{result:?}");

    // When it is gone, that is what was wanted.
    once(&api, deleted.clone(), false).await.1.unwrap();
    assert!(api.get("a").await.is_err());
    once(&api, deleted, false).await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn concurrent_changes_of_other_finalizers_are_kept() {
    let (_server, client) = server();
    let api = config_maps(&client);
    let old = api.add(named("a")).await;
    let mut with_theirs = old.clone();
    with_theirs.finalizers_mut().push("example.com/theirs".into());
    api.replace("a", &PostParams::default(), &with_theirs).await.unwrap();

    once(&api, old, false).await.1.expect("adding works from a stale state");
    let both = api.get("a").await.unwrap();
    assert_eq!(both.finalizers(), ["example.com/theirs", NAME]);

    api.remove("a").await;
    let deleting = api.get("a").await.unwrap();
    let mut without_theirs = deleting.clone();
    without_theirs.finalizers_mut().remove(0);
    api.replace("a", &PostParams::default(), &without_theirs).await.unwrap();
    let (called, result) = once(&api, deleting, false).await;
    assert_eq!((called, result.is_ok()), (Some("cleanup"), true), "removing works from a stale state");
    assert!(api.get_opt("a").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn concurrent_changes_of_other_fields_cause_no_second_patch() {
    let (server, client) = server();
    let (counted, requests) = counted(&server);
    let (api, changes) = (config_maps(&counted), config_maps(&client));
    let mut object = changes.add(named("a")).await;
    for touched in 0..50 {
        changes.touch("a", &touched.to_string()).await;
    }
    once(&api, object.clone(), false).await.1.expect("adding works from a stale state");
    assert_eq!(*requests.lock().unwrap(), ["PATCH"]);

    object = changes.get("a").await.unwrap();
    changes.remove("a").await;
    let deleting = changes.get("a").await.unwrap();
    for touched in 0..50 {
        changes.touch("a", &touched.to_string()).await;
    }
    once(&api, deleting, false).await.1.expect("removing works from a stale state");
    assert_eq!(*requests.lock().unwrap(), ["PATCH", "PATCH"]);
    assert!(changes.get_opt("a").await.unwrap().is_none());
    assert_eq!(object.finalizers(), [NAME]);
}

/// Twenty other finalizers are removed, one before each patch.
#[tokio::test(start_paused = true)]
async fn removing_succeeds_while_other_finalizers_are_removed_concurrently() {
    let (server, client) = server();
    let api = config_maps(&client);
    let mut object: ConfigMap = named("a");
    *object.finalizers_mut() =
        (0..20).map(|n| format!("example.com/other-{n}")).chain([NAME.into()]).collect();
    api.add(object).await;
    api.remove("a").await;
    let deleting = api.get("a").await.unwrap();
    let others = api.clone();
    let (interfered, attempts) = interfering(&server, move || {
        let api = others.clone();
        async move {
            let mut current = api.get("a").await.unwrap();
            if current.finalizers().len() > 1 {
                current.finalizers_mut().remove(0);
                api.replace("a", &PostParams::default(), &current).await.unwrap();
            }
        }
    });
    let (called, result) = once(&config_maps(&interfered), deleting, false).await;
    assert_eq!((called, result.is_ok()), (Some("cleanup"), true));
    assert!(api.get_opt("a").await.unwrap().is_none(), "the other twenty are removed, and then ours");
    assert_eq!(attempts.load(Ordering::Relaxed), 21);
}

#[tokio::test(start_paused = true)]
async fn invalid_arguments_are_errors() {
    let (_server, client) = server();
    let api = config_maps(&client);
    let unnamed = once(&api, ConfigMap::default(), false).await.1;
    assert!(matches!(unnamed, Err(Error::UnnamedObject)));
    let invalid = finalizer(&api, "no good", Arc::new(named("a")), |_: Event<ConfigMap>| {
        std::future::ready(Ok::<_, TestError>(Action::await_change()))
    });
    assert!(invalid.await.unwrap_err().to_string().contains("example.com/cleanup"));
    let gone = once(&api, named("gone"), false).await.1.unwrap_err();
    assert!(matches!(gone, Error::AddFinalizer(_)), "{gone:?}");
}

#[tokio::test(start_paused = true)]
async fn a_controller_applies_and_cleans_up() {
    let (_server, client) = server();
    let api = config_maps(&client);
    let log = Arc::new(Mutex::new(Vec::new()));
    let output = Controller::new(api.clone(), watcher::Config::default()).run(
        {
            let api = api.clone();
            move |object: Arc<ConfigMap>, log: Arc<Mutex<Vec<&'static str>>>| {
                let api = api.clone();
                async move {
                    finalizer(&api, NAME, object, |event| async move {
                        log.lock().unwrap().push(match event {
                            Event::Apply(_) => "apply",
                            Event::Cleanup(_) => "cleanup",
                        });
                        Ok::<_, TestError>(Action::await_change())
                    })
                    .await
                }
            }
        },
        |_, _, _| Action::requeue(Duration::from_secs(1)),
        Arc::clone(&log),
    );
    let _outputs = crate::common::spawn_outputs(output);
    api.add(named("a")).await;
    eventually(async || log.lock().unwrap().contains(&"apply")).await;
    api.remove("a").await;
    eventually(async || api.get_opt("a").await.unwrap().is_none()).await;
    assert_eq!(*log.lock().unwrap(), ["apply", "cleanup"]);
}
