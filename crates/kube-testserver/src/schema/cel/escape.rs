//! Escaping of property names in rules.

use std::borrow::Cow;

/// Reserved words of CEL.
const RESERVED: [&str; 18] = [
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
];

/// The name of a property in rules: `a-b` is `a__dash__b`, `in` is `__in__`.
pub(super) fn property(name: &str) -> Cow<'_, str> {
    if RESERVED.contains(&name) {
        return format!("__{name}__").into();
    }
    if !name.contains("__") && !name.contains(['.', '-', '/']) {
        return name.into();
    }
    let mut out = String::with_capacity(name.len() + 16);
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let (written, length) = match c {
            '_' if rest.starts_with("__") => ("__underscores__", 2),
            '.' => ("__dot__", 1),
            '-' => ("__dash__", 1),
            '/' => ("__slash__", 1),
            c => (&rest[..c.len_utf8()], c.len_utf8()),
        };
        out.push_str(written);
        rest = &rest[length..];
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::property;

    #[test]
    fn names_are_escaped_as_on_the_genuine_server() {
        for (name, spelled) in [
            ("plain", "plain"),
            ("in", "__in__"),
            ("namespace", "__namespace__"),
            ("a-b.c/d", "a__dash__b__dot__c__slash__d"),
            ("__d", "__underscores__d"),
            ("a_b", "a_b"),
            ("ü-", "ü__dash__"),
        ] {
            assert_eq!(property(name), spelled);
        }
    }
}
