//! Permissions of this library's own calls that a recording may lack, because they are made at times only.

use std::collections::BTreeSet;

use super::access::{Access, ResourceAccess};
use crate::apply::OwnerFinalizers;

const EVENTS: (&str, &str) = ("events.k8s.io", "events");
const LEASES: (&str, &str) = ("coordination.k8s.io", "leases");

/// What blocking the deletion of an owner needs.
pub(super) fn owner_finalizers(owner: &OwnerFinalizers) -> Access {
    let OwnerFinalizers { group, plural, namespace } = owner;
    Access::Resource(ResourceAccess {
        namespace: namespace.clone(),
        group: group.clone(),
        resource: format!("{plural}/finalizers"),
        name: None,
        verb: "update",
    })
}

/// The recorded accesses with those that belong to them.
pub(super) fn completed(recorded: BTreeSet<Access>) -> BTreeSet<Access> {
    let mut all = recorded.clone();
    for access in &recorded {
        let Access::Resource(access) = access else { continue };
        let with = |verb, name: Option<&String>| {
            Access::Resource(ResourceAccess { verb, name: name.cloned(), ..access.clone() })
        };
        let name = access.name.as_ref();
        match ((access.group.as_str(), access.resource.as_str()), access.verb) {
            // An event that repeats is counted up.
            (EVENTS, "create") => all.extend([with("patch", None)]),
            // Any replica may find, make, take over and release the Lease. Its creation has no name, and follows a `get` that has it.
            (LEASES, "get" | "update") => {
                all.insert(with("create", None));
                all.extend(["get", "update"].map(|verb| with(verb, name)));
            }
            // Members of a group make their own Leases, and remove those of members that are gone.
            (LEASES, "list") => all.extend(["create", "update", "delete"].map(|verb| with(verb, None))),
            // `apply_status` reads the object after a conflict.
            ((_, resource), "patch") => {
                if let Some(resource) = resource.strip_suffix("/status") {
                    let get = ResourceAccess { verb: "get", resource: resource.to_owned(), ..access.clone() };
                    all.insert(Access::Resource(get));
                }
            }
            _ => {}
        }
    }
    all
}
