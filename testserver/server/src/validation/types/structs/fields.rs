//! Fields of pods and resources of containers, as variables and files have them.

use serde_json::Value;

use super::values::text;
use crate::{
    object::{names, quantity::Quantity},
    schema::ErrorList,
};

/// The fields that variables can have.
pub(super) const OF_VARIABLES: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// The fields that files can have.
pub(super) const OF_FILES: &[&str] =
    &["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

/// A reference to a field, which is one of `supported` or a label or an annotation by its key.
pub(super) fn field(value: &Value, supported: &[&str], at: &str, errors: &mut ErrorList) {
    let (path, place) = (text(value, "fieldPath"), format!("{at}.fieldPath"));
    let mut refuse = |why: String| {
        let why = format!("error converting fieldPath: {why}");
        errors.invalid(place.clone(), format!("{path:?}"), &why);
    };
    let version = text(value, "apiVersion");
    if path.is_empty() {
        return errors.required(place, "");
    }
    if !matches!(version, "" | "v1") {
        return refuse(format!("unsupported pod version: {version}"));
    }
    match path.strip_suffix("']").and_then(|path| path.split_once("['")) {
        Some(("metadata.labels", key)) => keyed(key, at, errors),
        Some(("metadata.annotations", key)) => keyed(&key.to_lowercase(), at, errors),
        Some(_) => refuse(format!("field label does not support subscript: {path}")),
        None if supported.contains(&path) => {}
        None if is_field(path) => errors.not_supported(place, format!("{path:?}"), supported),
        None => refuse(format!("field label not supported: {path}")),
    }
}

fn keyed(key: &str, at: &str, errors: &mut ErrorList) {
    errors.problem(at, format!("{key:?}"), names::qualified_name(key));
}

/// Whether pods have the field for selectors.
fn is_field(path: &str) -> bool {
    matches!(
        path,
        "metadata.annotations"
            | "metadata.labels"
            | "metadata.name"
            | "metadata.namespace"
            | "metadata.uid"
            | "spec.nodeName"
            | "spec.restartPolicy"
            | "spec.serviceAccountName"
            | "spec.schedulerName"
            | "status.phase"
            | "status.hostIP"
            | "status.hostIPs"
            | "status.podIP"
            | "status.podIPs"
    )
}

/// The resource of a container, in units of the divisor. Files name their container.
pub(super) fn resource(value: &Value, names_container: bool, at: &str, errors: &mut ErrorList) {
    let resource = text(value, "resource");
    if names_container && text(value, "containerName").is_empty() {
        return errors.required(format!("{at}.containerName"), "");
    }
    if resource.is_empty() {
        return errors.required(format!("{at}.resource"), "");
    }
    let name = resource.strip_prefix("limits.").or_else(|| resource.strip_prefix("requests."));
    let (units, what) = match name {
        Some("cpu") => (&["1m", "1"][..], "cpu"),
        Some("memory") => (BYTES, "memory"),
        Some("ephemeral-storage") => (BYTES, "local ephemeral storage"),
        Some(name) if name.starts_with("hugepages-") => (BYTES, "hugepages"),
        _ => return errors.not_supported(format!("{at}.resource"), format!("{resource:?}"), &OF_CONTAINERS),
    };
    // The text counts, not the amount.
    let divisor = Quantity::read(&value["divisor"]).filter(|divisor| !divisor.is_zero());
    if let Some(divisor) = divisor.map(|divisor| divisor.to_string())
        && !units.contains(&divisor.as_str())
    {
        let (listed, last) = (units.join(", "), units.join(" and "));
        let listed = if units.len() == 2 { last } else { listed };
        let why = format!("only divisor's values {listed} are supported with the {what} resource");
        errors.invalid(format!("{at}.divisor"), format!("{resource:?}"), &why);
    }
}

const OF_CONTAINERS: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const BYTES: &[&str] = &["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(check: impl Fn(&mut ErrorList)) -> Vec<String> {
        let mut errors = ErrorList::default();
        check(&mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    /// What `v1.37` answered to each.
    #[test]
    fn fields_are_refused_in_the_words_of_genuine_servers() {
        let field = |value: Value| found(|errors| field(&value, OF_VARIABLES, "f", errors));
        let conversion = "error converting fieldPath:";
        for (path, why) in [
            (
                "spec.x",
                format!(
                    "f.fieldPath: Invalid value: \"spec.x\": {conversion} field label not supported: spec.x"
                ),
            ),
            (
                "spec.hostNetwork",
                format!(
                    "f.fieldPath: Invalid value: \"spec.hostNetwork\": {conversion} field label not supported: spec.hostNetwork"
                ),
            ),
            (
                "spec.x['y']",
                format!(
                    "f.fieldPath: Invalid value: \"spec.x['y']\": {conversion} field label does not support subscript: spec.x['y']"
                ),
            ),
            ("", "f.fieldPath: Required value".into()),
        ] {
            assert_eq!(field(json!({"fieldPath": path})), [why]);
        }
        assert!(field(json!({"fieldPath": "metadata.labels['a']", "apiVersion": "v1"})).is_empty());
        assert!(
            field(json!({"fieldPath": "metadata.labels['A !']"}))[0].starts_with("f: Invalid value: \"A !\"")
        );
        assert!(
            field(json!({"fieldPath": "metadata.annotations['A !']"}))[0]
                .starts_with("f: Invalid value: \"a !\"")
        );
        assert!(field(json!({"fieldPath": "metadata.labels"}))[0].contains("Unsupported value"));
        assert!(
            field(json!({"fieldPath": "metadata.name", "apiVersion": "Bad"}))[0]
                .ends_with("unsupported pod version: Bad")
        );
    }

    #[test]
    fn divisors_are_units() {
        let resource = |name: &str, divisor: &str| {
            found(|errors| resource(&json!({"resource": name, "divisor": divisor}), false, "r", errors))
        };
        for (name, divisor) in [
            ("limits.cpu", "1m"),
            ("limits.cpu", "0"),
            ("limits.memory", "1Ki"),
            ("requests.hugepages-2Mi", "1"),
        ] {
            assert!(resource(name, divisor).is_empty(), "{name} {divisor}");
        }
        assert_eq!(
            resource("limits.cpu", "5"),
            [
                "r.divisor: Invalid value: \"limits.cpu\": only divisor's values 1m and 1 are supported with the cpu resource"
            ]
        );
        for divisor in ["3", "1m", "1024"] {
            assert_eq!(resource("requests.ephemeral-storage", divisor).len(), 1, "{divisor}");
        }
        assert!(
            resource("limits.x", "1")[0].ends_with("\"requests.ephemeral-storage\", \"requests.memory\"")
        );
    }
}
