//! What a verification has found.
//!
//! `finding` is one complaint, `allow` excuses those that the user knows; `summary` is the result of all plans, grouped by cause, which
//! `text` prints and `json` writes.

mod allow;
mod finding;
mod json;
mod summary;
mod text;

pub use finding::Finding;
pub use summary::Report;

pub(crate) use allow::Allows;
pub(crate) use summary::Failure;
