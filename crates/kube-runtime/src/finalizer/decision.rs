//! What the state of an object asks for, as far as one finalizer is concerned.

use kube_core::Resource;

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// The object lives without the finalizer: put it there before anything else.
    Add,
    /// The object lives and has the finalizer.
    Apply,
    /// The object is being deleted and waits for the finalizer to go.
    Cleanup,
    /// The object is being deleted and does not wait for this finalizer.
    Nothing,
}

pub(super) fn decide<K: Resource>(object: &K, finalizer: &str) -> Decision {
    let meta = object.meta();
    let present = meta.finalizers.iter().flatten().any(|present| present == finalizer);
    match (present, meta.deletion_timestamp.is_some()) {
        (false, false) => Decision::Add,
        (true, false) => Decision::Apply,
        (true, true) => Decision::Cleanup,
        (false, true) => Decision::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::Time};
    use kube_core::ObjectMeta;

    fn object(finalizers: &[&str], deleting: bool) -> ConfigMap {
        let metadata = ObjectMeta {
            finalizers: Some(finalizers.iter().map(ToString::to_string).collect()),
            deletion_timestamp: deleting.then(|| Time("2026-01-01T00:00:00Z".parse().unwrap())),
            ..Default::default()
        };
        ConfigMap { metadata, ..Default::default() }
    }

    #[test]
    fn the_four_states() {
        let (with, without) = (&["other", "mine"][..], &["other"][..]);
        assert_eq!(decide(&object(without, false), "mine"), Decision::Add);
        assert_eq!(decide(&object(with, false), "mine"), Decision::Apply);
        assert_eq!(decide(&object(with, true), "mine"), Decision::Cleanup);
        assert_eq!(decide(&object(without, true), "mine"), Decision::Nothing);
        assert_eq!(decide(&ConfigMap::default(), "mine"), Decision::Add);
    }
}
