//! Which name has which cluster, by the uid of the cluster. No I/O.

use super::{error::ClusterError, event::ClusterSpec, name::ClusterName};
use std::collections::BTreeMap;

/// The clusters that have said who they are. Each is reconciled by one name only, and the hub by none. Of several names that
/// lead to one cluster, the first that answers has it until it leaves; then all that wait for it are tried.
#[derive(Debug, Default)]
pub(super) struct Identities {
    /// The uid of the hub, once it is known.
    hub: Option<String>,
    uids: BTreeMap<ClusterName, String>,
    names: BTreeMap<String, ClusterName>,
    /// What names have still, whose address is being exchanged: requests go there until that is done.
    before: BTreeMap<ClusterName, String>,
    /// Names that lead to the cluster of another name, with its uid.
    twins: BTreeMap<ClusterName, String>,
    /// Twins whose cluster is free now.
    freed: Vec<ClusterName>,
}

impl Identities {
    /// The hub has said who it is. Returns the name that has it as its cluster, which it has no more.
    pub(super) fn hub_is(&mut self, uid: Option<String>) -> Option<ClusterName> {
        let name = self.names.get(uid.as_ref()?).cloned();
        name.iter().for_each(|name| self.release(name));
        self.hub = uid;
        name
    }

    /// The cluster of this name has answered, with its uid if that may be read. Returns whether it may be another one than before.
    ///
    /// # Errors
    /// As [`claim`](Self::claim): what the name had stays.
    pub(super) fn answered(&mut self, name: &ClusterName, uid: Option<String>) -> Result<bool, ClusterError> {
        let before = self.uid_of(name);
        match uid {
            Some(uid) => self.claim(name, uid)?,
            None => self.forget(name), // the old one may have another name now
        }
        Ok(before.is_none() || before != self.uid_of(name))
    }

    /// The cluster at the address that is to be that of this name has answered. The name has both until [`has_moved`](Self::has_moved).
    /// Returns whether it may be another one than before.
    ///
    /// # Errors
    /// As [`claim`](Self::claim): what the name had stays.
    pub(super) fn moves(&mut self, name: &ClusterName, uid: Option<String>) -> Result<bool, ClusterError> {
        let before = self.uid_of(name);
        if uid.is_some() && uid == before {
            self.waits_no_more(name);
            return Ok(false);
        }
        uid.iter().try_for_each(|uid| self.check(name, uid))?;
        self.waits_no_more(name);
        self.has_moved(name);
        self.uids.remove(name);
        self.before.extend(before.map(|before| (name.clone(), before)));
        uid.into_iter().for_each(|uid| self.add(name, uid));
        Ok(true)
    }

    /// Nothing is sent any more to the cluster that the name had before it moved.
    pub(super) fn has_moved(&mut self, name: &ClusterName) {
        let before = self.before.remove(name);
        before.iter().for_each(|uid| self.free(uid));
    }

    /// The cluster of this name, as far as it is known.
    pub(super) fn uid_of(&self, name: &ClusterName) -> Option<String> {
        self.uids.get(name).cloned()
    }

    /// Which cluster has answered at an address, with its uid if that may be read: otherwise the one that is known, as what does not say so
    /// is at the same address. None is that of a part.
    pub(super) fn uid_at(&self, spec: &ClusterSpec, uid: Option<String>) -> Option<String> {
        uid.or_else(|| self.uid_of(&spec.name)).filter(|_| !spec.is_part)
    }

    /// The cluster of this name has said who it is.
    ///
    /// # Errors
    /// It is the hub, or has another name: this name does not have it, but keeps what it had.
    pub(super) fn claim(&mut self, name: &ClusterName, uid: String) -> Result<(), ClusterError> {
        self.check(name, &uid)?;
        self.forget(name);
        self.add(name, uid);
        Ok(())
    }

