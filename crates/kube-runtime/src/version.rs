//! Comparing `resourceVersion`s.

/// The version as a number, which grows with every change of a kind.
///
/// `None` for those that are not plain numbers, as some aggregated API servers use: they are opaque. See
/// [KEP-5504](https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/5504-comparable-resource-version).
pub(crate) fn number(version: &str) -> Option<u128> {
    version.parse().ok()
}

/// Whether the server went back in time: `new` is older than `last`.
pub(crate) fn went_back(last: &str, new: &str) -> bool {
    match (number(last), number(new)) {
        (Some(last), Some(new)) => new < last,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::went_back;

    #[test]
    fn compares_numbers_not_text() {
        assert!(went_back("10", "9"));
        assert!(!went_back("9", "10"));
        assert!(!went_back("10", "10"));
    }

    #[test]
    fn never_compares_what_is_not_a_number() {
        assert!(!went_back("abc", "1"));
        assert!(!went_back("1", ""));
    }
}
