//! Admission webhooks: which are called, with what, and what their responses do.
//!
//! `webhooks` registers them; `requests`, `matching`, `refusals`, `mutation` and `configurations` have the cases.

mod configurations;
mod matching;
mod mutation;
mod refusals;
mod requests;
mod webhooks;

use crate::case::Case;

pub(in crate::area) use webhooks::{Says, hook, only, rule, validating};

pub(crate) fn cases() -> Vec<Case> {
    [requests::cases(), matching::cases(), refusals::cases(), mutation::cases(), configurations::cases()]
        .concat()
}
