use jiff::Timestamp;
use serde_json::Value;

/// Seconds between two timestamps; `None` when one is invalid.
pub(super) fn seconds_since(from: &Value, now: &str) -> Option<u64> {
    let (from, now): (Timestamp, Timestamp) = (from.as_str()?.parse().ok()?, now.parse().ok()?);
    u64::try_from(now.as_second() - from.as_second()).ok()
}
