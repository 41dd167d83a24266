//! When CronJobs run: schedules and time zones.

use crate::schema::golang;

/// Five fields, or a name such as `@daily`.
pub(super) fn schedule(text: &str) -> Option<String> {
    const NAMED: [&str; 7] =
        ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];
    if text.contains("TZ=") {
        return Some("cannot use TZ or CRON_TZ in schedule, use timeZone field instead".to_owned());
    }
    if let Some(period) = text.strip_prefix("@every ") {
        let why = || format!("failed to parse duration {text}: time: invalid duration {period:?}");
        return (!golang::is_duration(period)).then(why);
    }
    if text.starts_with('@') {
        return (!NAMED.contains(&text)).then(|| format!("unrecognized descriptor: {text}"));
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Some(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    let parts =
        fields.iter().zip(&FIELDS).flat_map(|(field, known)| field.split(',').map(move |part| (part, known)));
    parts.filter(|(part, _)| !part.is_empty()).find_map(|(part, known)| range(part, known).err())
}

/// The numbers of a field, and their names from the lowest.
struct Field {
    min: i64,
    max: i64,
    names: &'static [&'static str],
}

const FIELDS: [Field; 5] = [
    Field { min: 0, max: 59, names: &[] },
    Field { min: 0, max: 23, names: &[] },
    Field { min: 1, max: 31, names: &[] },
    Field {
        min: 1,
        max: 12,
        names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    },
    Field { min: 0, max: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] },
];

/// A part such as `*`, `5`, `1-5/2`.
fn range(part: &str, known: &Field) -> Result<(), String> {
    let (bounds, step): (Vec<&str>, Vec<&str>) = {
        let mut steps = part.split('/');
        (steps.next().unwrap_or_default().split('-').collect(), steps.collect())
    };
    let (first, last) = match bounds[..] {
        ["*" | "?", ..] => (known.min, known.max),
        [one] => (bound(one, known)?, bound(one, known)?),
        [first, last] => (bound(first, known)?, bound(last, known)?),
        _ => return Err(format!("too many hyphens: {part}")),
    };
    let (last, step) = match step[..] {
        [] => (last, 1),
        [step] if bounds.len() == 1 => (known.max, number(step)?),
        [step] => (last, number(step)?),
        _ => return Err(format!("too many slashes: {part}")),
    };
    if first < known.min {
        return Err(format!("beginning of range ({first}) below minimum ({}): {part}", known.min));
    }
    if last > known.max {
        return Err(format!("end of range ({last}) above maximum ({}): {part}", known.max));
    }
    if first > last {
        return Err(format!("beginning of range ({first}) beyond end of range ({last}): {part}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {part}"));
    }
    Ok(())
}

fn bound(text: &str, known: &Field) -> Result<i64, String> {
    let named = known.names.iter().zip(known.min..).find(|(name, _)| text.eq_ignore_ascii_case(name));
    named.map_or_else(|| number(text), |(_, number)| Ok(number))
}

/// A number, with the words of Go for what is none.
fn number(text: &str) -> Result<i64, String> {
    text.parse::<i64>().map_err(|why| {
        let why = match why.kind() {
            std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: {why}")
    })
}

/// A name of the form `Area/Place`, or an old plain one. There is no table of all places here.
pub(super) fn time_zone(text: &str) -> Option<String> {
    const AREAS: &[&str] = &[
        "Africa",
        "America",
        "Antarctica",
        "Arctic",
        "Asia",
        "Atlantic",
        "Australia",
        "Brazil",
        "Canada",
        "Chile",
        "Etc",
        "Europe",
        "Indian",
        "Mexico",
        "Pacific",
        "US",
    ];
    const PLAIN: &[&str] = &[
        "CET",
        "CST6CDT",
        "Cuba",
        "EET",
        "EST",
        "EST5EDT",
        "Egypt",
        "Eire",
        "Factory",
        "GB",
        "GB-Eire",
        "GMT",
        "GMT+0",
        "GMT-0",
        "GMT0",
        "Greenwich",
        "HST",
        "Hongkong",
        "Iceland",
        "Iran",
        "Israel",
        "Jamaica",
        "Japan",
        "Kwajalein",
        "Libya",
        "MET",
        "MST",
        "MST7MDT",
        "NZ",
        "NZ-CHAT",
        "Navajo",
        "PRC",
        "PST8PDT",
        "Poland",
        "Portugal",
        "ROC",
        "ROK",
        "Singapore",
        "Turkey",
        "UCT",
        "UTC",
        "Universal",
        "W-SU",
        "WET",
        "Zulu",
    ];
    let inner = |c: char| c.is_ascii_alphanumeric() || "_+-/".contains(c);
    let placed = text.split_once('/').is_some_and(|(area, place)| {
        AREAS.contains(&area)
            && place.starts_with(|c: char| c.is_ascii_uppercase())
            && place.chars().all(inner)
    });
    match text {
        "" => Some("timeZone must be nil or non-empty string".to_owned()),
        _ if text.eq_ignore_ascii_case("local") => Some(
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones".to_owned(),
        ),
        _ => (!placed && !PLAIN.contains(&text)).then(|| format!("unknown time zone {text}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `v1.37` answered to each.
    #[test]
    fn schedules_are_read_as_by_genuine_servers() {
        for good in [
            "* * * JAN *",
            "* * * * MON-FRI",
            "@daily",
            "@every 1h",
            "? * * * *",
            "*-3 * * * *",
            "*/70 * * * *",
            "1/2 * * * *",
            "+1 * * * *",
            " * * * * * ",
        ] {
            assert_eq!(schedule(good), None, "{good}");
        }
        for (bad, why) in [
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("* * * * 7", "end of range (7) above maximum (6): 7"),
            ("a * * * *", "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("*/5/6 * * * *", "too many slashes: */5/6"),
            ("@foo", "unrecognized descriptor: @foo"),
            ("@every x", "failed to parse duration @every x: time: invalid duration \"x\""),
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("1,2,x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"),
            ("-1 * * * *", "failed to parse int from : strconv.Atoi: parsing \"\": invalid syntax"),
            ("0-70 * * * *", "end of range (70) above maximum (59): 0-70"),
            (
                "99999999999999999999 * * * *",
                "failed to parse int from 99999999999999999999: strconv.Atoi: parsing \"99999999999999999999\": value out of range",
            ),
            ("CRON_TZ=UTC * * * * *", "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
        ] {
            assert_eq!(schedule(bad).as_deref(), Some(why), "{bad}");
        }
    }

    #[test]
    fn zones_are_places_or_old_names() {
        for good in [
            "UTC",
            "Etc/UTC",
            "Europe/Berlin",
            "EST5EDT",
            "Etc/GMT+5",
            "W-SU",
            "America/Argentina/Buenos_Aires",
        ] {
            assert_eq!(time_zone(good), None, "{good}");
        }
        for bad in ["", "utc", "Local", "europe/berlin", "../x", "/x", "Europe", "Nowhere/X"] {
            assert!(time_zone(bad).is_some(), "{bad}");
        }
    }
}
