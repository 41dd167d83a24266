//! Compares errors of patterns with those of Go, as recorded.

use super::compile;

/// Responses of a genuine server (1.36) to a schema with the pattern.
#[test]
fn patterns_as_on_the_genuine_server() {
    for (pattern, error) in include!("recorded.in") {
        assert_eq!(compile(pattern).err().as_deref().unwrap_or_default(), error, "{pattern}");
    }
}

#[test]
fn patterns_match_as_in_go() {
    for (pattern, text, matches) in [
        (r"^\d$", "٣", false),
        (r"^\w$", "é", false),
        (r"^\W$", "é", true),
        (r"^\s$", "\u{a0}", false),
        (r"^\s$", "\u{b}", false),
        (r"^[\w.-]+$", "a.b-c", true),
        (r"a\b", "aé", true),
        (r"a\B", "aé", false),
        (r"é\B", "é", true),
        (r"a\Bb", "ab", true),
        (r"^\pL$", "é", true),
        (r"^(?i)É$", "é", true),
        (r"^a{,3}$", "a{,3}", true),
        (r"^\Qa.b\E+$", "a.bbb", true),
        (r"^[[a]$", "[", true),
        (r"^[a-z&&b]$", "&", true),
        (r"^[]a]$", "]", true),
        (r"^[^\n]$", "x", true),
        (r"^.$", "\n", false),
        (r"^[[:^alpha:]]$", "é", true),
        (r"^\x{e9}\101$", "éA", true),
        (r"(?s)^.$", "\n", true),
        (r"(?m)^b$", "a\nb", true),
        (r"b$", "b\n", false),
    ] {
        assert_eq!(compile(pattern).unwrap().is_match(text), matches, "{pattern} on {text:?}");
    }
    assert!(compile(&format!("{}a{}", "(".repeat(1000), ")".repeat(1000))).is_ok());
    assert!(compile(&"(".repeat(1001)).unwrap_err().starts_with("expression nests too deeply"));
    assert!(compile(r"^(\pL{1000})$").unwrap().is_match(&"é".repeat(1000)));
}
