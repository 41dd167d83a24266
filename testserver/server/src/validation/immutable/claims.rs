//! PersistentVolumeClaims: bound claims can grow.

use serde_json::Value;

use super::values::without;
use crate::{object::quantity::Quantity, schema::ErrorList};

const WHY: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
const SIZE: &str = "spec.resources.requests.storage";

pub(super) fn check(old: &Value, new: &Value, errors: &mut ErrorList) {
    let bound = old["status"]["phase"] == "Bound";
    let mut free = Vec::new();
    // The binder sets the volume once.
    if old["spec"]["volumeName"].as_str().unwrap_or_default().is_empty() {
        free.push("volumeName");
    }
    if bound {
        free.extend(["resources.requests", "volumeAttributesClassName"]);
    }
    if without(&old["spec"], &free) != without(&new["spec"], &free) {
        errors.forbidden("spec", WHY);
    }
    let size = |spec: &Value| Quantity::read(&spec["resources"]["requests"]["storage"]);
    if let (Some(before), Some(now)) = (size(&old["spec"]), size(&new["spec"]))
        && now < before
    {
        let capacity = Quantity::read(&old["status"]["capacity"]["storage"]);
        if capacity.is_none_or(|capacity| now <= capacity) {
            errors.forbidden(SIZE, "field can not be less than status.capacity");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claim(size: &str, phase: &str, volume: &str) -> Value {
        json!({"spec": {"volumeName": volume, "resources": {"requests": {"storage": size}}},
            "status": {"phase": phase, "capacity": {"storage": "2Gi"}}})
    }

    fn fields(old: &Value, new: &Value) -> Vec<String> {
        let mut errors = ErrorList::default();
        check(old, new, &mut errors);
        errors.into_iter().map(|error| error.field).collect()
    }

    #[test]
    fn a_bound_claim_grows_and_does_not_shrink() {
        let bound = claim("2Gi", "Bound", "v");
        assert!(fields(&bound, &claim("3G", "Bound", "v")).is_empty());
        assert_eq!(fields(&bound, &claim("1.5e9", "Bound", "v")), [SIZE]);
        assert_eq!(fields(&bound, &claim("2Gi", "Bound", "w")), ["spec"]);
    }

    #[test]
    fn an_unbound_claim_gets_a_volume_only() {
        let pending = claim("2Gi", "Pending", "");
        assert!(fields(&pending, &claim("2Gi", "Pending", "v")).is_empty());
        assert_eq!(fields(&pending, &claim("3Gi", "Pending", "")), ["spec"]);
    }
}
