//! The path of a write: one value, an [`ObjectWrite`], goes through six stages.
//!
//! ```text
//!   a request of a client                             an object of a controller
//!      │ handlers: the object that is meant,             │ cluster/create.rs: its name, and
//!      │ by create, update, patch, apply or scale        │ whether there is room for it
//!      └──────────────────► ObjectWrite ◄────────────────┘
//!                                │
//!   decode    unknown fields, values of a wrong type     body, decode, strict, preconditions
//!   default   values that are missing                    default
//!   admit     plugins, then policies and webhooks        admit
//!   prepare   what the server sets and keeps             prepare, allocator
//!   validate  owners of fields, rules, last refusals     validate
//!                                │
//!   commit    the storage version, or a preview          cluster/commit.rs
//! ```
//!
//! `object_write` is the value, and the order of its stages. Each stage is a file: `decode` (with `body`, the `strict` decoding and the
//! `preconditions`), `default`, `admit`, `prepare` (with the `allocator` of addresses) and `validate`; `unchanged` says whether there is
//! anything to store.
//!
//! What differs between built-in kinds and custom resources in a write is behind the trait of `kind`, which `built_in` and `custom`
//! implement and `kinds` chooses; services and definitions have steps of their own in `prepare` and `validate`. A controller has no
//! request: no webhooks review its objects, nobody owns their fields, and it needs no role. Policies see the request that `controller`
//! makes up.

mod admit;
mod allocator;
pub(crate) mod body;
mod built_in;
mod controller;
mod custom;
pub(crate) mod decode;
mod default;
mod kind;
mod kinds;
mod object_write;
mod preconditions;
mod prepare;
pub(crate) mod strict;
mod unchanged;
mod validate;

pub(crate) use allocator::ServiceAllocator;
pub(crate) use custom::wrong_embedded;
pub(crate) use kind::{Kind, unconvertible};
pub(crate) use kinds::kind_of;
pub(crate) use object_write::{ObjectWrite, Replaced, WriteContext, Writer};
pub(crate) use preconditions::{check_versioned, wrong_uid};