    /// Whether the name may have this cluster.
    fn check(&mut self, name: &ClusterName, uid: &str) -> Result<(), ClusterError> {
        if self.hub.as_deref() == Some(uid) {
            self.waits_no_more(name);
            return Err(ClusterError::Hub(name.clone()));
        }
        if let Some(holder) = self.names.get(uid).filter(|holder| *holder != name).cloned() {
            self.twins.insert(name.clone(), uid.to_owned());
            return Err(ClusterError::Twin { name: name.clone(), holder });
        }
        Ok(())
    }

    fn add(&mut self, name: &ClusterName, uid: String) {
        self.uids.insert(name.clone(), uid.clone());
        self.names.insert(uid, name.clone());
    }

    /// The name has no cluster any more, and waits for none.
    pub(super) fn forget(&mut self, name: &ClusterName) {
        self.waits_no_more(name);
        self.release(name);
    }

    /// The name was removed, or has another address: it does not wait for the cluster of another name.
    pub(super) fn waits_no_more(&mut self, name: &ClusterName) {
        self.twins.remove(name);
        self.freed.retain(|freed| freed != name);
    }

    /// A name that waits for the cluster of this one.
    pub(super) fn waits_for(&self, name: &ClusterName) -> Option<&ClusterName> {
        let uid = self.uids.get(name)?;
        self.twins.iter().find(|(_, of)| *of == uid).map(|(twin, _)| twin)
    }

    /// The names each of which waits for the cluster of the next one, the last for that of `name`, which is the first. None if there is no
    /// such ring.
    pub(super) fn ring(&self, name: &ClusterName) -> Vec<ClusterName> {
        let mut ring: Vec<ClusterName> = Vec::new();
        let mut next = Some(name);
        while let Some(waits) = next {
            if ring.contains(waits) {
                // A ring without this name lets go already.
                return if waits == name { ring } else { Vec::new() };
            }
            ring.push(waits.clone());
            next = self.twins.get(waits).and_then(|uid| self.names.get(uid));
        }
        Vec::new()
    }

    /// Names that were refused as twins, and are not any more.
    pub(super) fn take_freed(&mut self) -> Vec<ClusterName> {
        std::mem::take(&mut self.freed)
    }

    /// The name has no cluster any more. It may wait for one.
    pub(super) fn release(&mut self, name: &ClusterName) {
        self.has_moved(name);
        let uid = self.uids.remove(name);
        uid.iter().for_each(|uid| self.free(uid));
    }

