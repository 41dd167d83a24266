//! Which names a server accepts for a finalizer.

/// Whether `name` is a qualified name: `example.com/name`, or a name alone.
pub(super) fn is_valid(name: &str) -> bool {
    match name.split_once('/') {
        Some((domain, name)) => is_domain(domain) && is_name(name),
        None => is_name(name),
    }
}

fn is_domain(domain: &str) -> bool {
    let label = |label: &str| {
        let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    domain.len() <= 253 && domain.split('.').all(label)
}

fn is_name(name: &str) -> bool {
    let edge = |c: Option<u8>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inner = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    name.len() <= 63 && name.bytes().all(inner) && edge(name.bytes().next()) && edge(name.bytes().last())
}

#[cfg(test)]
mod tests {
    use super::is_valid;

    #[test]
    fn accepts_what_servers_accept() {
        for name in ["example.com/cleanup", "kubernetes", "orphan", "a-b.example.com/Clean_up.2"] {
            assert!(is_valid(name), "{name}");
        }
        for name in
            ["", "/", "example.com/", "/cleanup", "a/b/c", "Example.com/x", "-a.com/x", "x y", "a.com/-x"]
        {
            assert!(!is_valid(name), "{name}");
        }
    }
}
