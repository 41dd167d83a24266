//! Times in texts, whatever their form.

/// RFC 3339, such as `2026-01-01T00:00:00Z`.
pub(super) fn is_time(text: &str) -> bool {
    text.len() >= 20 && text.as_bytes()[10] == b'T' && text.parse::<jiff::Timestamp>().is_ok()
}

/// The text with `<time>` in place of each time: by RFC 3339, or of a Unix clock since 2020, in seconds or parts of them.
pub(crate) fn without_times(text: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || ":.+-".contains(letter);
    let mut plain = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (token, after) = rest.split_at(rest.find(|letter| !is_part(letter)).unwrap_or(rest.len()));
        let time = token.trim_end_matches(['.', ':']);
        match is_time(time) {
            true => plain += &format!("<time>{}", &token[time.len()..]),
            false => plain += &without_unix_times(token),
        }
        let (other, next) = after.split_at(after.find(is_part).unwrap_or(after.len()));
        plain += other;
        rest = next;
    }
    plain
}

fn without_unix_times(token: &str) -> String {
    let mut plain = String::new();
    let mut rest = token;
    while !rest.is_empty() {
        let (other, digits) =
            rest.split_at(rest.find(|letter: char| letter.is_ascii_digit()).unwrap_or(rest.len()));
        plain += other;
        let (number, after) = split_number(digits);
        rest = after;
        if is_unix_time(number) {
            plain += "<time>";
            let (fraction, after) = split_number(after.strip_prefix('.').unwrap_or_default());
            rest = if fraction.is_empty() { rest } else { after };
        } else {
            plain += number;
        }
    }
    plain
}

/// The digits at the begin, and the rest.
fn split_number(text: &str) -> (&str, &str) {
    text.split_at(text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len()))
}

/// Between 2020 and 2040, in seconds, milliseconds, microseconds or nanoseconds.
fn is_unix_time(digits: &str) -> bool {
    let is_seconds =
        |text: &str| text.parse().is_ok_and(|seconds| (1_577_836_800_u64..2_208_988_800).contains(&seconds));
    matches!(digits.len(), 10 | 13 | 16 | 19) && is_seconds(&digits[..10])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_in_texts() {
        for (text, plain) in [
            ("1767225600", "<time>"),
            ("1767225600.25", "<time>"),
            ("1767225600123", "<time>"),
            ("run-1767225600-a", "run-<time>-a"),
            ("at 2026-01-01T00:00:00Z.", "at <time>."),
            ("\"2026-01-01T00:00:00.5+02:00\"", "\"<time>\""),
            ("{\"at\":1767225600,\"n\":3}", "{\"at\":<time>,\"n\":3}"),
            ("17672256", "17672256"),
            ("9767225600", "9767225600"),
            ("f3b0 correct horse", "f3b0 correct horse"),
            ("é1767225600é", "é<time>é"),
            ("", ""),
        ] {
            assert_eq!(without_times(text), plain, "{text}");
        }
    }
}
