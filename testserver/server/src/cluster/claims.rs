//! Which pods use a claim for a volume.

use std::collections::{BTreeMap, BTreeSet};

use crate::storage::{Key, Stored};

/// The pods of each claim. The volumes of a pod never change.
#[derive(Debug, Default)]
pub(super) struct ClaimIndex(BTreeMap<Key, BTreeSet<Key>>);

impl ClaimIndex {
    /// Records a new pod.
    pub(super) fn add(&mut self, pod: &Stored) {
        for claim in claims(pod) {
            self.0.entry(claim).or_default().insert(pod.key.clone());
        }
    }

    /// Forgets a removed pod. Returns its claims.
    pub(super) fn remove(&mut self, pod: &Stored) -> Vec<Key> {
        let claims = claims(pod);
        for claim in &claims {
            let pods = self.0.get_mut(claim);
            if pods.is_some_and(|pods| pods.remove(&pod.key) && pods.is_empty()) {
                self.0.remove(claim);
            }
        }
        claims
    }

    /// The pods that use a claim.
    pub(super) fn pods(&self, claim: &Key) -> impl Iterator<Item = &Key> {
        self.0.get(claim).into_iter().flatten()
    }
}

fn claims(pod: &Stored) -> Vec<Key> {
    let object = pod.value();
    let volumes = object["spec"]["volumes"].as_array().into_iter().flatten();
    let names = volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str());
    names.map(|name| Key::new(pod.key.namespace(), name)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_are_found_by_claim_while_they_exist() {
        let pod = |name: &str, claims: &[&str]| {
            let volume = |claim: &&str| json!({"persistentVolumeClaim": {"claimName": claim}});
            let volumes: Vec<_> = claims.iter().map(volume).chain([json!({"emptyDir": {}})]).collect();
            Stored::preview(Key::new(Some("n"), name), &json!({"spec": {"volumes": volumes}}))
        };
        let (one, two) = (pod("one", &["a", "b"]), pod("two", &["a", "a"]));
        let claim = |name| Key::new(Some("n"), name);
        let mut index = ClaimIndex::default();
        [&one, &two].into_iter().for_each(|pod| index.add(pod));
        assert_eq!(index.pods(&claim("a")).collect::<Vec<_>>(), [&one.key, &two.key]);
        assert_eq!(index.remove(&one), [claim("a"), claim("b")]);
        assert_eq!(index.pods(&claim("a")).collect::<Vec<_>>(), [&two.key]);
        assert_eq!(index.remove(&two), [claim("a"), claim("a")]);
        assert!(index.0.is_empty());
    }
}
