//! Names of properties in CEL expressions. In the public API they are part of `cel`; here they also serve `schema`, which `cel` builds on.

use std::borrow::Cow;

/// Reserved words of CEL: a property with such a name is written between two underscores.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// How an expression names the property `name` of an object: `a-b` is `a__dash__b`, `in` is `__in__`.
///
/// `None` for a name that expressions cannot refer to, such as `1st` or one with a space. Borrows the name where nothing is to be
/// escaped. The rules are those of [Kubernetes](https://kubernetes.io/docs/reference/using-api/cel/#escaping).
///
/// ```
/// use kube_core::cel::escape_property;
///
/// assert_eq!(escape_property("replicas").as_deref(), Some("replicas"));
/// assert_eq!(escape_property("x-kubernetes").as_deref(), Some("x__dash__kubernetes"));
/// assert_eq!(escape_property("namespace").as_deref(), Some("__namespace__"));
/// assert_eq!(escape_property("1st"), None);
/// ```
pub fn escape_property(name: &str) -> Option<Cow<'_, str>> {
    let start = |c: char| c.is_ascii_alphabetic() || "_.-/".contains(c);
    if !name.starts_with(start) || !name.chars().all(|c| start(c) || c.is_ascii_digit()) {
        return None;
    }
    if is_reserved(name) {
        return Some(format!("__{name}__").into());
    }
    if !name.contains("__") && !name.contains(['.', '-', '/']) {
        return Some(name.into());
    }
    let escaped = name.replace("__", "__underscores__");
    Some(escaped.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__").into())
}

/// Whether `name` is a reserved word of CEL. API servers accept such a property under its own name, too, where the grammar does: all but
/// `true`, `false`, `null` and `in`.
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::escape_property;

    #[test]
    fn names_are_escaped_as_by_an_api_server() {
        for (name, escaped) in [
            ("plain", Some("plain")),
            ("a_b", Some("a_b")),
            ("in", Some("__in__")),
            ("namespace", Some("__namespace__")),
            ("while", Some("__while__")),
            ("int", Some("int")),
            ("a-b.c/d", Some("a__dash__b__dot__c__slash__d")),
            ("some-thing.x/y__z", Some("some__dash__thing__dot__x__slash__y__underscores__z")),
            ("__d", Some("__underscores__d")),
            ("1st", None),
            ("a b", None),
            ("", None),
        ] {
            assert_eq!(escape_property(name).as_deref(), escaped, "{name}");
        }
    }
}
