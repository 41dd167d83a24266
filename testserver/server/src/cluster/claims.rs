//! Which pods use a claim for a volume.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::storage::{Key, Stored};

/// The pods of each claim, and the claims of each pod that has some: the volumes of a pod never change.
#[derive(Debug, Default)]
pub(super) struct ClaimIndex {
    pods: BTreeMap<Key, BTreeSet<Key>>,
    claims: BTreeMap<Key, Vec<Key>>,
}

impl ClaimIndex {
    /// Records a new pod.
    pub(super) fn add(&mut self, pod: &Stored) {
        let claims = claims(pod);
        for claim in &claims {
            self.pods.entry(claim.clone()).or_default().insert(pod.key.clone());
        }
        if !claims.is_empty() {
            self.claims.insert(pod.key.clone(), claims);
        }
    }

    /// Forgets a removed pod. Returns its claims.
    pub(super) fn remove(&mut self, pod: &Stored) -> Vec<Key> {
        let claims = self.claims.remove(&pod.key).unwrap_or_default();
        for claim in &claims {
            let pods = self.pods.get_mut(claim);
            if pods.is_some_and(|pods| pods.remove(&pod.key) && pods.is_empty()) {
                self.pods.remove(claim);
            }
        }
        claims
    }

    /// The pods that use a claim.
    pub(super) fn pods(&self, claim: &Key) -> impl Iterator<Item = &Key> {
        self.pods.get(claim).into_iter().flatten()
    }
}

/// What is read of a pod, which is not decoded as a whole.
#[derive(Deserialize)]
struct Pod {
    spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    volumes: Vec<Volume>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Volume {
    persistent_volume_claim: Option<Claim>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Claim {
    claim_name: String,
}

fn claims(pod: &Stored) -> Vec<Key> {
    let volumes = serde_json::from_slice::<Pod>(&pod.bytes()).map(|pod| pod.spec.volumes).unwrap_or_default();
    let claims = volumes.into_iter().filter_map(|volume| volume.persistent_volume_claim);
    claims.map(|claim| Key::new(pod.key.namespace(), &claim.claim_name)).collect()
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
        assert!(index.pods.is_empty() && index.claims.is_empty());
    }
}
