//! Texts that must have a form: names, addresses, paths.

use std::net::{IpAddr, Ipv4Addr};

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
    "iscsi-name",
    "search-domain",
    "kind-name",
    "no-slash",
    "optional-label",
    "attribute-name",
    "finalizer",
];

/// What the permissions of a file are.
pub(super) const FILE_MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";

const C_IDENTIFIER: &str = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' \
    (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";
const CASELESS: &str = "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an \
    alphanumeric character (e.g. 'Example.com', regex used for validation is \
    '[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*')";

/// The name, if it is one of a format.
pub(super) fn known(name: &str) -> Option<&'static str> {
    NAMES.iter().copied().find(|known| *known == name)
}

/// All that is wrong with the text.
pub(super) fn problems(format: &str, text: &str) -> Vec<String> {
    match format {
        "label-key" | "qualified-resource" => names::qualified_name_problems(text),
        _ => problem(format, text).into_iter().collect(),
    }
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
            "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
        ),
        "percent" => unless(
            percent(text).is_some(),
            "a valid percent string must be a numeric string followed by an ending '%'",
        ),
        "max-percent" => {
            unless(percent(text).is_none_or(|number| number <= 100), "must not be greater than 100%")
        }
        "cron" => cron(text),
        "iscsi-name" => iscsi_name(text),
        "time-zone" => zone(text),
        "search-domain" => search_domain(text),
        _ => None,
    }
}

/// An iSCSI name: dated domains, or numbers of other registries.
fn iscsi_name(text: &str) -> Option<String> {
    let why = "must be valid format";
    let word =
        |text: &str, length: usize| text.len() == length && text.bytes().all(|b| b.is_ascii_alphanumeric());
    let dated = |rest: &str| {
        let (date, name) = rest.split_once('.')?;
        let (domain, own) = name.split_once(':')?;
        let (year, month) = date.split_once('-')?;
        let digits = |text: &str, length| word(text, length) && text.bytes().all(|b| b.is_ascii_digit());
        let domain_fits = !domain.is_empty()
            && domain.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'));
        let own_fits = !own.is_empty() && !own.chars().any(|c| c.is_whitespace() || "^,;*&$|".contains(c));
        (digits(year, 4) && digits(month, 2) && domain_fits && own_fits).then_some(())
    };
    let good = match text.split_once('.').unwrap_or((text, "")) {
        ("iqn", rest) => dated(rest).is_some(),
        ("eui", rest) => word(rest, 16),
        ("naa", rest) => word(rest, 32),
        _ if ["iqn", "eui", "naa"].iter().any(|prefix| text.starts_with(prefix)) => false,
        _ => return Some(format!("{why} starting with iqn, eui, or naa")),
    };
    (!good).then(|| why.to_owned())
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

/// A domain that names are looked up in: the root, or one whose labels may have underscores.
fn search_domain(text: &str) -> Option<String> {
    const WHY: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', \
        and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
        '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
    let domain = text.strip_suffix('.').unwrap_or(text);
    let plain = domain.split('.').map(|label| label.strip_prefix('_').unwrap_or(label).replace('_', "-"));
    let plain = plain.collect::<Vec<_>>().join(".");
    match text {
        "." => None,
        _ if domain.len() > 253 => names::subdomain(domain),
        _ => names::subdomain(&plain).map(|_| WHY.to_owned()),
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

/// A schedule of a CronJob, whose zone has a field of its own.
fn cron(text: &str) -> Option<String> {
    if text.contains("TZ=") {
        return Some("cannot use TZ or CRON_TZ in schedule, use timeZone field instead".to_owned());
    }
    Schedule::parse(text).err()
}

/// A time zone, which is not that of the server.
fn zone(text: &str) -> Option<String> {
    match text {
        "" => Some("timeZone must be nil or non-empty string".to_owned()),
        _ if text.eq_ignore_ascii_case("local") => Some(
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones".to_owned(),
        ),
        _ => time_zone(text).is_none().then(|| format!("unknown time zone {text}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_and_addresses() {
        for good in [".", "a.", "a_b", "_tcp.a", "a.b"] {
            assert_eq!(problem("search-domain", good), None, "{good}");
        }
        for bad in ["", "Bad !", "a..b", "__a", "a_"] {
            assert!(problem("search-domain", bad).is_some(), "{bad}");
        }
        assert_eq!(problem("ip", "01.2.3.4").as_deref(), Some("must not have leading 0s"));
        assert!(
            problem("ip", "1.2.3").unwrap().starts_with("must be a valid")
                && problem("ip", "10.0.0.1").is_none()
        );
    }

    /// What `v1.37` answered to each.
    #[test]
    fn names_of_disks() {
        for good in [
            "iqn.2012-07.com.x:t",
            "iqn.2012-13.com:x",
            "iqn.2012-07.c-m:x:y",
            "eui.ZZZZZZZZZZZZZZZZ",
            &format!("naa.{}", "Z".repeat(32)),
        ] {
            assert_eq!(problem("iscsi-name", good), None, "{good}");
        }
        for bad in [
            "iqn.bad",
            "naa.01",
            "eui.01",
            "iqn.2012-07.com.x",
            "iqn.2012.com.x:t",
            "iqn.2012-07.com.x:",
            "iqn.2012-07.c_om:x",
            "iqn.2012-07.c-m:a b",
            "iqn.2012-07.c-m:a,b",
            "iqnx2012-07.a:b",
        ] {
            assert_eq!(problem("iscsi-name", bad).as_deref(), Some("must be valid format"), "{bad}");
        }
        assert!(problem("iscsi-name", "Bad!").unwrap().ends_with("starting with iqn, eui, or naa"));
    }
}
