//! Texts that must have a form: names, addresses, paths.

use std::net::{IpAddr, Ipv4Addr};

use crate::object::names;

const NAMES: &[&str] = &[
    "subdomain",
    "label",
    "service-name",
    "path-segment",
    "label-key",
    "label-value",
    "port-name",
    "ip",
    "cidr",
    "env-name",
    "config-key",
    "absolute-path",
    "no-dot-dot",
    "cron",
    "host",
    "uuid",
    "percent",
    "max-percent",
    "domain-path",
    "resource-name",
    "c-identifier",
    "caseless-subdomain",
    "resource-pool-name",
    "qualified-resource",
    "relative-path",
    "extended-resource-name",
    "trimmed",
    "http-header",
    "time-zone",
    "kind-name",
    "no-slash",
    "iscsi-name",
    "optional-label",
    "attribute-name",
    "finalizer",
];

const C_IDENTIFIER: &str = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' \
    (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";
const CASELESS: &str = "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an \
    alphanumeric character (e.g. 'Example.com', regex used for validation is \
    '[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*')";

/// The name, if it is one of a format.
pub(super) fn known(name: &str) -> Option<&'static str> {
    NAMES.iter().copied().find(|known| *known == name)
}

/// What is wrong with the text.
pub(super) fn problem(format: &str, text: &str) -> Option<String> {
    let unless = |good: bool, why: &str| (!good).then(|| why.to_owned());
    match format {
        "subdomain" => names::subdomain(text),
        "caseless-subdomain" => names::subdomain(&text.to_lowercase()).map(|_| CASELESS.to_owned()),
        "label" => names::dns_label(text),
        "optional-label" => Some(text).filter(|text| !text.is_empty()).and_then(names::dns_label),
        "kind-name" => names::service_name(&text.to_lowercase())
            .map(|why| format!("may have mixed case, but should otherwise match: {why}")),
        "finalizer" => unless(
            text.contains('/') || matches!(text, "kubernetes" | "orphan" | "foregroundDeletion"),
            "name is neither a standard finalizer name nor is it fully qualified",
        ),
        "no-slash" => unless(!text.contains('/'), "must not contain '/'"),
        "iscsi-name" => unless(is_iscsi_name(text), "must be valid format"),
        "attribute-name" => attribute_name(text),
        "service-name" => names::service_name(text),
        "path-segment" => names::path_segment(text),
        "label-key" | "qualified-resource" => names::qualified_name(text),
        "label-value" => names::label_value(text),
        "port-name" => port_name(text),
        "ip" => address(text).map(ToOwned::to_owned),
        "cidr" => range(text).map(ToOwned::to_owned),
        "env-name" => unless(
            !text.is_empty() && text.chars().all(|c| (' '..='~').contains(&c) && c != '='),
            "a valid environment variable name must consist only of printable ASCII characters other than '='",
        ),
        "config-key" => config_key(text),
        "absolute-path" => unless(text.starts_with('/'), "must be an absolute path"),
        "relative-path" => unless(!text.starts_with('/'), "must be a relative path"),
        "no-dot-dot" => unless(!text.split('/').any(|part| part == ".."), "must not contain '..'"),
        "host" => names::subdomain(text.strip_prefix("*.").unwrap_or(text)),
        "uuid" => unless(is_uuid(text), "must be a lowercase UUID in 8-4-4-4-12 format"),
        "domain-path" => domain_path(text),
        "resource-name" => names::qualified_name(text).or_else(|| {
            unless(
                text.contains('/') || names::is_native_resource(text),
                "must be a standard resource type or fully qualified",
            )
        }),
        "extended-resource-name" => names::qualified_name(text),
        "c-identifier" => unless(is_c_identifier(text), C_IDENTIFIER),
        "resource-pool-name" => text.split('/').find_map(names::subdomain),
        "trimmed" => unless(text.trim() == text, "must not have leading or trailing whitespace"),
        "http-header" => unless(
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
            "a valid HTTP header must consist of alphanumeric characters or '-'",
        ),
        "percent" => unless(
            percent(text).is_some(),
            "a valid percent string must be a numeric string followed by an ending '%'",
        ),
        "max-percent" => {
            unless(percent(text).is_none_or(|number| number <= 100), "must not be greater than 100%")
        }
        "cron" => cron(text),
        "time-zone" => unless(is_time_zone(text), "unknown time zone"),
        _ => None,
    }
}

fn percent(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('%').filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))?;
    digits.parse().ok()
}

fn address(text: &str) -> Option<&'static str> {
    match text.parse::<IpAddr>() {
        Ok(ip) if is_mapped(ip) => Some("must not be an IPv4-mapped IPv6 address"),
        Ok(_) if !text.contains('%') => None,
        _ if without_zeros(text).parse::<Ipv4Addr>().is_ok() => Some("must not have leading 0s"),
        _ => Some("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
    }
}

fn range(text: &str) -> Option<&'static str> {
    const WRONG: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
    let Some((address, length)) = text.split_once('/') else { return Some(WRONG) };
    let (first, fixed) = (without_zeros(address).parse::<IpAddr>(), without_zeros(length).parse::<u32>());
    let (Ok(first), Ok(fixed)) = (first, fixed) else { return Some(WRONG) };
    let (all, more) = match first {
        IpAddr::V4(ip) => (32, ip.to_bits().checked_shl(fixed).unwrap_or(0) != 0),
        IpAddr::V6(ip) => (128, ip.to_bits().checked_shl(fixed).unwrap_or(0) != 0),
    };
    match () {
        () if fixed > all || length.starts_with('+') => Some(WRONG),
        () if is_mapped(first) => Some("must not have an IPv4-mapped IPv6 address"),
        () if address.parse::<IpAddr>().is_err() || length.len() > 1 && length.starts_with('0') => {
            Some("must not have leading 0s in IP or prefix length")
        }
        () if more => Some("must not have bits set beyond the prefix length"),
        () => None,
    }
}

