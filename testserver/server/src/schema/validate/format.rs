//! String formats, as strict as the genuine server. Unknown formats are ignored.

use std::net::Ipv6Addr;
use std::sync::LazyLock;

use base64::{
    Engine as _,
    engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig},
};
use regex::Regex;

use crate::{object::names, schema::golang};

/// The check of a format; `None` for formats of other types and unknown ones.
pub(super) fn known(format: &str) -> Option<fn(&str) -> bool> {
    Some(match format {
        "date-time" | "datetime" => date_time,
        "date" => date,
        "duration" => duration,
        "byte" => byte,
        "email" => email,
        "hostname" => hostname,
        "ipv4" => ipv4,
        "ipv6" => ipv6,
        "cidr" => cidr,
        "mac" => mac,
        "uri" => uri,
        "uuid" => |text| uuid(text, None),
        "uuid3" => |text| uuid(text, Some('3')),
        "uuid4" => |text| uuid(text, Some('4')),
        "uuid5" => |text| uuid(text, Some('5')),
        "hexcolor" => |text| matches!(text.strip_prefix('#').unwrap_or(text).len(), 3 | 6) && hex(text),
        "rgbcolor" => rgb_color,
        "creditcard" => credit_card,
        "isbn" => |text| isbn10(text) || isbn13(text),
        "isbn10" => isbn10,
        "isbn13" => isbn13,
        "ssn" => social_security_number,
        "k8s-short-name" => |text| names::dns_label(text).is_none(),
        "k8s-long-name" => |text| names::subdomain(text).is_none(),
        "bsonobjectid" => |text| text.len() == 24 && hex(text),
        _ => return None,
    })
}

/// Whether values of the named JSON type can have this format.
pub(crate) fn is_recognized(ty: &str, format: &str) -> bool {
    match ty {
        "string" => format == "password" || known(format).is_some(),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => true,
    }
}

fn hex(text: &str) -> bool {
    text.strip_prefix('#').unwrap_or(text).bytes().all(|c| c.is_ascii_hexdigit())
}

pub(in crate::schema) fn date_time(text: &str) -> bool {
    static TIME: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.,][0-9]+)?([Zz]|[-+]([01][0-9]|2[0-3]):[0-5][0-9])$",
        )
        .expect("invariant: a constant pattern")
    });
    TIME.is_match(text) && date(&text[..10])
}

fn date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

/// Go durations, and any text with a number and a unit in it (as `strfmt` accepts): `1h30m`, `3 days`, `-PT1H`, not `P1Y`.
fn duration(text: &str) -> bool {
    static PART: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?i)\d+\s*((ns|us|µs|ms|s|m|h|hr|d|w|wk)([^a-zµ]|$)|nano|micro|milli|sec|min|hour|day|week)",
        )
        .expect("invariant: a constant pattern")
    });
    golang::is_duration(text) || PART.is_match(text)
}

fn byte(text: &str) -> bool {
    // Go ignores the unused bits of the last character.
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
    );
    !text.is_empty() && LENIENT.decode(text).is_ok()
}

/// An address, alone or as `Name <address>`.
fn email(text: &str) -> bool {
    // A comment may follow.
    let text = text
        .split_once(" (")
        .filter(|(_, comment)| comment.ends_with(')'))
        .map_or(text, |(address, _)| address);
    let address = match text.strip_suffix('>').and_then(|t| t.rsplit_once('<')) {
        Some((_, address)) => address,
        None => text,
    };
    let (local, domain) = address.rsplit_once('@').unwrap_or_default();
    let name = text[..text.len() - address.len()].trim_end_matches(['<', '>']);
    if name.contains(',') {
        return false;
    }
    let dotted = |part: &str| part.split('.').all(|atom| !atom.is_empty());
    let plain = |part: &str| {
        !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || "<>@(),;:\"".contains(c))
    };
    let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    (quoted || plain(local) && dotted(local)) && plain(domain) && (domain.starts_with('[') || dotted(domain))
}

/// Labels of at most 63 characters; the last of several has at least two, all letters.
fn hostname(text: &str) -> bool {
    let label = |l: &str| {
        let inner = |c: char| c.is_alphanumeric();
        l.len() <= 63 && l.starts_with(inner) && l.chars().all(|c| inner(c) || c == '-')
    };
    let top =
        text.rsplit_once('.').is_none_or(|(_, t)| t.len() >= 2 && t.bytes().all(|c| c.is_ascii_alphabetic()));
    text.len() <= 255 && top && text.split('.').all(label)
}

