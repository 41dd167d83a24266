//! Ages as `kubectl` prints them.

use std::fmt::Write;

use jiff::Timestamp;

/// The time since `then` in kubectl's format: `5s`, `2m5s`, `3h`, `4d2h`, `1y10d`.
pub(super) fn since(then: &str, now: &str) -> String {
    let (Ok(then), Ok(now)) = (then.parse::<Timestamp>(), now.parse::<Timestamp>()) else {
        return "<unknown>".into();
    };
    human(now.as_second() - then.as_second())
}

pub(super) fn human(seconds: i64) -> String {
    if seconds < -1 {
        return "<invalid>".into();
    }
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let pair = |big: i64, unit: char, small: i64, small_unit: char| {
        let mut text = format!("{big}{unit}");
        if small > 0 {
            write!(text, "{small}{small_unit}").expect("invariant: writing to a string does not fail");
        }
        text
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => pair(minutes, 'm', seconds % 60, 's'),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => pair(hours, 'h', minutes % 60, 'm'),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => pair(days, 'd', hours % 24, 'h'),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => pair(days / 365, 'y', days % 365, 'd'),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_lose_detail_as_they_grow() {
        let hour = 3600;
        let cases = [
            (0, "0s"),
            (-1, "0s"),
            (-2, "<invalid>"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (3 * hour, "3h"),
            (3 * hour + 60, "3h1m"),
            (8 * hour, "8h"),
            (48 * hour, "2d"),
            (50 * hour, "2d2h"),
            (24 * hour * 8, "8d"),
            (24 * hour * 800, "2y70d"),
            (24 * hour * 365 * 9, "9y"),
        ];
        for (seconds, text) in cases {
            assert_eq!(human(seconds), text, "{seconds}");
        }
        assert_eq!(since("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"), "60s");
        assert_eq!(since("", "2026-01-01T00:01:00Z"), "<unknown>");
    }
}
