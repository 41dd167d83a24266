//! Types of expressions: a rule that a genuine server's checker refuses is refused with its messages.
//!
//! - `token`, `position`: the place of every node in the text, for messages.
//! - `kind`: the types; `functions`, `signature`: those of calls; `unify`: which arguments fit.
//! - `infer`: walks the expression and has the type of every part (`types`); `literals`: checks constant arguments afterwards.
//! - `failure`, `refusal`: what is wrong, as the genuine server says it.

mod failure;
mod functions;
mod infer;
mod kind;
mod literals;
mod position;
mod refusal;
mod signature;
mod token;
mod types;
mod unify;

pub(super) use infer::{check, returned};
pub(super) use kind::Kind;
pub(super) use refusal::{Refusal, Wanted};
pub(super) use signature::Signature;
pub(super) use types::Types;
