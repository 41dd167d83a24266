//! Comparing `resourceVersion`s.

/// Whether the server went back in time: `new` is older than `last`.
///
/// Versions that are not plain numbers, as some aggregated API servers use, are never compared.
pub(super) fn went_back(last: &str, new: &str) -> bool {
    match (last.parse::<u128>(), new.parse::<u128>()) {
        (Ok(last), Ok(new)) => new < last,
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
