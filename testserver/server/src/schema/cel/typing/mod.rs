//! Types of expressions: a rule that a genuine server's checker refuses is refused with its messages.
//!
//! `position` finds the place of every node in the text, `signature` has the functions, `unify` decides which arguments fit, `infer` walks the expression, `literals` checks constant arguments afterwards.

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
