//! One child in a set, as the reconcile describes it.

use crate::apply::{ChildPatch, InvalidChild};
use kube_core::{ApiResource, DynamicObject, Resource, discovery::Scope, dynamic::ParseDynamicObjectError};
use kube_runtime::served::{Availability, ServedKinds, scope_of};
use kube_tools::ready::Readiness;
use serde::de::DeserializeOwned;
use std::{fmt, marker::PhantomData};

/// A child that was added to [`Children`](super::Children): says when its turn is, and when it is ready.
///
/// Without more, a child is applied at once, and ready by the [rules of its kind](Readiness).
pub struct Added<'a, K> {
    member: &'a mut Member,
    kind: PhantomData<fn(&K)>,
}

/// A child, not checked yet.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// The names of those it comes after.
    pub(super) after: Vec<String>,
    pub(super) resource: ApiResource,
    /// What to apply, and whether it refers to the owner. `None` if the owner is invalid.
    pub(super) patch: Option<Result<(ChildPatch, bool), InvalidChild>>,
    pub(super) ready: Option<Condition>,
    pub(super) deletable: Option<Condition>,
    /// Why its kind cannot be used now.
    pub(super) unserved: Option<Availability>,
}

/// A condition of the program.
pub(super) struct Condition {
    /// What it waits for, in words.
    pub(super) what: String,
    holds: Box<Holds>,
}

/// An object that cannot be read by the program's type is an error.
type Holds = dyn Fn(&DynamicObject) -> Result<bool, ParseDynamicObjectError> + Send + Sync;

impl<'a, K> Added<'a, K> {
    pub(super) fn new(member: &'a mut Member) -> Self {
        Self { member, kind: PhantomData }
    }

    /// Only after this other child is ready. Call it once for each; the other may be added later.
    ///
    /// A child that exists already stays as it is meanwhile. When all children are deleted, this one is gone before the other.
    pub fn after(self, name: &str) -> Self {
        self.member.after.push(name.to_owned());
        self
    }

    /// Only while the cluster serves its kind in its version, which may be installed later and removed: as `kinds` knows now. Use one
    /// [`ServedKinds`] for the whole program, of the cluster that the children are applied to.
    ///
    /// Otherwise the child is left alone, which is [`NotServed`](super::ChildState::NotServed) in the status:
    ///
    /// - Where the kind is missing, the others go on without it.
    /// - Where the server has the kind in another form, such as another version, the child may exist: the set is not ready, what comes
    ///   after the child waits, and no object of its kind is deleted; while something waits, nothing at all.
    /// - Where the server could not say it, or has not yet, the same, and nothing at all is deleted.
    ///
    /// In the last two cases, [`action`](super::ChildrenStatus::action) is another reconcile within a minute. For the one when the kind
    /// comes or goes, watch it by [`Related::if_served`](kube_runtime::controller::Related::if_served).
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn if_served(self, kinds: &ServedKinds) -> Self
    where
        K: Resource + 'static,
    {
        let child = self.member.patch.as_ref().and_then(|patch| patch.as_ref().ok());
        let in_namespace =
            || child.and_then(|(child, _)| child.namespace.as_ref().map(|_| Scope::Namespaced));
        let scope = scope_of::<K>().or_else(in_namespace);
        self.member.unserved = match kinds.kind_in(self.member.resource.clone(), [], scope).now() {
            Availability::Served(_) => None,
            unserved => Some(unserved),
        };
        self
    }
}

impl<K: Resource + DeserializeOwned + 'static> Added<'_, K> {
    /// Ready when this holds, instead of the rules of the kind. `what` says in the status what is waited for: `an address`.
    pub fn ready_when(self, what: &str, holds: impl Fn(&K) -> bool + Send + Sync + 'static) -> Self {
        self.member.ready = Some(Condition::new(what, holds));
        self
    }

    /// Deleted by [`Children::delete`](super::Children::delete) only when this holds; by default at once when it is its turn. `what` says
    /// in the status what is waited for: `an empty queue`.
    pub fn delete_when(self, what: &str, holds: impl Fn(&K) -> bool + Send + Sync + 'static) -> Self {
        self.member.deletable = Some(Condition::new(what, holds));
        self
    }
}

impl<K> fmt::Debug for Added<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Added").field(&self.member).finish()
    }
}

impl Condition {
    fn new<K>(what: &str, holds: impl Fn(&K) -> bool + Send + Sync + 'static) -> Self
    where
        K: Resource + DeserializeOwned + 'static,
    {
        let holds = move |object: &DynamicObject| object.clone().try_parse().map(|object: K| holds(&object));
        Self { what: what.to_owned(), holds: Box::new(holds) }
    }

    /// What is waited for; `None` if it holds.
    pub(super) fn waits_for(&self, object: &DynamicObject) -> Option<String> {
        match (self.holds)(object) {
            Ok(true) => None,
            Ok(false) => Some(self.what.clone()),
            Err(error) => Some(format!("{}, which is not known: {error}", self.what)),
        }
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Condition").field(&self.what).finish()
    }
}

/// Why a child is not ready; `None` if it is.
pub(super) fn unready(ready: Option<&Condition>, object: &DynamicObject) -> Option<String> {
    match ready {
        Some(condition) => condition.waits_for(object).map(|what| format!("it waits for {what}")),
        None => {
            let readiness = Readiness::of_dynamic(object);
            (!readiness.is_ready()).then_some(readiness.message)
        }
    }
}
