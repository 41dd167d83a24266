//! `cel`: the methods that evaluate the rules of a schema.

use kube_derive::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, KubeSchema)]
#[kube(group = "example.com", version = "v1", kind = "Limited", root = "LimitedObject", crates(kube_core = kube_core))]
#[kube(cel, validation = ("self.metadata.name == 'only'", "there is only one"))]
#[x_kube(cel, validation = ("self.min <= self.max", "min is above max"), crates(kube_core = kube_core))]
struct Limited {
    min: i32,
    max: i32,
    #[x_kube(validation = Rule::new("self == oldSelf").message("is fixed"))]
    fixed: Option<String>,
}

fn messages(result: Result<(), kube_core::cel::ValidationErrors>) -> Vec<String> {
    let errors = result.err().map(kube_core::cel::ValidationErrors::into_vec).unwrap_or_default();
    errors.into_iter().map(|error| format!("{}: {}", error.field_path, error.message)).collect()
}

#[test]
fn all_rules_of_an_object_are_evaluated() {
    let object = |name: &str, min, fixed: &str| {
        LimitedObject::new(name, Limited { min, max: 5, fixed: Some(fixed.into()) })
    };
    let good = object("only", 1, "a");
    assert!(messages(good.validate_cel()).is_empty());
    assert_eq!(
        messages(object("other", 7, "a").validate_cel()),
        [": there is only one", "spec: min is above max"]
    );
    assert!(messages(object("only", 2, "a").validate_cel_update(&good)).is_empty());
    assert_eq!(messages(object("only", 1, "b").validate_cel_update(&good)), ["spec.fixed: is fixed"]);
}

#[test]
fn the_rules_of_a_type_are_evaluated_on_values() {
    let value = json!({ "min": 2, "max": 1 });
    assert_eq!(messages(Limited::validate_cel(&value, None)), [": min is above max"]);
    let (old, new) =
        (json!({ "min": 0, "max": 1, "fixed": "a" }), json!({ "min": 0, "max": 1, "fixed": "b" }));
    assert!(messages(Limited::validate_cel(&new, None)).is_empty());
    assert_eq!(messages(Limited::validate_cel(&new, Some(&old))), ["fixed: is fixed"]);
}
