//! Which name has which cluster, by the uid of the cluster. No I/O.

use super::{claims::Source, error::ClusterError, event::ClusterSpec, name::ClusterName};
use std::collections::BTreeMap;

/// The clusters that have said who they are. Each is reconciled by one name only, and the hub by none. Of several names that lead to one
/// cluster, the first has it, by provider and then by name: in each replica, and after each restart.
#[derive(Debug, Default)]
pub(super) struct Identities {
    /// The uid of the hub, once it is known.
    hub: Option<String>,
    /// Which provider announces a name.
    sources: BTreeMap<ClusterName, Source>,
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
    /// This provider announces the name.
    pub(super) fn announced(&mut self, name: &ClusterName, source: Source) {
        self.sources.insert(name.clone(), source);
    }

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
        uid.iter().try_for_each(|uid| self.check(name, uid))?;
        let is_another = uid.is_none() || uid != before;
        if is_another {
            self.has_moved(name);
            self.uids.remove(name);
            self.before.extend(before.map(|before| (name.clone(), before)));
            uid.into_iter().for_each(|uid| drop(self.add(name, uid)));
        }
        self.waits_no_more(name);
        Ok(is_another)
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
    /// It is the hub, or another name has it, or is to have it: this name waits for it, and keeps what it had.
    pub(super) fn claim(&mut self, name: &ClusterName, uid: String) -> Result<(), ClusterError> {
        self.check(name, &uid)?;
        self.has_moved(name);
        let before = self.add(name, uid.clone());
        before.filter(|before| *before != uid).iter().for_each(|before| self.free(before));
        self.waits_no_more(name);
        Ok(())
    }

    /// Whether the name may have this cluster.
    fn check(&mut self, name: &ClusterName, uid: &str) -> Result<(), ClusterError> {
        if self.hub.as_deref() == Some(uid) {
            self.waits_no_more(name);
            return Err(ClusterError::Hub(name.clone()));
        }
        let holder = match self.names.get(uid) {
            Some(holder) => Some(holder).filter(|holder| *holder != name),
            None => self.first_twin(uid).filter(|twin| self.precedes(twin, name)),
        };
        let Some(holder) = holder.cloned() else { return Ok(()) };
        self.twins.insert(name.clone(), uid.to_owned());
        Err(ClusterError::Twin { name: name.clone(), holder })
    }

    /// Whether this name has a cluster to which both lead.
    fn precedes(&self, name: &ClusterName, other: &ClusterName) -> bool {
        (self.sources.get(name), name) < (self.sources.get(other), other)
    }

    /// Returns what the name had.
    fn add(&mut self, name: &ClusterName, uid: String) -> Option<String> {
        self.names.insert(uid.clone(), name.clone());
        self.uids.insert(name.clone(), uid)
    }

    /// Whether the holder of the cluster for which this name waits has to leave it to the name.
    pub(super) fn yields(&self, holder: &ClusterName, name: &ClusterName) -> bool {
        let uid = self.twins.get(name);
        uid.is_some() && uid == self.uids.get(holder) && self.precedes(name, holder)
    }

    /// Nothing is left of the name.
    pub(super) fn left(&mut self, name: &ClusterName) {
        self.sources.remove(name);
    }

    /// The name has no cluster any more, and waits for none.
    pub(super) fn forget(&mut self, name: &ClusterName) {
        self.waits_no_more(name);
        self.release(name);
    }

    /// The name was removed, or has another address: it does not wait for the cluster of another name.
    pub(super) fn waits_no_more(&mut self, name: &ClusterName) {
        self.freed.retain(|freed| freed != name);
        let uid = self.twins.remove(name);
        uid.iter().for_each(|uid| self.offer(uid));
    }

    /// A name that waits for the cluster of this one.
    pub(super) fn waits_for(&self, name: &ClusterName) -> Option<&ClusterName> {
        self.first_twin(self.uids.get(name)?)
    }

    fn first_twin(&self, uid: &str) -> Option<&ClusterName> {
        let twins = self.twins.iter().filter(|(_, of)| *of == uid).map(|(twin, _)| twin);
        twins.min_by_key(|twin| (self.sources.get(*twin), *twin))
    }

    /// Names that were refused as twins, and may have the cluster now.
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
        self.offer(uid);
    }

    /// The first of those that wait for this cluster may have it, unless somebody has.
    fn offer(&mut self, uid: &str) {
        if !self.names.contains_key(uid) {
            let first = self.first_twin(uid).cloned();
            self.freed.extend(first);
        }
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
    fn a_cluster_has_the_first_name_that_leads_to_it_until_that_leaves() {
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
        identities.forget(&name("a"));
        assert_eq!(identities.take_freed(), [name("b")]);
        let refused = claim(&mut identities, "c", "1").unwrap_err();
        assert!(refused.starts_with("cluster c is the same as cluster b, by the uid"), "{refused}");
        identities.forget(&name("b"));
        assert_eq!(identities.take_freed(), [name("c")], "the one before did not connect again");
        claim(&mut identities, "c", "1").unwrap();
        claim(&mut identities, "a", "1").unwrap_err();
        claim(&mut identities, "c", "3").unwrap();
        assert_eq!(identities.take_freed(), [name("a")], "its address leads to another cluster now");
        for text in ["a", "c", "d"] {
            identities.forget(&name(text));
        }
        assert!(identities.uids.is_empty() && identities.names.is_empty() && identities.twins.is_empty());
    }

    #[test]
    fn of_two_names_the_first_has_the_cluster_by_provider_and_then_by_name() {
        let mut identities = Identities::default();
        for (text, source) in [("a", 1), ("b", 0), ("c", 0)] {
            identities.announced(&name(text), source);
        }
        claim(&mut identities, "c", "1").unwrap();
        claim(&mut identities, "a", "1").unwrap_err();
        assert!(!identities.yields(&name("c"), &name("a")), "its provider is a later one");
        claim(&mut identities, "b", "1").unwrap_err();
        assert!(identities.yields(&name("c"), &name("b")));
        assert!(identities.take_freed().is_empty(), "it has not stopped");
        identities.release(&name("c"));
        assert_eq!(identities.take_freed(), [name("b")]);
        claim(&mut identities, "c", "1").unwrap_err();
        claim(&mut identities, "b", "1").unwrap();
        identities.forget(&name("b"));
        assert_eq!(identities.take_freed(), [name("c")], "it has waited, as the first one");
        identities.left(&name("b"));
        assert_eq!(identities.sources.len(), 2);
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

    /// Somewhere in a ring, a name waits for the cluster of one that comes after it.
    #[test]
    fn names_that_wait_for_the_clusters_of_one_another_get_them() {
        let mut identities = Identities::default();
        for (text, uid) in [("a", "1"), ("b", "2"), ("c", "3")] {
            claim(&mut identities, text, uid).unwrap();
        }
        let wants = |identities: &mut Identities, text: &str, uid: &str, holder: &str| {
            claim(identities, text, uid).unwrap_err();
            identities.yields(&name(holder), &name(text))
        };
        assert!(!wants(&mut identities, "c", "1", "a"));
        assert!(wants(&mut identities, "b", "3", "c"));
        assert_eq!(identities.waits_for(&name("c")), Some(&name("b")));
        identities.release(&name("c"));
        assert_eq!(identities.take_freed(), [name("b")]);
        claim(&mut identities, "b", "3").unwrap();
        claim(&mut identities, "a", "2").unwrap();
        assert_eq!(identities.take_freed(), [name("c")], "it waits for the cluster of its own address");
        claim(&mut identities, "c", "1").unwrap();
        assert!(identities.twins.is_empty());
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
