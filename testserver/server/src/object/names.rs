//! Validation of names, label keys and label values; each function returns what is wrong, if anything.

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
    and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
    start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SERVICE_NAME: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
    alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
    validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
    with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
    must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
    validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

pub(crate) fn subdomain(name: &str) -> Option<String> {
    let ok = name.split('.').all(is_dns_label);
    problem(name, 253, ok, SUBDOMAIN)
}

pub(crate) fn dns_label(name: &str) -> Option<String> {
    problem(name, 63, is_dns_label(name), LABEL)
}

/// Services: like [`dns_label`], but not starting with a digit.
pub(crate) fn service_name(name: &str) -> Option<String> {
    let ok = is_dns_label(name) && name.starts_with(|c: char| c.is_ascii_lowercase());
    problem(name, 63, ok, SERVICE_NAME)
}

/// Kinds: like [`service_name`], with capital letters.
pub(crate) fn kind(name: &str) -> Option<String> {
    service_name(&name.to_lowercase())
        .map(|why| format!("may have mixed case, but should otherwise match: {why}"))
}

/// RBAC names: any path segment.
pub(crate) fn path_segment(name: &str) -> Option<String> {
    match name {
        "." | ".." => Some(format!("may not be '{name}'")),
        _ if name.contains('/') => Some("may not contain '/'".into()),
        _ if name.contains('%') => Some("may not contain '%'".into()),
        _ => None,
    }
}

/// Label and annotation keys: a name with an optional DNS prefix and a slash.
pub(crate) fn qualified_name(key: &str) -> Option<String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if let Some(prefix) = prefix {
        if prefix.is_empty() {
            return Some("prefix part must be non-empty".into());
        }
        if let Some(wrong) = subdomain(prefix) {
            return Some(format!("prefix part {wrong}"));
        }
    }
    if name.is_empty() {
        return Some("name part must be non-empty".into());
    }
    if name.len() > 63 {
        return Some("name part must be no more than 63 bytes".into());
    }
    (!is_word(name)).then(|| QUALIFIED.into())
}

/// All that is wrong with a key: a name that is empty has no allowed form either.
pub(crate) fn qualified_name_problems(key: &str) -> Vec<String> {
    let first = qualified_name(key);
    let empty = first.is_some() && key.rsplit('/').next().is_some_and(str::is_empty);
    first.into_iter().chain(empty.then(|| QUALIFIED.to_owned())).collect()
}

pub(crate) fn label_value(value: &str) -> Option<String> {
    if value.len() > 63 {
        return Some("must be no more than 63 bytes".into());
    }
    (!value.is_empty() && !is_word(value)).then(|| VALUE.into())
}

/// Whether a resource without a domain is one of Kubernetes.
pub(crate) fn is_native_resource(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage" | "storage") || name.starts_with("hugepages-")
}

/// Whether a container has a resource without a domain.
pub(crate) fn is_container_resource(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-")
}

fn problem(name: &str, max: usize, ok: bool, otherwise: &str) -> Option<String> {
    if name.len() > max {
        return Some(format!("must be no more than {max} characters"));
    }
    (!ok).then(|| otherwise.into())
}

fn is_dns_label(part: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    !part.is_empty() && part.bytes().all(inner) && !part.starts_with('-') && !part.ends_with('-')
}

fn is_word(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.'))
        && edge(text.chars().next())
        && edge(text.chars().last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_accepts_and_refuses_its_own() {
        for good in ["a", "a-b.c1", "0", "kube-root-ca.crt"] {
            assert_eq!(subdomain(good), None, "{good}");
        }
        for bad in ["", "A", "a_b", "-a", "a-", "a..b", ".a", "ü", &"x".repeat(254)] {
            assert!(subdomain(bad).is_some(), "{bad}");
        }
        assert!(dns_label("a.b").is_some() && dns_label("9a").is_none() && service_name("9a").is_some());
        assert!(
            path_segment("system:x").is_none()
                && path_segment("a/b").is_some()
                && path_segment("..").is_some()
        );
        for good in ["a", "app.kubernetes.io/name", "A_b.c", "x.y/Z"] {
            assert_eq!(qualified_name(good), None, "{good}");
        }
        for bad in ["", "/a", "a/", "a/b/c", "A/b", "-a", "a b"] {
            assert!(qualified_name(bad).is_some(), "{bad}");
        }
        assert_eq!(qualified_name_problems("")[0], "name part must be non-empty");
        assert_eq!(
            ["", "a/", "a b", "a", "A/b"].map(|key| qualified_name_problems(key).len()),
            [2, 2, 1, 0, 1]
        );
        assert!(label_value("").is_none() && label_value("a.B-1").is_none() && label_value("a/b").is_some());
    }
}
