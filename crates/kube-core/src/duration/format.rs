//! Writes durations as Go does.

use std::{fmt, time::Duration};

pub(super) fn write(f: &mut fmt::Formatter<'_>, magnitude: Duration, is_negative: bool) -> fmt::Result {
    if is_negative {
        f.write_str("-")?;
    }
    let (seconds, nanos) = (magnitude.as_secs(), magnitude.subsec_nanos());
    if seconds > 0 {
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if hours > 0 || minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        write!(f, "{}", seconds % 60)?;
        return unit(f, nanos, 9, "s");
    }
    match nanos {
        0 => f.write_str("0s"),
        1..1_000 => write!(f, "{nanos}ns"),
        1_000..1_000_000 => {
            write!(f, "{}", nanos / 1_000)?;
            unit(f, nanos % 1_000, 3, "µs")
        }
        _ => {
            write!(f, "{}", nanos / 1_000_000)?;
            unit(f, nanos % 1_000_000, 6, "ms")
        }
    }
}

/// Ends a number with a fraction of `digits` digits, without zeros at its end, and the unit.
fn unit(f: &mut fmt::Formatter<'_>, fraction: u32, digits: usize, unit: &str) -> fmt::Result {
    if fraction > 0 {
        let text = format!("{fraction:0digits$}");
        write!(f, ".{}", text.trim_end_matches('0'))?;
    }
    f.write_str(unit)
}
