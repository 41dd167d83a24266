//! A test: `apply!` finds the name of every field of every type of k8s-openapi. `build.rs` writes it from the source of k8s-openapi, for
//! the version in `K8S_OPENAPI_ENABLED_VERSION`.

#[cfg(test)]
mod tests {
    use kube_core::Sparse;
    use serde_json::Value;

    macro_rules! apply {
        ($($literal:tt)*) => {
            ::kube_derive::apply! { #[kube(crates(kube_core = ::kube_core))] $($literal)* }
        };
    }

    include!(concat!(env!("OUT_DIR"), "/structs.rs"));

    /// Exactly these fields are written.
    fn check<T>(name: &str, written: &Sparse<T>, expected: &[(&str, Option<Value>)]) {
        let json = written.json().unwrap_or_else(|error| panic!("{error}"));
        let fields = json.as_object().expect("a struct is an object");
        let meta = ["apiVersion", "kind"];
        let is_expected = |name: &str| expected.iter().any(|(expected, _)| *expected == name);
        for (field, value) in expected {
            let found = fields.get(*field).unwrap_or_else(|| panic!("{name} has no {field}: {json}"));
            assert_eq!(value.as_ref().unwrap_or(found), found, "{name}.{field}");
        }
        let other = fields.keys().find(|field| !is_expected(field) && !meta.contains(&field.as_str()));
        assert_eq!(other, None, "{name}");
    }

    #[test]
    fn every_field_has_its_name_on_the_wire() {
        let fields: usize = STRUCTS.iter().map(|(_, fields)| fields).sum();
        assert!(STRUCTS.len() > 600 && fields > 2000, "{} structs, {fields} fields", STRUCTS.len());
        STRUCTS.iter().for_each(|(test, _)| test());
    }
}
