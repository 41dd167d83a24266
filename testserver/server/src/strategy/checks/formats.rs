//! Texts that must have a form: names, addresses, paths.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::object::{
    names,
    schedule::{Schedule, time_zone},
};

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
];

/// The name, if it is one of a format.
pub(super) fn known(name: &str) -> Option<&'static str> {
    NAMES.iter().copied().find(|known| *known == name)
}

/// What is wrong with the text.
pub(super) fn problem(format: &str, text: &str) -> Option<String> {
    let unless = |good: bool, why: &str| (!good).then(|| why.to_owned());
    match format {
        "subdomain" => names::subdomain(text),
        "caseless-subdomain" => names::subdomain(&text.to_lowercase()),
        "label" => names::dns_label(text),
        "service-name" => names::service_name(text),
        "path-segment" => names::path_segment(text),
        "label-key" | "qualified-resource" => names::qualified_name(text),
        "label-value" => names::label_value(text),
        "port-name" => port_name(text),
        "ip" => unless(is_ip(text), "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        "cidr" => unless(is_cidr(text), "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
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
        "c-identifier" => {
            unless(is_c_identifier(text), "a valid C identifier must start with alphabetic character or '_'")
        }
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
        "time-zone" => time_zone(text).is_none().then(|| format!("unknown time zone {text}")),
        _ => None,
    }
}

fn percent(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('%').filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))?;
    digits.parse().ok()
}

fn is_ip(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok() && !text.contains('%')
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let digits = bits.bytes().all(|b| b.is_ascii_digit()) && (bits == "0" || !bits.starts_with('0'));
    let Some(bits) = bits.parse::<u32>().ok().filter(|_| digits) else { return false };
    address.parse::<Ipv4Addr>().is_ok() && bits <= 32 || address.parse::<Ipv6Addr>().is_ok() && bits <= 128
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

/// A schedule of a CronJob, whose zone has a field of its own.
fn cron(text: &str) -> Option<String> {
    if text.starts_with("TZ=") || text.starts_with("CRON_TZ=") {
        return Some("cannot use TZ or CRON_TZ in schedule, use timeZone field instead".to_owned());
    }
    Schedule::parse(text).err()
}
