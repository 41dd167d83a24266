//! English plurals of kinds.

/// The regular plural of a lowercase noun: `policy` → `policies`, `box` → `boxes`, `pod` → `pods`. `endpoints` is already plural
/// and stays. The same rule as in `kube_core::ApiResource::from_gvk`, which a macro crate cannot call.
pub(crate) fn pluralize(singular: &str) -> String {
    if singular == "endpoints" {
        return singular.into();
    }
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
    fn regular_nouns_get_their_plural() {
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
            ("endpoints", "endpoints"),
        ] {
            assert_eq!(pluralize(singular), plural);
        }
    }

    /// A kind whose plural `ApiResource::from_gvk` guesses must be at the path of the derived definition.
    #[test]
    fn agrees_with_the_plural_that_kube_core_guesses() {
        let kinds = [
            "Pod",
            "Policy",
            "Gateway",
            "Ingress",
            "Box",
            "Quiz",
            "Switch",
            "Mesh",
            "Foo",
            "Y",
            "Ay",
            "Endpoints",
            "ServiceEndpoints",
            "Bus",
            "Class",
            "Proxy",
            "Query",
            "Guy",
            "Toy",
            "Photo",
            "DNS",
            "Index",
            "Matrix",
        ];
        for kind in kinds {
            let guess =
                kube_core::ApiResource::from_gvk(&kube_core::GroupVersionKind::gvk("g", "v1", kind)).plural;
            assert_eq!(pluralize(&kind.to_ascii_lowercase()), guess, "{kind}");
        }
    }
}
