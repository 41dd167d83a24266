//! The text that a quantity has in an object of a built-in kind after a genuine server has read it.
//!
//! A number that needs no change keeps its text (`+1`, `007`); others get one canonical text (`2000m` is `2`). Decimal numbers have any
//! size.

use super::quantity::Quantity;

const WRONG_FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const WRONG_SUFFIX: &str = "unable to parse quantity's suffix";
const DECIMAL: [(&str, i64); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// The most digits of a number that keeps its text.
const SHORT: usize = 18;

/// The text of a quantity.
///
/// # Errors
/// What the genuine server says of a text that is none.
pub(crate) fn canonical(text: &str) -> Result<String, &'static str> {
    normalized(text, -9)
}

/// The same for an amount of a resource list, which is rounded up to thousandths.
pub(crate) fn canonical_resource(text: &str) -> Result<String, &'static str> {
    normalized(text, -3)
}

fn normalized(text: &str, smallest: i64) -> Result<String, &'static str> {
    let text = text.trim();
    if text.is_empty() {
        return Err(WRONG_FORMAT);
    }
    let parts = split(text)?;
    let (negative, number) = (parts.sign == "-", format!("{}{}", parts.whole, parts.fraction));
    let digits = number.trim_start_matches('0');
    if BINARY.contains(&parts.suffix) {
        let quantity = Quantity::parse(text).unwrap_or(Quantity::ZERO);
        let number: u64 = digits.parse().unwrap_or(0);
        // Binary numbers are limited to 63 bits.
        let keeps_text = parts.fraction.is_empty() && !number.is_multiple_of(1024) && !quantity.is_largest();
        let rounded = if smallest == -3 { quantity.rounded_to_milli() } else { quantity };
        return Ok(if keeps_text { text.into() } else { rounded.to_string() });
    }
    let (power, exponent_form) = power(parts.suffix)?;
    if digits.is_empty() {
        return Ok("0".into());
    }
    let exponent = power - i64::try_from(parts.fraction.len()).unwrap_or(i64::MAX);
    let whole = !parts.whole.trim_start_matches('0').is_empty();
    if whole && digits.len() <= SHORT && exponent % 3 == 0 && exponent >= smallest && !digits.ends_with("000")
    {
        return Ok(text.into());
    }
    let (digits, exponent) = grouped(rounded(digits, exponent, smallest));
    let sign = if negative { "-" } else { "" };
    let suffix = match DECIMAL.iter().find(|(_, power)| *power == exponent) {
        _ if exponent_form && exponent != 0 => format!("e{exponent}"),
        // Genuine servers print no suffix for numbers beyond the largest one.
        Some((suffix, _)) if !exponent_form => (*suffix).to_owned(),
        _ => String::new(),
    };
    Ok(format!("{sign}{digits}{suffix}"))
}

struct Parts<'t> {
    sign: &'t str,
    whole: &'t str,
    fraction: &'t str,
    suffix: &'t str,
}

fn split(text: &str) -> Result<Parts<'_>, &'static str> {
    let (sign, rest) = text.split_at(usize::from(text.starts_with(['+', '-'])));
    let (whole, rest) = digits(rest);
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => digits(rest),
        None => ("", rest),
    };
    let letters = suffix.trim_start_matches(|c: char| "eEinumkKMGTP".contains(c));
    let number = letters.strip_prefix(['+', '-']).unwrap_or(letters);
    if !digits(number).1.is_empty() {
        return Err(WRONG_FORMAT);
    }
    Ok(Parts { sign, whole, fraction, suffix })
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// The power of ten of a decimal suffix, and whether it is an exponent.
fn power(suffix: &str) -> Result<(i64, bool), &'static str> {
    if let Some((_, power)) = DECIMAL.iter().find(|(unit, _)| *unit == suffix) {
        return Ok((*power, false));
    }
    let exponent = suffix.strip_prefix(['e', 'E']).and_then(|number| number.parse().ok());
    exponent.map(|power: i32| (i64::from(power), true)).ok_or(WRONG_SUFFIX)
}

/// Rounds up to the smallest power.
fn rounded(digits: &str, exponent: i64, smallest: i64) -> (String, i64) {
    let Ok(beyond @ 1..) = usize::try_from(smallest - exponent) else { return (digits.to_owned(), exponent) };
    let length = digits.len().saturating_sub(beyond);
    let (leading, dropped) = digits.split_at(length);
    let up = dropped.len() < beyond.min(digits.len() + 1) || dropped.contains(|c| c != '0');
    (if up { incremented(leading) } else { leading.to_owned() }, smallest)
}

fn incremented(digits: &str) -> String {
    let nines = digits.len() - digits.trim_end_matches('9').len();
    let (head, _) = digits.split_at(digits.len() - nines);
    let mut out = head.to_owned();
    let last = out.pop().map_or('1', |digit| char::from(u8::try_from(digit).unwrap_or(b'0') + 1));
    out.push(last);
    out.extend(std::iter::repeat_n('0', nines));
    out
}

/// The same number with an exponent that is a multiple of three, as large as the zeros at the end permit.
fn grouped((mut digits, mut exponent): (String, i64)) -> (String, i64) {
    while exponent % 3 != 0 {
        digits.push('0');
        exponent -= 1;
    }
    while digits.len() > 3 && digits.ends_with("000") {
        digits.truncate(digits.len() - 3);
        exponent += 3;
    }
    (digits, exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `v1.37` made of each, in the `sizeLimit` of a volume.
    const RECORDED: &str = include_str!("recorded/quantities.json");

    #[test]
    fn texts_are_those_of_the_genuine_server() {
        let recorded: Vec<(String, String)> = serde_json::from_str(RECORDED).unwrap();
        assert!(recorded.len() > 150);
        let wrong: Vec<_> = recorded
            .iter()
            .filter_map(|(text, expected)| {
                let actual = canonical(text).unwrap_or_else(|why| format!("!{why}"));
                (actual != *expected).then(|| format!("{text:?}: {actual:?}, not {expected:?}"))
            })
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn amounts_of_resources_are_rounded_to_thousandths() {
        for (text, expected) in [
            ("1n", "1m"),
            ("0.1m", "1m"),
            ("1000u", "1m"),
            ("1.0001Ki", "1024103m"),
            ("1.1111111111", "1112m"),
            ("007", "007"),
            ("0.0000000001Ki", "1m"),
            ("0.9999", "1"),
        ] {
            assert_eq!(canonical_resource(text).as_deref(), Ok(expected), "{text}");
        }
    }
}
