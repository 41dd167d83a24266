//! The areas of the suite; `order` has them in running order.
//!
//! Requests and responses: `verbs`, `identity`, `create`, `read`, `update`, `patch`, `strategic`, `delete`, `dryrun`, `encoding`,
//! `representation`, `watch` and `watchlist`, `fields` and `selectors`, `subresource`, `scale`, `discovery`.
//! What is stored of every object: `finalizers`, `namespaces`, `gc`; server-side apply: `apply` and `applylists`.
//! Custom resources: `crd`, `versions`, `conversion`, `schema`, `cel`, `cost`, `ratchet`; `recorded` has requests by the hundred.
//! Built-in kinds: `defaults`, `immutable`, `unchecked`, `columns`, `events`, `autoscalers`, `pods`.
//! Who may write what: `auth`, `rbac`; `admission` and `reviews` by webhooks, `policies`; the plugins `limitrange`, `priority`, `quota` and
//! `storageclass`.

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
mod order;
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

pub(crate) use order::cases;
