//! Comparing `resourceVersion`s.

/// The version as a number, which grows with every change of a kind.
///
/// `None` if it is not a plain number, as with some aggregated API servers: such versions are opaque. See
/// [KEP-5504](https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/5504-comparable-resource-version).
pub(crate) fn parse(version: &str) -> Option<u128> {
    version.parse().ok()
}

/// Whether `new` is lower than `last`. Opaque versions never regress.
pub(crate) fn regressed(last: &str, new: &str) -> bool {
    match (parse(last), parse(new)) {
        (Some(last), Some(new)) => new < last,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::regressed;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(regressed("10", "9"));
        assert!(!regressed("9", "10"));
        assert!(!regressed("10", "10"));
    }

    #[test]
    fn opaque_versions_never_regress() {
        assert!(!regressed("abc", "1"));
        assert!(!regressed("1", ""));
    }
}
