//! Events that a controller publishes, as shown by `kubectl describe`; repeated events become one series.

use futures::FutureExt as _;
use k8s_openapi::api::{core::v1::ConfigMap, events::v1::Event as ApiEvent, rbac::v1::ClusterRole};
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Resource as _, ResourceExt as _};

use crate::test_env::{Requires, run};

fn event(note: &str) -> Event {
    Event {
        type_: EventType::Warning,
        reason: "TooBig".into(),
        note: Some(note.into()),
        action: "Resizing".into(),
        secondary: None,
    }
}

#[test]
fn repeated_events_become_one_series() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let mut map = ConfigMap::default();
            map.metadata.name = Some("about".into());
            let map = env.api::<ConfigMap>().create(&PostParams::default(), &map).await?;
            let recorder = Recorder::new(env.client.clone(), Reporter::from("e2e.example.com/controller"));
            for note in ["no room", "no room at all", "no room"] {
                recorder.publish(&event(note), &map.object_ref(&())).await?;
            }
            let other = Event { reason: "Other".into(), ..event("other") };
            recorder.publish(&other, &map.object_ref(&())).await?;

            let about = ListParams::default().fields("regarding.name=about");
            let listed = env.api::<ApiEvent>().list(&about).await;
            let mut events: Vec<ApiEvent> = match listed {
                Ok(events) => events.items,
                // Older servers support only the field selectors of the core group.
                Err(_) => env.api::<ApiEvent>().list(&ListParams::default()).await?.items,
            };
            events.sort_by_key(|event| event.note.clone());
            assert_eq!(events.len(), 2, "{events:?}");
            let repeated = &events[0];
            assert_eq!(repeated.series.as_ref().map(|series| series.count), Some(3));
            assert_eq!(repeated.regarding.as_ref().and_then(|it| it.uid.clone()), map.uid());
            assert_eq!(repeated.type_.as_deref(), Some("Warning"));
            assert_eq!(repeated.reporting_controller.as_deref(), Some("e2e.example.com/controller"));
            assert_eq!(repeated.note.as_deref(), Some("no room"));
            assert!(events[1].series.is_none());
            Ok(())
        }
        .boxed()
    })
}

/// Role names may contain colons, event names may not.
#[test]
fn an_object_with_colons_in_its_name_gets_a_valid_event_name() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let mut role = ClusterRole::default();
            role.metadata.name = Some(format!("system:node:{}", env.namespace));
            let role = role.object_ref(&());
            let recorder = Recorder::new(env.client.clone(), Reporter::from("e2e.example.com/controller"));
            for _ in 0..2 {
                recorder.publish(&event("no room"), &role).await?;
            }
            let events: Api<ApiEvent> = Api::namespaced(env.client.clone(), "kube-system");
            let listed = events.list(&ListParams::default()).await?;
            let about_it =
                |event: &&ApiEvent| event.regarding.as_ref().is_some_and(|it| it.name == role.name);
            let published: Vec<_> = listed.iter().filter(about_it).collect();
            assert_eq!(published.len(), 1, "{published:?}");
            assert_eq!(published[0].series.as_ref().map(|series| series.count), Some(2));
            let name = published[0].name_any();
            assert!(name.starts_with("system-node-"), "{name}");
            events.delete(&name, &DeleteParams::default()).await?;
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_long_note_is_truncated_to_1024_bytes() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let mut map = ConfigMap::default();
            map.metadata.name = Some("n".repeat(253));
            let map = env.api::<ConfigMap>().create(&PostParams::default(), &map).await?;
            let recorder = Recorder::new(env.client.clone(), Reporter::from("e2e.example.com/controller"));
            recorder.publish(&event(&"ä".repeat(2000)), &map.object_ref(&())).await?;
            let events = env.api::<ApiEvent>().list(&ListParams::default()).await?;
            let note = events.iter().find_map(|event| event.note.clone()).unwrap_or_default();
            assert_eq!(note.len(), 1024);
            Ok(())
        }
        .boxed()
    })
}
