//! Sources: where the objects of a controller come from, and what each change of them triggers.
//!
//! A source is one value: [`OwnSource`] for the controller's own objects, [`RelatedSource`] for objects of another kind. It says where the
//! objects come from (watches of one or several namespaces, or a stream of the program), which changes matter, and which store keeps them.
//!
//! - `own`, `filter`: own objects, and the predicate that drops changes; `compact`: which cache keeps them.
//! - `related`: related objects; `related_changes`, `owner_map`, `related_sync`: from their changes to triggers.
//! - `namespaces`: one watch per namespace.
//! - `sources`, `backoff`: all sources of a controller as one stream, and the waits after failures.
//! - What wraps these streams: `guarded`, the panics of a source; `initial_sync`, which first lists are missing.
//! - `trigger`: what a source emits; `requests`: the same in the public API.

mod backoff;
mod compact;
mod filter;
mod guarded;
mod initial_sync;
mod namespaces;
mod own;
mod owner_map;
mod related;
mod related_changes;
mod related_sync;
mod requests;
mod sources;
mod trigger;

pub use requests::{trigger_owners, trigger_self, trigger_with};

pub(super) use {
    filter::OwnPredicate,
    namespaces::Apis,
    own::OwnSource,
    related::{RelatedSource, mapped_by, owners_in},
    related_changes::Mapped,
    sources::Sources,
    trigger::{CallbackPanic, SourcePanic, Trigger},
};
