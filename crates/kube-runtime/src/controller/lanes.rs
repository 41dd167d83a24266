//! In which fair lane of the queue an object waits: see [`Config::fair_by`](super::Config::fair_by).

use crate::{
    reflector::{ObjectKey, store::Store},
    unwind::catch_panic,
};
use kube_core::{ObjectMeta, Resource};
use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// The longest name of a lane, in bytes, which is that of names in Kubernetes. Of a longer one the beginning and a hash are kept.
const LONGEST_NAME: usize = 253;

/// What objects are fair by.
#[derive(Clone)]
pub(super) enum FairBy {
    Namespace,
    Function(Arc<LaneFunction>),
}

type LaneFunction = dyn Fn(&ObjectMeta) -> Option<String> + Send + Sync;

impl fmt::Debug for FairBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Namespace => "Namespace",
            Self::Function(_) => "Function",
        })
    }
}

/// The name of a lane. Objects without one are in one lane together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LaneName(Option<Arc<str>>);

impl LaneName {
    pub(crate) fn new(name: Option<&str>) -> Self {
        Self(name.map(|name| match name.len() {
            0..=LONGEST_NAME => name.into(),
            _ => shortened(name).into(),
        }))
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

fn shortened(name: &str) -> String {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    let mut end = LONGEST_NAME - 20; // for the ellipsis and the hash
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…{:016x}", &name[..end], hasher.finish())
}

/// Finds the lanes of objects.
pub(super) struct Lanes<K: Resource<DynamicType: Eq + Hash> + 'static> {
    fair_by: Option<FairBy>,
    /// What the function is called with.
    store: Store<K>,
    panicked: AtomicBool,
}

impl<K: Resource<DynamicType: Eq + Hash + Clone> + Clone + 'static> Lanes<K> {
    pub(super) fn new(fair_by: Option<FairBy>, store: Store<K>) -> Self {
        Self { fair_by, store, panicked: AtomicBool::new(false) }
    }

    /// The lane of the object with this key. An object that the store does not have, or that cannot be decoded, has no name of a lane.
    pub(super) fn of(&self, key: &ObjectKey) -> LaneName {
        match &self.fair_by {
            None => LaneName::new(None),
            Some(FairBy::Namespace) => LaneName::new(key.namespace.as_deref()),
            Some(FairBy::Function(function)) => {
                let object = self.store.newest(key).ok().flatten();
                let name = object.and_then(|object| self.call(&**function, object.meta(), key));
                LaneName::new(name.as_deref())
            }
        }
    }

    /// Whether the lane of this object is not known before the store has it.
    pub(super) fn needs(&self, key: &ObjectKey) -> bool {
        matches!(self.fair_by, Some(FairBy::Function(_))) && matches!(self.store.newest(key), Ok(None))
    }

    fn call(&self, function: &LaneFunction, metadata: &ObjectMeta, key: &ObjectKey) -> Option<String> {
        catch_panic(|| function(metadata)).unwrap_or_else(|panic| {
            // Not for each object at each change.
            if !self.panicked.swap(true, Ordering::Relaxed) {
                tracing::error!(
                    object = %key,
                    panic,
                    "the function of Config::fair_by panicked: such objects are in the lane of those without a name, and this is logged once"
                );
            }
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reflector;
    use crate::watcher::Event;
    use k8s_openapi::api::core::v1::ConfigMap;

    fn lanes(fair_by: FairBy) -> Lanes<ConfigMap> {
        let (store, mut writer) = reflector::store();
        let object = |name: &str, tenant: Option<&str>| {
            let mut map = ConfigMap::default();
            (map.metadata.name, map.metadata.namespace) = (Some(name.into()), Some("shop".into()));
            map.metadata.labels = tenant.map(|tenant| [("tenant".to_owned(), tenant.to_owned())].into());
            map
        };
        writer.apply_watcher_event(&Event::Init);
        for (name, tenant) in [("a", Some("red")), ("b", None), ("bad", Some("panic"))] {
            writer.apply_watcher_event(&Event::InitApply(object(name, tenant)));
        }
        writer.apply_watcher_event(&Event::InitDone);
        Lanes::new(Some(fair_by), store)
    }

    fn lane(lanes: &Lanes<ConfigMap>, namespace: Option<&str>, name: &str) -> Option<String> {
        let key = ObjectKey { namespace: namespace.map(Into::into), name: name.into() };
        lanes.of(&key).as_str().map(str::to_owned)
    }

    #[test]
    fn objects_of_the_function_without_a_name_in_the_store_or_after_a_panic_are_in_one_lane() {
        let by_tenant = lanes(FairBy::Function(Arc::new(|metadata| {
            let tenant = metadata.labels.as_ref()?.get("tenant").cloned();
            assert_ne!(tenant.as_deref(), Some("panic"));
            tenant
        })));
        let of = |name| lane(&by_tenant, Some("shop"), name);
        assert_eq!((of("a"), of("b"), of("gone"), of("bad")), (Some("red".into()), None, None, None));
        assert_eq!(of("a"), Some("red".into()), "it is called after a panic");
        let needs =
            |name: &str| by_tenant.needs(&ObjectKey { namespace: Some("shop".into()), name: name.into() });
        assert!(needs("gone") && !needs("a") && !needs("b"));
    }

    #[test]
    fn by_namespace_no_object_is_read() {
        let by_namespace = lanes(FairBy::Namespace);
        assert_eq!(lane(&by_namespace, Some("gone"), "gone"), Some("gone".into()));
        assert_eq!(lane(&by_namespace, None, "node"), None);
    }

    #[test]
    fn huge_names_are_cut_and_stay_different() {
        let names = ["ä".repeat(1 << 20), "ä".repeat(1 << 20) + "x", "x".to_owned() + &"ä".repeat(300)];
        let lanes = names.map(|name| LaneName::new(Some(&name)));
        assert!(lanes[0] != lanes[1] && lanes[1] != lanes[2]);
        for lane in &lanes {
            let length = lane.as_str().map_or(0, str::len);
            assert!((230..=LONGEST_NAME).contains(&length), "{length}");
        }
        assert_eq!(LaneName::new(Some(&"a".repeat(253))).as_str(), Some("a".repeat(253).as_str()));
    }
}
