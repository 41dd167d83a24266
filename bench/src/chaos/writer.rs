//! Changes objects all the time, also while the server fails, and notes what the server has confirmed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::kube::api::{Patch, PatchParams};
use ::kube::{Api, Client, ResourceExt};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;
use tokio::time::{interval, sleep, timeout};

use super::observer::Versions;
use crate::genuine;

/// The objects that are changed in turn.
const OBJECTS: usize = 200;
/// The time between two changes.
const PERIOD: Duration = Duration::from_millis(50);
/// How many objects are changed at once when the server is back.
const MARKS: usize = 20;

/// Ends when it is dropped.
pub(super) struct Writer<'a> {
    runtime: &'a Runtime,
    maps: Api<ConfigMap>,
    confirmed: Arc<Mutex<Versions>>,
    task: AbortHandle,
}

impl<'a> Writer<'a> {
    pub(super) fn start(runtime: &'a Runtime, kubeconfig: &Path) -> anyhow::Result<Self> {
        let client: Client = runtime.block_on(genuine::client(kubeconfig))?;
        let maps = Api::<ConfigMap>::default_namespaced(client);
        let confirmed = Arc::<Mutex<Versions>>::default();
        let (changed, noted) = (maps.clone(), Arc::clone(&confirmed));
        let task = runtime.spawn(async move {
            let mut ticks = interval(PERIOD);
            for count in 0.. {
                ticks.tick().await;
                // Fails while the server does.
                let _ =
                    timeout(Duration::from_secs(1), change(&changed, &noted, "load", count % OBJECTS, count))
                        .await;
            }
        });
        Ok(Self { runtime, maps, confirmed, task: task.abort_handle() })
    }

    /// Changes some objects at once, as soon as the server confirms it, and returns their versions.
    pub(super) fn mark(&self, round: usize) -> Versions {
        let marks = Arc::<Mutex<Versions>>::default();
        self.runtime.block_on(async {
            for number in 0..MARKS {
                while !change(&self.maps, &marks, "mark", number, round).await {
                    sleep(Duration::from_millis(20)).await;
                }
            }
        });
        let marks = marks.lock().clone();
        self.confirmed.lock().extend(marks.clone());
        marks
    }

    /// The last version of every object that the server has confirmed.
    pub(super) fn confirmed(&self) -> Versions {
        self.confirmed.lock().clone()
    }

    pub(super) fn stop(&self) {
        self.task.abort();
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Returns whether the server has confirmed the change.
async fn change(
    maps: &Api<ConfigMap>,
    confirmed: &Mutex<Versions>,
    kind: &str,
    number: usize,
    value: usize,
) -> bool {
    let name = format!("{kind}-{number}");
    let mut map =
        ConfigMap { data: Some(BTreeMap::from([("value".into(), value.to_string())])), ..<_>::default() };
    map.metadata.name = Some(name.clone());
    let parameters = PatchParams::apply("chaos").force();
    let Ok(changed) = maps.patch(&name, &parameters, &Patch::Apply(&map)).await else { return false };
    let version = changed.resource_version().and_then(|version| version.parse().ok());
    confirmed.lock().insert(name, version.unwrap_or_default());
    true
}
