//! Texts that must have a form: names, addresses, paths.

use crate::object::{
    addresses, names,
    schedule::{Schedule, time_zone},
};

/// What finds the problems of a text.
#[derive(Clone, Copy)]
pub(super) enum Format {
    /// The first one.
    First(fn(&str) -> Option<String>),
    All(fn(&str) -> Vec<String>),
}

/// What the permissions of a file are.
pub(super) const FILE_MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";

const C_IDENTIFIER: &str = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' \
    (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";
const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or \
    'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%'";
const CASELESS: &str = "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an \
    alphanumeric character (e.g. 'Example.com', regex used for validation is \
    '[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*')";

impl Format {
    /// The format with this name in the tables.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(Self::First(match name {
            "label-key" | "qualified-resource" => return Some(Self::All(names::qualified_name_problems)),
            "subdomain" => names::subdomain,
            "caseless-subdomain" => {
                |text| names::subdomain(&text.to_lowercase()).map(|_| CASELESS.to_owned())
            }
            "label" => names::dns_label,
            "optional-label" => |text| Some(text).filter(|text| !text.is_empty()).and_then(names::dns_label),
            "kind-name" => names::kind,
            "finalizer" => |text| {
                let qualified =
                    text.contains('/') || matches!(text, "kubernetes" | "orphan" | "foregroundDeletion");
                unless(qualified, "name is neither a standard finalizer name nor is it fully qualified")
            },
            "no-slash" => |text| unless(!text.contains('/'), "must not contain '/'"),
            "attribute-name" => attribute_name,
            "service-name" => names::service_name,
            "path-segment" => names::path_segment,
            "label-value" => names::label_value,
            "port-name" => port_name,
            "ip" => addresses::address,
            "cidr" => addresses::range,
            "env-name" => variable_name,
            "config-key" => config_key,
            "absolute-path" => |text| unless(text.starts_with('/'), "must be an absolute path"),
            "relative-path" => |text| unless(!text.starts_with('/'), "must be a relative path"),
            "no-dot-dot" => |text| unless(!text.split('/').any(|part| part == ".."), "must not contain '..'"),
            "host" => |text| names::subdomain(text.strip_prefix("*.").unwrap_or(text)),
            "uuid" => |text| unless(is_uuid(text), "must be a lowercase UUID in 8-4-4-4-12 format"),
            "domain-path" => domain_path,
            "resource-name" => resource_name,
            "extended-resource-name" => names::qualified_name,
            "c-identifier" => c_identifier,
            "resource-pool-name" => |text| text.split('/').find_map(names::subdomain),
            "trimmed" => |text| unless(text.trim() == text, "must not have leading or trailing whitespace"),
            "http-header" => http_header,
            "percent" => |text| unless(percent(text).is_some(), PERCENT),
            "max-percent" => |text| {
                unless(percent(text).is_none_or(|number| number <= 100), "must not be greater than 100%")
            },
            "cron" => cron,
            "iscsi-name" => iscsi_name,
            "time-zone" => zone,
            "search-domain" => search_domain,
            _ => return None,
        }))
    }

    pub(super) fn problems(self, text: &str) -> Vec<String> {
        match self {
            Self::First(problem) => problem(text).into_iter().collect(),
            Self::All(problems) => problems(text),
        }
    }
}

fn unless(good: bool, why: &str) -> Option<String> {
    (!good).then(|| why.to_owned())
}

/// A name of an environment variable.
pub(in crate::validation) fn variable_name(text: &str) -> Option<String> {
    unless(
        !text.is_empty() && text.chars().all(|c| (' '..='~').contains(&c) && c != '='),
        "a valid environment variable name must consist only of printable ASCII characters other than '='",
    )
}

pub(super) fn http_header(text: &str) -> Option<String> {
    unless(
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is \
         '[-A-Za-z0-9]+')",
    )
}

fn resource_name(text: &str) -> Option<String> {
    let standard = text.contains('/') || names::is_native_resource(text);
    names::qualified_name(text)
        .or_else(|| unless(standard, "must be a standard resource type or fully qualified"))
}

/// An iSCSI name: dated domains, or numbers of other registries.
pub(super) fn iscsi_name(text: &str) -> Option<String> {
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

pub(super) fn c_identifier(text: &str) -> Option<String> {
    let good = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty();
    unless(good, C_IDENTIFIER)
}

/// The name of an attribute of a device, with its domain.
fn attribute_name(text: &str) -> Option<String> {
    let Some((domain, name)) = text.split_once('/') else {
        return Some("a fully qualified name must be a domain and a name separated by a slash".to_owned());
    };
    match (domain, name.split('/').next().unwrap_or_default()) {
        ("", _) => Some("prefix must not be empty".to_owned()),
        (_, "") => Some("name must not be empty".to_owned()),
        (domain, name) => {
            names::subdomain(domain).map(|why| format!("prefix: {why}")).or_else(|| c_identifier(name))
        }
    }
}

/// A name of a port: lower case letters, digits and single hyphens, with a letter among them.
pub(super) fn port_name(text: &str) -> Option<String> {
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

/// A key of a ConfigMap or Secret, which is the name of a file.
pub(in crate::validation) fn config_key(key: &str) -> Option<String> {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match key {
        _ if key.len() > 253 => Some("must be no more than 253 characters".into()),
        "" => Some(CONFIG_KEY.into()),
        "." => Some("must not be '.'".into()),
        ".." => Some("must not be '..'".into()),
        _ if key.starts_with("..") => Some("must not start with '..'".into()),
        _ => unless(key.chars().all(inner), CONFIG_KEY),
    }
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
    fn domains_are_looked_up_in() {
        for good in [".", "a.", "a_b", "_tcp.a", "a.b"] {
            assert_eq!(search_domain(good), None, "{good}");
        }
        for bad in ["", "Bad !", "a..b", "__a", "a_"] {
            assert!(search_domain(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn config_keys_are_names_of_files() {
        for key in ["a", "A.b-c_d", ".hidden", &"x".repeat(253)] {
            assert_eq!(config_key(key), None, "{key}");
        }
        for key in ["", ".", "..", "..a", "a b", "a/b", &"x".repeat(254)] {
            assert!(config_key(key).is_some(), "{key}");
        }
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
            assert_eq!(iscsi_name(good), None, "{good}");
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
            assert_eq!(iscsi_name(bad).as_deref(), Some("must be valid format"), "{bad}");
        }
        assert!(iscsi_name("Bad!").unwrap().ends_with("starting with iqn, eui, or naa"));
    }
}
