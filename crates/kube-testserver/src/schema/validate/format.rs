//! String formats, as strict as the genuine server. Unknown formats are ignored.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

use base64::Engine as _;
use regex::Regex;

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
        "bsonobjectid" => |text| text.len() == 24 && hex(text),
        _ => return None,
    })
}

fn hex(text: &str) -> bool {
    text.strip_prefix('#').unwrap_or(text).bytes().all(|c| c.is_ascii_hexdigit())
}

fn date_time(text: &str) -> bool {
    // RFC 3339 requires the `T` and an offset; the parser accepts more.
    let separated = text.as_bytes().get(10).is_some_and(|c| matches!(c, b'T' | b't'));
    separated && text.parse::<jiff::Timestamp>().is_ok()
}

fn date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

/// Go durations, and any text with a number and a unit in it (as `strfmt` accepts): `1h30m`, `3 days`, `-PT1H`, not `P1Y`.
fn duration(text: &str) -> bool {
    static GO: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^[-+]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$")
            .expect("invariant: a constant pattern")
    });
    static PART: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?i)\d+\s*((ns|us|µs|ms|s|m|h|hr|d|w|wk)([^a-zµ]|$)|nano|micro|milli|sec|min|hour|day|week)",
        )
        .expect("invariant: a constant pattern")
    });
    GO.is_match(text) || PART.is_match(text)
}

fn byte(text: &str) -> bool {
    !text.is_empty() && base64::engine::general_purpose::STANDARD.decode(text).is_ok()
}

/// An address, alone or as `Name <address>`.
fn email(text: &str) -> bool {
    let address = match text.strip_suffix('>').and_then(|t| t.rsplit_once('<')) {
        Some((_, address)) => address,
        None => text,
    };
    let (local, domain) = address.rsplit_once('@').unwrap_or_default();
    let plain = |part: &str| {
        !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || "<>@(),;:\"".contains(c))
    };
    plain(local) && plain(domain)
}

/// Labels of at most 63 characters; the last of several has at least two, all letters.
fn hostname(text: &str) -> bool {
    let label = |l: &str| {
        let ends = |c: Option<u8>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        l.len() <= 63
            && ends(l.bytes().next())
            && ends(l.bytes().next_back())
            && l.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-')
    };
    let top =
        text.rsplit_once('.').is_none_or(|(_, t)| t.len() >= 2 && t.bytes().all(|c| c.is_ascii_alphabetic()));
    text.len() <= 255 && top && text.split('.').all(label)
}

/// Leading zeros are accepted.
fn ipv4(text: &str) -> bool {
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
    let Ok(address) = address.parse::<IpAddr>() else { return false };
    let most = if address.is_ipv4() { 32 } else { 128 };
    bits.bytes().all(|c| c.is_ascii_digit()) && bits.parse::<u8>().is_ok_and(|b| b <= most)
}

fn mac(text: &str) -> bool {
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
    if text.starts_with('/') {
        return true;
    }
    let Some((scheme, _)) = text.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// With or without hyphens, in either case.
fn uuid(text: &str, version: Option<char>) -> bool {
    let digits = text.replace('-', "");
    let plain = digits.len() == 32 && digits.bytes().all(|c| c.is_ascii_hexdigit());
    let hyphens: Vec<_> = text.match_indices('-').map(|(i, _)| i).collect();
    plain
        && (hyphens.is_empty() || hyphens == [8, 13, 18, 23])
        && version.is_none_or(|v| digits.as_bytes().get(12).is_some_and(|c| char::from(*c) == v))
}
