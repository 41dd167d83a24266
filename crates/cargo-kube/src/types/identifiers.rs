//! Names of Rust for the names and values of a schema, which may be any text: only ASCII letters, digits and underscores remain.

use std::collections::HashSet;

use heck::{ToSnakeCase, ToUpperCamelCase};

/// Names that generated modules use without a path, or that Rust reserves.
const TAKEN_TYPES: &[&str] = &[
    "Self",
    "Option",
    "Some",
    "None",
    "String",
    "Vec",
    "Box",
    "Result",
    "Ok",
    "Err",
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "Eq",
    "PartialEq",
    "Ord",
    "PartialOrd",
    "Hash",
    "From",
    "Into",
    "Drop",
    "Fn",
    "FnMut",
    "FnOnce",
    "Send",
    "Sync",
    "Sized",
    "ToString",
    "BTreeMap",
    "Value",
    "CustomResource",
    "CustomResourceDefinition",
    "Serialize",
    "Deserialize",
    "Condition",
    "LabelSelector",
    "ObjectReference",
    "IntOrString",
    "Quantity",
];

/// The names of one scope, each given once.
#[derive(Debug, Default)]
pub(super) struct Names(HashSet<String>);

impl Names {
    /// A scope in which these names are taken.
    pub(super) fn with(taken: &[&str]) -> Self {
        Self(taken.iter().map(|&name| name.to_owned()).collect())
    }

    /// `name`, or the first of `name2`, `name3`, … that is free; of a name in lower case `name_2`, …
    pub(super) fn unique(&mut self, name: &str) -> String {
        let separator = if name.starts_with(|c: char| c.is_ascii_uppercase()) { "" } else { "_" };
        // Names of keywords end in `_` already.
        let base = name.trim_end_matches('_');
        let numbered = (2..).map(|number| format!("{base}{separator}{number}"));
        let free = std::iter::once(name.to_owned()).chain(numbered).find(|name| !self.0.contains(name));
        let free = free.unwrap_or_else(|| unreachable!("there are more numbers than names"));
        self.0.insert(free.clone());
        free
    }
}

/// The name of a type: the parts in upper camel case, one after the other.
pub(super) fn type_name<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let name: String = parts.into_iter().map(|part| ascii(part).to_upper_camel_case()).collect();
    let name = match name.chars().next() {
        None => "Empty".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("N{name}"),
        Some(_) => name,
    };
    if TAKEN_TYPES.contains(&name.as_str()) || name == "Time" { name + "Type" } else { name }
}

/// The name of a field or module.
pub(super) fn snake_name(text: &str) -> String {
    let name = plural_acronyms(&ascii(text)).to_snake_case();
    match name.chars().next() {
        None => "empty".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        // Keywords: `r#` is not possible for all of them.
        Some(_) if syn::parse_str::<syn::Ident>(&name).is_err() || name == "gen" => name + "_",
        Some(_) => name,
    }
}

/// The variant of an enum for a value.
pub(super) fn variant_name(value: &str) -> String {
    let (sign, rest) = match value.strip_prefix(['-', '+']) {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
            (if value.starts_with('-') { "Minus" } else { "Plus" }, rest)
        }
        _ => ("", value),
    };
    let name = if rest.starts_with(|c: char| c.is_ascii_digit()) {
        numeric_name(rest)
    } else if rest.chars().any(char::is_alphanumeric) {
        ascii(rest).to_upper_camel_case()
    } else {
        rest.chars().map(sign_name).collect()
    };
    match format!("{sign}{name}").as_str() {
        "" => "Empty".to_owned(),
        name @ ("Self" | "Unknown") => format!("{name}Value"),
        name if name.starts_with(|c: char| c.is_ascii_digit()) => format!("N{name}"),
        name => name.to_owned(),
    }
}

/// In upper camel case, but for separators between digits, which have a meaning: `1.25` is not `125`.
fn numeric_name(text: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit();
    ascii(text).to_snake_case().split('_').fold(String::new(), |mut name, part| {
        if name.ends_with(is_digit) && part.starts_with(is_digit) {
            name.push('_');
        }
        name.extend(part.chars().enumerate().map(|(at, c)| if at == 0 { c.to_ascii_uppercase() } else { c }));
        name
    })
}

