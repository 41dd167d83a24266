//! The areas of the suite, in running order. `all` is the list of their cases.
//!
//! - Verbs on objects: `verbs`, `create`, `read`, `update`, `immutable`, `patch`, `identity`, `apply`, `delete`.
//! - Lists and watches: `watch`, `watchlist`, `selectors`, `fields`.
//! - Formats: `representation`, `encoding`, `columns`.
//! - Subresources: `subresource`, `scale`, `scale_apply`, `pods`.
//! - Dry runs and validation of fields: `dryrun`.
//! - Custom resources: `schema`, `cel`, `cost`, `ratchet`, `applylists`, `crd`, `recorded`, `conversion`, `versions`.
//! - Built-in kinds: `strategic`, `defaults`, `events`, `autoscalers`.
//! - Deletion of what belongs together: `namespaces`, `gc`, `finalizers`.
//! - Admission: `admission`, `reviews`, `priority`, `storageclass`, `limitrange`, `quota`, `policies`.
//! - The server: `discovery`, `auth`, `rbac`.
//! - What the embedded server accepts and others refuse: `unchecked`.

mod admission;
mod all;
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
mod scale_apply;
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

pub(crate) use all::cases;
