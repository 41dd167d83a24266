//! How long anything waits at most, whatever a user asks for.

use std::time::Duration;

/// Longer limits are cut to this one: `Duration::MAX`, which is how users say "never", cannot be added to a time. No process waits ten
/// years.
pub(crate) const MAX_DELAY: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
