//! What a verification has found.
//!
//! `allow` excuses what the user knows; `summary` is the result of all plans, grouped by cause, which `text` prints and `json` writes.

mod allow;
mod json;
mod summary;
mod text;

pub use summary::Report;

pub(crate) use allow::Allows;
pub(crate) use summary::Failure;
pub(crate) use text::count;