/// Leading zeros are accepted, and IPv4 addresses within IPv6.
fn ipv4(text: &str) -> bool {
    if text.parse::<Ipv6Addr>().is_ok_and(|address| address.to_ipv4_mapped().is_some()) {
        return true;
    }
    let octet = |o: &str| {
        !o.is_empty() && o.len() <= 4 && o.bytes().all(|c| c.is_ascii_digit()) && o.parse::<u8>().is_ok()
    };
    text.split('.').count() == 4 && text.split('.').all(octet)
}

fn ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

fn cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match address.parse::<Ipv6Addr>() {
        Ok(_) => 128,
        Err(_) if ipv4(address) => 32,
        Err(_) => return false,
    };
    bits.bytes().all(|c| c.is_ascii_digit()) && bits.parse::<u8>().is_ok_and(|b| b <= most)
}

fn mac(text: &str) -> bool {
    let digits: Vec<&str> = text.split('.').collect();
    let dotted = matches!(digits.len(), 3 | 4) && digits.iter().all(|part| part.len() == 4 && hex(part));
    if dotted || text.len() == 12 && hex(text) {
        return true;
    }
    let separator = if text.contains('-') { '-' } else { ':' };
    let parts: Vec<_> = text.split(separator).collect();
    matches!(parts.len(), 6 | 8 | 20) && parts.iter().all(|p| p.len() == 2 && hex(p))
}

/// An absolute URI, or a path from the root.
fn uri(text: &str) -> bool {
    let allowed = |c: char| !c.is_control() && c != ' ';
    if !text.chars().all(allowed) {
        return false;
    }
    let digits = |part: &str| part.get(..2).is_some_and(|two| two.bytes().all(|c| c.is_ascii_hexdigit()));
    let path = text.split('?').next().unwrap_or_default();
    if !path.split('%').skip(1).all(digits) {
        return false;
    }
    if text.starts_with('/') {
        return true;
    }
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let authority =
        rest.strip_prefix("//").and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let port = authority.rsplit_once(']').map_or(authority, |(_, after)| after).rsplit_once(':');
    if port.is_some_and(|(_, port)| !port.bytes().all(|c| c.is_ascii_digit())) {
        return false;
    }
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// Each hyphen may be missing, in either case. Versions 4 and 5 are of the variant of RFC 4122.
fn uuid(text: &str, version: Option<char>) -> bool {
    static SHAPE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$")
            .expect("invariant: a constant pattern")
    });
    let digits = text.replace('-', "").to_lowercase();
    let at = |i: usize| digits.chars().nth(i).unwrap_or_default();
    SHAPE.is_match(text)
        && version.is_none_or(|version| {
            at(12) == version && (version == '3' || matches!(at(16), '8' | '9' | 'a' | 'b'))
        })
}

fn rgb_color(text: &str) -> bool {
    let inner = text.strip_prefix("rgb(").and_then(|text| text.strip_suffix(')')).unwrap_or_default();
    let parts: Vec<&str> = inner.split(',').map(str::trim).collect();
    parts.len() == 3 && parts.iter().all(|part| part.parse::<u8>().is_ok())
}

/// The digits of a number; spaces and hyphens are ignored.
fn digits(text: &str) -> Option<Vec<u32>> {
    text.chars().filter(|c| !matches!(c, '-' | ' ')).map(|c| c.to_digit(10)).collect()
}

fn credit_card(text: &str) -> bool {
    let Some(digits) = digits(text) else { return false };
    let double = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let sum: u32 =
        digits.iter().rev().enumerate().map(|(i, d)| if i % 2 == 1 { double(*d) } else { *d }).sum();
    (13..=19).contains(&digits.len()) && sum.is_multiple_of(10)
}

fn isbn10(text: &str) -> bool {
    let text = text.replace(['-', ' '], "");
    let digit = |(i, c): (usize, char)| if i == 9 && c == 'X' { Some(10) } else { c.to_digit(10) };
    let Some(digits) = text.chars().enumerate().map(digit).collect::<Option<Vec<u32>>>() else {
        return false;
    };
    digits.len() == 10
        && digits.iter().zip((1..=10).rev()).map(|(d, weight)| d * weight).sum::<u32>() % 11 == 0
}

fn isbn13(text: &str) -> bool {
    let Some(digits) = digits(text) else { return false };
    let sum: u32 = digits.iter().enumerate().map(|(i, d)| d * if i % 2 == 1 { 3 } else { 1 }).sum();
    digits.len() == 13 && sum.is_multiple_of(10)
}

fn social_security_number(text: &str) -> bool {
    let shape = |c: char| if c.is_ascii_digit() { 'd' } else { c };
    matches!(text.chars().map(shape).collect::<String>().as_str(), "ddd-dd-dddd" | "ddd dd dddd")
}