    /// Nobody has this cluster.
    fn free(&mut self, uid: &str) {
        self.names.remove(uid);
        let freed = &mut self.freed;
        self.twins.retain(|twin, of| {
            let is_free = *of == uid;
            freed.extend(is_free.then(|| twin.clone()));
            !is_free
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> ClusterName {
        text.parse().unwrap()
    }

    fn claim(identities: &mut Identities, text: &str, uid: &str) -> Result<(), String> {
        identities.claim(&name(text), uid.to_owned()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_cluster_has_the_name_that_leads_to_it_first_until_that_leaves() {
        let mut identities = Identities::default();
        claim(&mut identities, "a", "1").unwrap();
        claim(&mut identities, "a", "1").unwrap();
        let refused = claim(&mut identities, "b", "1").unwrap_err();
        assert!(refused.starts_with("cluster b is the same as cluster a, by the uid"), "{refused}");
        claim(&mut identities, "c", "1").unwrap_err();
        claim(&mut identities, "d", "2").unwrap();
        claim(&mut identities, "d", "1").unwrap_err();
        assert_eq!(
            identities.uid_of(&name("d")).as_deref(),
            Some("2"),
            "an address that it may not use takes nothing away"
        );
        assert!(identities.take_freed().is_empty());
        identities.forget(&name("c"));
        identities.forget(&name("a"));
        assert_eq!(identities.take_freed(), [name("b"), name("d")]);
        claim(&mut identities, "b", "1").unwrap();
        claim(&mut identities, "a", "1").unwrap_err();
        claim(&mut identities, "b", "3").unwrap();
        assert_eq!(identities.take_freed(), [name("a")], "its address leads to another cluster now");
        for text in ["a", "b", "d"] {
            identities.forget(&name(text));
        }
        assert!(identities.uids.is_empty() && identities.names.is_empty() && identities.twins.is_empty());
    }

    #[test]
    fn a_name_whose_cluster_may_not_say_who_it_is_has_none() {
        let mut identities = Identities::default();
        let mut answered = |text: &str, uid: Option<&str>| {
            identities.answered(&name(text), uid.map(str::to_owned)).map_err(|error| error.to_string())
        };
        assert_eq!(answered("a", Some("1")), Ok(true));
        assert_eq!(answered("a", Some("1")), Ok(false));
        assert_eq!(answered("a", Some("2")), Ok(true));
        assert_eq!(answered("a", None), Ok(true));
        assert_eq!(answered("b", Some("2")), Ok(true), "the old cluster of a is free");
        assert_eq!(answered("a", None), Ok(true), "nothing is known");
        answered("a", Some("2")).unwrap_err();
    }

    /// Its controllers send requests to the old cluster until the exchange is done.
    #[test]
    fn a_name_that_moves_has_both_clusters_until_it_has_moved() {
        let mut identities = Identities::default();
        claim(&mut identities, "a", "1").unwrap();
        claim(&mut identities, "b", "1").unwrap_err();
        assert!(identities.moves(&name("a"), Some("2".into())).unwrap());
        assert!(identities.take_freed().is_empty(), "requests go to the old one still");
        claim(&mut identities, "c", "2").unwrap_err();
        claim(&mut identities, "b", "1").unwrap_err();
        identities.has_moved(&name("a"));
        assert_eq!(identities.take_freed(), [name("b")]);
        claim(&mut identities, "b", "1").unwrap();
        identities.moves(&name("b"), Some("2".into())).unwrap_err();
        assert!(!identities.moves(&name("b"), Some("1".into())).unwrap(), "the same one");
        identities.moves(&name("b"), None).unwrap();
        for text in ["a", "b", "c"] {
            identities.forget(&name(text));
        }
        assert!(identities.uids.is_empty() && identities.names.is_empty() && identities.before.is_empty());
    }

    #[test]
    fn names_that_wait_for_the_clusters_of_one_another_are_a_ring() {
        let mut identities = Identities::default();
        for (text, uid) in [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")] {
            claim(&mut identities, text, uid).unwrap();
        }
        let ring = |identities: &Identities, text: &str| -> Vec<String> {
            identities.ring(&name(text)).iter().map(ToString::to_string).collect()
        };
        for (text, uid) in [("a", "2"), ("b", "3"), ("d", "1")] {
            claim(&mut identities, text, uid).unwrap_err();
            assert_eq!(ring(&identities, text), [""; 0], "{text}");
        }
        claim(&mut identities, "c", "1").unwrap_err();
        assert_eq!(ring(&identities, "c"), ["c", "a", "b"]);
        assert_eq!(ring(&identities, "d"), [""; 0], "it waits for one of the ring");
        identities.waits_no_more(&name("b")); // it was announced with its own address again
        assert_eq!(ring(&identities, "c"), [""; 0]);
        assert_eq!(identities.waits_for(&name("b")), Some(&name("a")));
        assert_eq!(identities.waits_for(&name("d")), None);
    }

    #[test]
    fn the_hub_is_no_member_whoever_answers_first() {
        let mut identities = Identities::default();
        claim(&mut identities, "a", "hub").unwrap();
        claim(&mut identities, "b", "2").unwrap();
        assert_eq!(identities.hub_is(None), None, "it may not be read");
        assert_eq!(identities.hub_is(Some("hub".into())), Some(name("a")));
        let refused = claim(&mut identities, "c", "hub").unwrap_err();
        assert!(refused.starts_with("cluster c is the hub itself: "), "{refused}");
        claim(&mut identities, "a", "3").unwrap();
    }
}
