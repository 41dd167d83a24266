//! The table of what the embedded server does not check, in a Markdown file.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::section::Section;

const SECTION: Section = Section {
    begin: "<!-- unchecked fields: written by the suite, see CONTRIBUTING.md -->\n",
    end: "<!-- end of the unchecked fields -->",
};

/// `markdown` with the current table.
///
/// # Errors
/// When the file has no such table.
pub fn with_unchecked(markdown: &str) -> Result<String, String> {
    SECTION.change(markdown, |_| Ok(list()))
}

/// For each kind, the fields and what of them is not checked.
fn list() -> String {
    let mut kinds: BTreeMap<String, BTreeMap<String, Vec<&'static str>>> = BTreeMap::new();
    for [kind, field, reason] in crate::area::cases().into_iter().filter_map(|case| case.unchecked) {
        let what = what(&reason);
        let known = kinds.entry(kind).or_default().entry(general(&field)).or_default();
        if !known.contains(&what) {
            known.push(what);
        }
    }
    let mut out = String::from("| kind | fields and what of them is accepted |\n|---|---|\n");
    for (kind, fields) in kinds {
        let fields: Vec<String> =
            fields.into_iter().map(|(field, what)| format!("`{field}`: {}", what.join(", "))).collect();
        writeln!(out, "| {kind} | {} |", fields.join("; "))
            .expect("invariant: writing to a string does not fail");
    }
    out
}

fn what(reason: &str) -> &'static str {
    match reason {
        "FieldValueRequired" => "missing",
        "FieldValueNotSupported" => "unknown value",
        "FieldValueDuplicate" => "duplicate",
        "FieldValueForbidden" => "not permitted",
        _ => "invalid value",
    }
}

/// The field without indexes, and without the outer `spec`.
fn general(field: &str) -> String {
    let field = field.replace("[0]", "[]").replace("[1]", "[]");
    field.strip_prefix("spec.").map_or(field.clone(), str::to_owned)
}
