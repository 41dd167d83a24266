//! English plurals, as the names of kinds need them.

/// The plural of a lowercase noun by the regular rules: `policy` → `policies`, `box` → `boxes`, `pod` → `pods`.
pub(crate) fn pluralize(singular: &str) -> String {
    let ends = |endings: &[&str]| endings.iter().any(|ending| singular.ends_with(ending));
    if let Some(stem) = singular.strip_suffix('y')
        && !stem.ends_with(['a', 'e', 'i', 'o', 'u'])
        && !stem.is_empty()
    {
        return format!("{stem}ies");
    }
    if ends(&["s", "x", "z", "ch", "sh"]) { format!("{singular}es") } else { format!("{singular}s") }
}

#[cfg(test)]
mod tests {
    use super::pluralize;

    #[test]
    fn regular_nouns() {
        for (singular, plural) in [
            ("pod", "pods"),
            ("policy", "policies"),
            ("gateway", "gateways"),
            ("ingress", "ingresses"),
            ("box", "boxes"),
            ("quiz", "quizes"),
            ("switch", "switches"),
            ("mesh", "meshes"),
            ("foo", "foos"),
            ("y", "ys"),
        ] {
            assert_eq!(pluralize(singular), plural);
        }
    }
}