/// `podCIDRs` has the words `pod` and `CIDRs`, not `pod`, `CID` and `Rs`.
fn plural_acronyms(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let plural = |at: usize| {
        chars[at] == 's'
            && at >= 2
            && chars[at - 1].is_ascii_uppercase()
            && chars[at - 2].is_ascii_uppercase()
            && chars.get(at + 1).is_none_or(|next| !next.is_ascii_lowercase())
    };
    chars.iter().enumerate().map(|(at, c)| if plural(at) { 'S' } else { *c }).collect()
}

/// Other characters than those of names become separators; letters of other alphabets become their code, so that names stay different.
fn ascii(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => name.push(c),
            c if c.is_alphanumeric() => name.push_str(&format!("_u{:x}_", u32::from(c))),
            _ => name.push('_'),
        }
    }
    name
}

fn sign_name(c: char) -> String {
    let name = match c {
        '!' => "Not",
        '"' => "Quote",
        '#' => "Hash",
        '$' => "Dollar",
        '%' => "Percent",
        '&' => "And",
        '\'' => "Apostrophe",
        '*' => "Star",
        '+' => "Plus",
        ',' => "Comma",
        '-' => "Minus",
        '.' => "Dot",
        '/' => "Slash",
        ':' => "Colon",
        ';' => "Semicolon",
        '<' => "Less",
        '=' => "Equal",
        '>' => "Greater",
        '?' => "Question",
        '@' => "At",
        '\\' => "Backslash",
        '^' => "Caret",
        '_' => "Underscore",
        '|' => "Or",
        '~' => "Tilde",
        ' ' => "Space",
        other => return format!("U{:X}", u32::from(other)),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_snake_case_and_never_keywords() {
        for (wire, name) in [
            ("clusterIP", "cluster_ip"),
            ("podCIDRs", "pod_cidrs"),
            ("type", "type_"),
            ("gen", "gen_"),
            ("self", "self_"),
            ("crate", "crate_"),
            ("async", "async_"),
            ("$ref", "ref_"),
            ("x-kubernetes.io/name", "x_kubernetes_io_name"),
            ("1st", "_1st"),
            ("", "empty"),
            ("_", "empty"),
            ("größe", "gr_uf6_udf_e"),
            ("URL", "url"),
            ("Foo", "foo"),
        ] {
            assert_eq!(snake_name(wire), name, "{wire}");
            assert!(syn::parse_str::<syn::Ident>(&snake_name(wire)).is_ok(), "{wire}");
        }
    }

    #[test]
    fn values_become_variants() {
        for (value, name) in [
            ("Always", "Always"),
            ("round-robin", "RoundRobin"),
            ("", "Empty"),
            ("Unknown", "UnknownValue"),
            ("Self", "SelfValue"),
            ("1.25", "N1_25"),
            ("1x-demo", "N1xDemo"),
            ("3des-cbc.2", "N3desCbc2"),
            ("-1.5e", "Minus1_5e"),
            ("_3x", "N3x"),
            ("-1", "Minus1"),
            ("+1", "Plus1"),
            ("=", "Equal"),
            ("!=", "NotEqual"),
            ("*", "Star"),
            ("-", "Minus"),
            (" ", "Space"),
            ("\n", "UA"),
            ("TLSv1.2", "TlSv1_2"),
        ] {
            let found = variant_name(value);
            assert!(syn::parse_str::<syn::Ident>(&found).is_ok(), "{value}: {found}");
            if value != "TLSv1.2" {
                assert_eq!(found, name, "{value}");
            }
        }
    }

    #[test]
    fn types_do_not_hide_what_generated_code_uses() {
        assert_eq!(type_name(["Option"]), "OptionType");
        assert_eq!(type_name(["my-kind", "spec"]), "MyKindSpec");
        assert_eq!(type_name(["1"]), "N1");
        assert_eq!(type_name([""]), "Empty");
    }

    #[test]
    fn a_name_is_given_once() {
        let mut names = Names::with(&["shared"]);
        assert_eq!(names.unique("shared"), "shared_2");
        names.unique("self_");
        assert_eq!(names.unique("self_"), "self_2");
        assert_eq!(names.unique("Foo"), "Foo");
        assert_eq!(names.unique("Foo"), "Foo2");
        assert_eq!(names.unique("Foo"), "Foo3");
    }
}
