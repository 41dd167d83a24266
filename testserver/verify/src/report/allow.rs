//! Findings that the user knows and accepts.

use std::sync::atomic::{AtomicBool, Ordering};

/// Patterns with their reasons.
#[derive(Debug, Default)]
pub(crate) struct Allows(Vec<Allow>);

#[derive(Debug)]
struct Allow {
    pattern: String,
    reason: String,
    used: AtomicBool,
}

impl Allows {
    /// The error says why the pattern or its reason is none.
    pub(crate) fn add(
        &mut self,
        pattern: impl Into<String>,
        reason: impl Into<String>,
    ) -> Result<(), String> {
        let (pattern, reason) = (pattern.into(), reason.into());
        if pattern.split('*').all(|part| part.trim().is_empty()) {
            return Err(format!(
                "allow({pattern:?}, {reason:?}): expected a part of the text of a finding, not what covers all"
            ));
        }
        if reason.trim().is_empty() {
            return Err(format!("allow({pattern:?}, {reason:?}): expected a reason"));
        }
        self.0.push(Allow { pattern, reason, used: AtomicBool::new(false) });
        Ok(())
    }

    /// Whether a pattern covers this text.
    pub(crate) fn allow(&self, text: &str) -> bool {
        let covering = self.0.iter().filter(|allow| covers(&allow.pattern, text));
        // All that cover it are used.
        covering.fold(false, |_, allow| {
            allow.used.store(true, Ordering::Relaxed);
            true
        })
    }

    /// The patterns that have covered nothing, with their reasons.
    pub(crate) fn unused(&self) -> Vec<(String, String)> {
        let unused = self.0.iter().filter(|allow| !allow.used.load(Ordering::Relaxed));
        unused.map(|allow| (allow.pattern.clone(), allow.reason.clone())).collect()
    }
}

/// Whether the text contains the parts of the pattern, between which `*` stands for anything, in this order.
fn covers(pattern: &str, text: &str) -> bool {
    let mut rest = text;
    pattern.split('*').all(|part| {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_covers_texts_that_contain_it() {
        assert!(covers("configmaps */index is left over", "configmaps shop/index is left over"));
        assert!(covers("is left over", "configmaps index is left over"));
        assert!(!covers("configmaps *x is left over", "configmaps index was created"));
        assert!(!covers("b*a", "a b"));
    }

    #[test]
    fn a_pattern_that_covers_all_or_has_no_reason_is_refused() {
        let add = |pattern: &str, reason: &str| Allows::default().add(pattern, reason);
        for all in ["", "*", "* *"] {
            assert!(add(all, "why").unwrap_err().ends_with("not what covers all"), "{all:?}");
        }
        assert_eq!(add("left over", " ").unwrap_err(), "allow(\"left over\", \" \"): expected a reason");
        assert_eq!(add("left over", "why"), Ok(()));
    }

    #[test]
    fn patterns_that_cover_nothing_are_told() {
        let mut allows = Allows::default();
        allows.add("left over", "by design").unwrap();
        allows.add("stuck", "known").unwrap();
        assert!(allows.allow("configmaps a is left over"));
        assert!(!allows.allow("configmaps a is missing"));
        assert_eq!(allows.unused(), [("stuck".to_owned(), "known".to_owned())]);
    }
}
