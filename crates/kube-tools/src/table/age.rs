//! Ages as kubectl prints them.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// The age at `now` of something that happened at `since`, as `kubectl get` prints it: `<unknown>` without a time.
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
/// use kube_tools::table::age;
///
/// let created = Time("2026-05-06T07:00:00Z".parse()?);
/// assert_eq!(age(Some(&created), "2026-05-06T07:05:30Z".parse()?), "5m30s");
/// assert_eq!(age(None, "2026-05-06T07:05:30Z".parse()?), "<unknown>");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn age(since: Option<&Time>, now: Timestamp) -> String {
    since.map_or_else(|| "<unknown>".to_owned(), |since| human_duration(now.duration_since(since.0)))
}

/// A duration in at most two units, fewer the longer it is: `duration.HumanDuration` of `k8s.io/apimachinery`.
///
/// A year has 365 days. A second less than zero counts as zero, because clocks differ; more is `<invalid>`.
///
/// ```
/// use jiff::SignedDuration;
/// use kube_tools::table::human_duration;
///
/// assert_eq!(human_duration(SignedDuration::from_secs(90)), "90s");
/// assert_eq!(human_duration(SignedDuration::from_hours(50)), "2d2h");
/// assert_eq!(human_duration(SignedDuration::from_secs(-5)), "<invalid>");
/// ```
pub fn human_duration(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    match () {
        () if seconds < -1 => "<invalid>".to_owned(),
        () if seconds < 0 => "0s".to_owned(),
        () if seconds < 2 * 60 => format!("{seconds}s"),
        () if minutes < 10 => with_rest((minutes, "m"), (seconds % 60, "s")),
        () if minutes < 3 * 60 => format!("{minutes}m"),
        () if hours < 8 => with_rest((hours, "h"), (minutes % 60, "m")),
        () if hours < 2 * 24 => format!("{hours}h"),
        () if days < 8 => with_rest((days, "d"), (hours % 24, "h")),
        () if days < 2 * 365 => format!("{days}d"),
        () if years < 8 => with_rest((years, "y"), (days % 365, "d")),
        () => format!("{years}y"),
    }
}

/// `5m30s`, and `5m` without a rest.
fn with_rest((count, unit): (i64, &str), (rest, smaller): (i64, &str)) -> String {
    if rest == 0 { format!("{count}{unit}") } else { format!("{count}{unit}{rest}{smaller}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_units_change_where_those_of_kubectl_do() {
        const MINUTE: i64 = 60;
        const HOUR: i64 = 60 * MINUTE;
        const DAY: i64 = 24 * HOUR;
        const YEAR: i64 = 365 * DAY;
        for (seconds, text) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (2 * MINUTE - 1, "119s"),
            (2 * MINUTE, "2m"),
            (2 * MINUTE + 1, "2m1s"),
            (10 * MINUTE - 1, "9m59s"),
            (10 * MINUTE + 5, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + MINUTE, "3h1m"),
            (8 * HOUR - 1, "7h59m"),
            (8 * HOUR + 59 * MINUTE, "8h"),
            (2 * DAY - 1, "47h"),
            (2 * DAY, "2d"),
            (2 * DAY + HOUR, "2d1h"),
            (8 * DAY - 1, "7d23h"),
            (8 * DAY + 23 * HOUR, "8d"),
            (2 * YEAR - 1, "729d"),
            (2 * YEAR, "2y"),
            (2 * YEAR + DAY, "2y1d"),
            (8 * YEAR - 1, "7y364d"),
            (8 * YEAR + 300 * DAY, "8y"),
        ] {
            assert_eq!(human_duration(SignedDuration::from_secs(seconds)), text, "{seconds}");
        }
        assert_eq!(human_duration(SignedDuration::from_millis(-1999)), "0s");
        assert_eq!(human_duration(SignedDuration::MIN), "<invalid>");
        assert!(human_duration(SignedDuration::MAX).ends_with('y'));
    }
}
