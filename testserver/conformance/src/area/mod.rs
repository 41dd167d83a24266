//! The areas of the suite, in running order.
//!
//! - Verbs on objects: `verbs`, `create`, `read`, `update`, `immutable`, `patch`, `identity`, `apply`, `delete`.
//! - Lists and watches: `watch`, `watchlist`, `selectors`, `fields`.
//! - Formats: `representation`, `encoding`, `columns`.
//! - Subresources: `subresource`, `scale`, `pods`.
//! - Dry runs and validation of fields: `dryrun`.
//! - Custom resources: `schema`, `cel`, `cost`, `ratchet`, `applylists`, `crd`, `recorded`, `conversion`, `versions`.
//! - Built-in kinds: `strategic`, `defaults`, `events`, `autoscalers`.
//! - Deletion of what belongs together: `namespaces`, `gc`, `finalizers`.
//! - Admission: `admission`, `reviews`, `priority`, `storageclass`, `limitrange`, `quota`, `policies`.
//! - The server: `discovery`, `auth`, `rbac`.
//! - What the embedded server accepts and others refuse: `unchecked`.

mod admission;
mod apply;
mod applylists;
mod auth;
mod autoscalers;
mod cel;
mod columns;
mod conversion;
mod cost;
mod crd;
mod create;
mod defaults;
mod delete;
mod discovery;
mod dryrun;
mod encoding;
mod events;
mod fields;
mod finalizers;
mod gc;
mod identity;
mod immutable;
mod limitrange;
mod namespaces;
mod patch;
mod pods;
mod policies;
mod priority;
mod quota;
mod ratchet;
mod rbac;
mod read;
mod recorded;
mod representation;
mod reviews;
mod scale;
mod schema;
mod selectors;
mod storageclass;
mod strategic;
mod subresource;
mod unchecked;
mod update;
mod verbs;
mod versions;
mod watch;
mod watchlist;

use crate::case::Case;

/// All cases, in running order.
#[rustfmt::skip] // several areas a line
pub(crate) fn cases() -> Vec<Case> {
    [
        verbs::cases(), create::cases(), read::cases(), update::cases(), immutable::cases(), patch::cases(),
        identity::cases(), apply::cases(), delete::cases(), watch::cases(), watchlist::cases(),
        selectors::cases(), fields::cases(), representation::cases(), encoding::cases(), columns::cases(),
        subresource::cases(), scale::cases(), pods::cases(), dryrun::cases(), schema::cases(), cel::cases(),
        cost::cases(), ratchet::cases(), applylists::cases(), crd::cases(), recorded::cases(),
        conversion::cases(), versions::cases(), strategic::cases(), defaults::cases(), events::cases(),
        autoscalers::cases(), namespaces::cases(), gc::cases(), finalizers::cases(), admission::cases(),
        reviews::cases(), priority::cases(), storageclass::cases(), limitrange::cases(), quota::cases(),
        policies::cases(), discovery::cases(), auth::cases(), rbac::cases(), unchecked::cases(),
    ]
    .concat()
}
