//! How long things take.

use std::time::Duration;

/// Nothing is to do any more when the operator has not changed the state for this long.
pub(super) const QUIET: Duration = Duration::from_secs(90);
/// What a slow controller of the cluster takes.
pub(super) const SLOW: Duration = Duration::from_secs(600);
