//! `ResourceQuota`: counts the objects and resources of a namespace and refuses more than its quotas permit.
//!
//! `usage` says what an object uses, `scope` which pods a quota counts, `ledger` keeps the sums, and `check` compares them.

mod check;
mod ledger;
mod scope;
mod usage;

pub(super) use check::validate;
pub(crate) use ledger::QuotaLedger;