fn is_mapped(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some())
}

/// The decimal numbers of an address without zeros before them.
fn without_zeros(text: &str) -> String {
    let number = |part: &str| match part.trim_start_matches('0') {
        "" if !part.is_empty() => "0".to_owned(),
        rest => rest.to_owned(),
    };
    match text.contains(':') {
        true => text.to_owned(),
        false => text.split('.').map(number).collect::<Vec<_>>().join("."),
    }
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f' | '-'))
}

fn is_c_identifier(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
}

/// The name of an iSCSI device: of a naming authority since a month, or a number with 16 or 32 digits.
fn is_iscsi_name(text: &str) -> bool {
    let digits = |text: &str, count: usize| text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    let number =
        |text: &str, count: usize| text.len() == count && text.bytes().all(|b| b.is_ascii_alphanumeric());
    let authority = |text: &str| {
        let (date, rest) = text.split_once('.')?;
        let (year, month) = date.split_once('-')?;
        let (domain, own) = rest.split_once(':')?;
        let named = !domain.is_empty()
            && domain.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'))
            && !own.is_empty()
            && !own.contains(|c: char| c.is_whitespace() || ",;*&$|".contains(c));
        Some(digits(year, 4) && digits(month, 2) && named)
    };
    match text.split_once('.') {
        Some(("iqn", rest)) => authority(rest).unwrap_or(false),
        Some(("eui", rest)) => number(rest, 16),
        Some(("naa", rest)) => number(rest, 32),
        _ => false,
    }
}

/// The name of an attribute of a device, with its domain.
fn attribute_name(text: &str) -> Option<String> {
    let Some((domain, name)) = text.split_once('/') else {
        return Some("a fully qualified name must be a domain and a name separated by a slash".to_owned());
    };
    match (domain, name.split('/').next().unwrap_or_default()) {
        ("", _) => Some("prefix must not be empty".to_owned()),
        (_, "") => Some("name must not be empty".to_owned()),
        (domain, name) => names::subdomain(domain)
            .map(|why| format!("prefix: {why}"))
            .or_else(|| (!is_c_identifier(name)).then(|| C_IDENTIFIER.to_owned())),
    }
}

/// A name of a port: lower case letters, digits and single hyphens, with a letter among them.
fn port_name(text: &str) -> Option<String> {
    let why = if text.len() > 15 {
        "must be no more than 15 characters"
    } else if text.is_empty()
        || !text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    {
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    } else if !text.bytes().any(|b| b.is_ascii_lowercase()) {
        "must contain at least one letter (a-z)"
    } else if text.contains("--") {
        "must not contain consecutive hyphens"
    } else if text.starts_with('-') || text.ends_with('-') {
        "must not begin or end with a hyphen"
    } else {
        return None;
    };
    Some(why.to_owned())
}

fn config_key(text: &str) -> Option<String> {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let good = !text.is_empty()
        && text.len() <= 253
        && text.chars().all(inner)
        && text != "."
        && !text.starts_with("..");
    (!good).then(|| "a valid config key must consist of alphanumeric characters, '-', '_' or '.'".to_owned())
}

/// A domain and a path, such as `example.com/controller`.
fn domain_path(text: &str) -> Option<String> {
    let Some((domain, path)) =
        text.split_once('/').filter(|(domain, path)| !domain.is_empty() && !path.is_empty())
    else {
        return Some("must be a domain-prefixed path (such as \"acme.io/foo\")".to_owned());
    };
    let inner = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c);
    names::subdomain(domain).or_else(|| (!path.chars().all(inner)).then(|| "Invalid path".to_owned()))
}

/// Five fields, or a name such as `@daily`.
fn cron(text: &str) -> Option<String> {
    let named = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"]
        .contains(&text)
        || text.strip_prefix("@every ").is_some_and(crate::schema::golang::is_duration);
    let fields: Vec<&str> = text.split_whitespace().collect();
    let ranges = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];
    let good = fields.len() == 5
        && fields
            .iter()
            .zip(ranges)
            .all(|(field, range)| field.split(',').all(|part| is_cron_part(part, range)));
    (!named && !good).then(|| format!("expected exactly 5 fields, found {}: {fields:?}", fields.len()))
}

fn is_cron_part(part: &str, (min, max): (u32, u32)) -> bool {
    const WORDS: [&str; 19] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "sun", "mon",
        "tue", "wed", "thu", "fri", "sat",
    ];
    let number = |text: &str| {
        text.parse::<u32>().is_ok_and(|number| (min..=max).contains(&number))
            || WORDS.contains(&text.to_lowercase().as_str())
    };
    let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
    let stepped = step.is_none_or(|step| step.parse::<u32>().is_ok_and(|step| step > 0));
    let ranged = matches!(range, "*" | "?")
        || range.split_once('-').map_or_else(|| number(range), |(from, to)| number(from) && number(to));
    stepped && ranged
}

/// Names of the form `Area/Place`, and the plain ones; there is no table of all places here.
fn is_time_zone(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || "_+-/".contains(c);
    let plain = [
        "UTC",
        "GMT",
        "EST",
        "MST",
        "HST",
        "CET",
        "MET",
        "EET",
        "WET",
        "UCT",
        "Zulu",
        "Universal",
        "Japan",
        "Israel",
        "Egypt",
        "Turkey",
    ];
    text.len() < 64
        && text.chars().all(inner)
        && (plain.contains(&text) || text.contains('/') && !text.starts_with('/'))
}
