//! How far a watch without a store has got: the waits of a store, for objects that nobody keeps.

use super::{
    awaited::{Awaited, Visible},
    shared::SharedWatermarks,
    wait::StoreWait,
    watermarks::ListVersion,
};
use crate::{reflector::ObjectKey, watcher::CollectionEvent};
use kube_core::Resource;
use std::sync::Arc;

/// The versions that a watch has passed. Clones are the same.
///
/// It knows no objects, so it waits only for versions that can be compared: any other wait is over at once.
#[derive(Debug, Clone, Default)]
pub(crate) struct WatchProgress(Arc<SharedWatermarks>);

impl WatchProgress {
    /// An event of the watch. O(1), and O(log waits) for each wait that ends.
    pub(crate) fn observe<T: Resource>(&self, event: &CollectionEvent<impl std::borrow::Borrow<T>>) {
        match event {
            CollectionEvent::Init => self.0.change(|watermarks| watermarks.start_list("")),
            CollectionEvent::InitApply(_) => {}
            CollectionEvent::Synced { resource_version } => self.0.change(|watermarks| {
                watermarks.complete_list("");
                watermarks.show_list("", ListVersion::of(resource_version), |_, _| true);
            }),
            CollectionEvent::Apply(object) => self.changed(object.borrow(), false),
            CollectionEvent::Delete(object) => self.changed(object.borrow(), true),
            CollectionEvent::Progress { resource_version } => {
                self.0.change(|watermarks| watermarks.progress("", resource_version));
            }
            CollectionEvent::Undecodable(_) => {} // the next event passes its version
            CollectionEvent::Closed => {}
        }
    }

    fn changed<T: Resource>(&self, object: &T, deleted: bool) {
        let meta = object.meta();
        let state = Visible { uid: meta.uid.as_deref(), version: meta.resource_version.as_deref() };
        self.0.change(|watermarks| watermarks.object_changed(|| ObjectKey::of(object), "", state, deleted));
    }

    /// Waits for this state, or any later one of the collection.
    pub(crate) fn wait_until(&self, key: ObjectKey, awaited: Awaited) -> StoreWait {
        let namespace = key.namespace.as_deref().unwrap_or_default().to_owned();
        let wait = self.0.change(|watermarks| watermarks.wait(key, awaited, |_, _| true));
        StoreWait::begun(namespace, Arc::clone(&self.0), wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;

    fn map(version: &str) -> ConfigMap {
        let mut map = ConfigMap::default();
        map.metadata.name = Some("a".into());
        map.metadata.uid = Some("u".into());
        map.metadata.resource_version = Some(version.into());
        map
    }

    fn wait(progress: &WatchProgress, version: &str) -> StoreWait {
        let awaited = Awaited::State { uid: Some("u".into()), version: version.into(), was_visible: false };
        progress.wait_until(ObjectKey::of(&map("1")), awaited)
    }

    fn is_over(wait: &mut StoreWait) -> bool {
        use futures::FutureExt;
        wait.now_or_never().is_some()
    }

    fn synced(progress: &WatchProgress, version: &str) {
        progress.observe::<ConfigMap>(&CollectionEvent::<ConfigMap>::Init);
        let resource_version = version.to_owned();
        progress.observe::<ConfigMap>(&CollectionEvent::<ConfigMap>::Synced { resource_version });
    }

    #[test]
    fn events_bookmarks_and_lists_pass_a_version() {
        let progress = WatchProgress::default();
        let mut before_the_list = wait(&progress, "5");
        assert!(!is_over(&mut before_the_list));
        synced(&progress, "7");
        assert!(is_over(&mut before_the_list) && wait(&progress, "7").is_over());
        let mut waits = ["8", "9", "10"].map(|version| wait(&progress, version));
        let resource_version = "10".to_owned();
        let events = [
            CollectionEvent::Apply(map("8")),
            CollectionEvent::Delete(map("9")),
            CollectionEvent::Progress { resource_version },
        ];
        for (wait, event) in waits.iter_mut().zip(events) {
            assert!(!is_over(wait));
            progress.observe::<ConfigMap>(&event);
            assert!(is_over(wait), "{event:?}");
        }
    }

    #[test]
    fn what_it_cannot_know_is_not_waited_for() {
        let progress = WatchProgress::default();
        synced(&progress, "7");
        let deleted = Awaited::End { uids: vec!["u".into()] };
        assert!(progress.wait_until(ObjectKey::of(&map("1")), deleted).is_over());
        assert!(wait(&progress, "opaque").is_over());
        synced(&progress, "");
        assert!(wait(&progress, "8").is_over(), "versions are counted per object");
    }
}
