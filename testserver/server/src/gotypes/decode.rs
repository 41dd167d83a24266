//! Reads an object as Go decodes it: refuses wrong types, brings scalars into their canonical form and drops what is zero.

use serde_json::{Map, Value};

use super::{
    encode::zero_of,
    scalars::{self, Mismatch},
    table::{self, GoStruct, GoType, Presence, Scalar},
};
use crate::object::quantity_text;

/// Decodes an object of a kind in place. Unknown fields stay. Fields that are zero or switched off are gone, and null elements have become zero values: defaults are for the first, not for the second.
///
/// # Errors
/// The first value of a wrong type, in the words of Go's decoder.
pub(crate) fn decode(root: &'static GoStruct, object: &mut Value) -> Result<(), String> {
    let mut walk = Walk { path: Vec::new(), owner: root };
    walk.structure(root, object)
}

/// The types of definitions of custom resources.
const DEFINITIONS: &str = "apiextensions-apiserver.pkg.apis.apiextensions.";

/// Gone with the signal that its gate is off for, if it has nothing else.
const LIFECYCLE: &str = "api.core.v1.Lifecycle";

struct Walk {
    /// Names of fields; Go leaves out indexes and keys.
    path: Vec<&'static str>,
    /// The struct of the innermost field.
    owner: &'static GoStruct,
}

impl Walk {
    fn structure(&mut self, structure: &'static GoStruct, value: &mut Value) -> Result<(), String> {
        let Value::Object(map) = value else {
            return Err(self.refuse(Mismatch::Type {
                found: found(value),
                wanted: go_name(&GoType::Struct(structure)),
            }));
        };
        let outer = std::mem::replace(&mut self.owner, structure);
        let (mut zero, mut off) = (Vec::new(), false);
        for (name, value) in map.iter_mut() {
            let Some(field) = structure.field(name) else { continue };
            off |= field.presence == Presence::Off && !value.is_null();
            self.path.push(field.name);
            self.value(&field.ty, value)?;
            self.path.pop();
            // Errors about a definition tell a list without items from none; neither is ever stored.
            let shown = structure.name.starts_with(DEFINITIONS) && value.is_array();
            let zero_and_hidden = is_zero(&field.ty, value) && !(shown && field.presence == Presence::Always);
            if zero_and_hidden || field.presence == Presence::Off {
                zero.push(name.clone());
            }
        }
        zero.iter().for_each(|name| drop(map.remove(name)));
        if off && map.is_empty() && structure.name == LIFECYCLE {
            *value = Value::Null;
        }
        self.owner = outer;
        Ok(())
    }

    fn value(&mut self, ty: &'static GoType, value: &mut Value) -> Result<(), String> {
        if value.is_null() {
            return Ok(());
        }
        match ty {
            GoType::Pointer(inner) => self.value(inner, value),
            GoType::Struct(structure) => self.structure(structure, value),
            GoType::Scalar(Scalar::SchemaOrBool, _)
                if !matches!(value, Value::Object(_) | Value::Bool(_)) =>
            {
                Err(self.refuse(Mismatch::Text("boolean or JSON schema expected".to_owned())))
            }
            GoType::Scalar(Scalar::SchemaOr | Scalar::SchemaOrBool, _) => self.schemas(value),
            GoType::Scalar(scalar, name) => {
                scalars::normalize(*scalar, name, value).map_err(|why| self.refuse(why))
            }
            GoType::List(item) => {
                let Value::Array(list) = value else { return Err(self.wrong(ty, value)) };
                list.iter_mut().try_for_each(|value| self.element(item, value))
            }
            GoType::Map(item, name) => {
                let Value::Object(map) = value else { return Err(self.wrong(ty, value)) };
                map.values_mut().try_for_each(|value| self.element(item, value))?;
                if *name == "v1.ResourceList" {
                    round_amounts(map);
                }
                Ok(())
            }
        }
    }

    /// An element of a list or a map, which cannot be left out.
    fn element(&mut self, ty: &'static GoType, value: &mut Value) -> Result<(), String> {
        if value.is_null() {
            *value = match ty {
                // An empty text, once it was stored.
                GoType::Scalar(Scalar::Bytes, _) => "".into(),
                _ => zero_of(ty),
            };
        }
        self.value(ty, value)
    }

    /// A schema, a list of schemas, or another value.
    fn schemas(&mut self, value: &mut Value) -> Result<(), String> {
        let Some(schema) =
            table::by_name("apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
        else {
            return Ok(());
        };
        match value {
            Value::Object(_) => self.structure(schema, value),
            Value::Array(list) => {
                let mut schemas = list.iter_mut().filter(|value| value.is_object());
                schemas.try_for_each(|value| self.structure(schema, value))
            }
            _ => Ok(()),
        }
    }

    fn wrong(&self, ty: &GoType, value: &Value) -> String {
        self.refuse(Mismatch::Type { found: found(value), wanted: go_name(ty) })
    }

    fn refuse(&self, why: Mismatch) -> String {
        match why {
            Mismatch::Text(text) => text,
            Mismatch::Type { found, wanted } if self.path.is_empty() => {
                format!("json: cannot unmarshal {found} into Go value of type {wanted}")
            }
            Mismatch::Type { found, wanted } => {
                let (owner, path) = (self.owner.short_name(), self.path.join("."));
                format!("json: cannot unmarshal {found} into Go struct field {owner}.{path} of type {wanted}")
            }
        }
    }
}

fn found(value: &Value) -> String {
    crate::schema::golang::json_type(value).to_owned()
}

/// Whether a field need not be there: what it holds is what it would hold without being set.
fn is_zero(ty: &GoType, value: &Value) -> bool {
    match ty {
        GoType::Pointer(_) => value.is_null(),
        GoType::Scalar(scalar, _) => scalars::is_zero(*scalar, value),
        GoType::List(_) => value.as_array().is_none_or(Vec::is_empty),
        GoType::Map(..) => value.as_object().is_none_or(Map::is_empty),
        // `{}` stays, so that `default` sees a struct that was named.
        GoType::Struct(_) => value.is_null(),
    }
}

fn round_amounts(amounts: &mut Map<String, Value>) {
    for amount in amounts.values_mut() {
        if let Some(Ok(rounded)) = amount.as_str().map(quantity_text::canonical_resource) {
            *amount = rounded.into();
        }
    }
}

/// The type as Go prints it.
fn go_name(ty: &GoType) -> String {
    match ty {
        GoType::Pointer(inner) => go_name(inner),
        GoType::List(inner) => format!("[]{}", go_name(inner)),
        GoType::Map(inner, "") => format!("map[string]{}", go_name(inner)),
        GoType::Map(_, name) => (*name).to_owned(),
        GoType::Struct(structure) => {
            let mut parts = structure.name.rsplit('.');
            let name = parts.next().unwrap_or_default();
            format!("{}.{name}", parts.next().unwrap_or_default())
        }
        GoType::Scalar(_, name) if !name.is_empty() => (*name).to_owned(),
        GoType::Scalar(scalar, _) => match scalar {
            Scalar::Bool => "bool",
            Scalar::Uint8 => "uint8",
            Scalar::Int32 => "int32",
            Scalar::Int64 => "int64",
            Scalar::Float => "float64",
            Scalar::Bytes => "[]uint8",
            Scalar::Quantity => "resource.Quantity",
            _ => "string",
        }
        .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::encode, *};

    fn normal(name: &str, mut object: Value) -> Result<Value, String> {
        let root = table::by_name(name).unwrap();
        decode(root, &mut object)?;
        encode::encode(root, &mut object);
        Ok(object)
    }

    #[test]
    fn zero_values_are_printed_as_by_go() {
        let map = json!({"data": {"x": null, "y": "z"}, "binaryData": {}, "immutable": false});
        let wanted = json!({"metadata": {}, "data": {"x": "", "y": "z"}, "immutable": false});
        assert_eq!(normal("api.core.v1.ConfigMap", map), Ok(wanted), "a pointer keeps its false");
        let role = json!({"metadata": {"creationTimestamp": null, "labels": {}}, "rules": []});
        assert_eq!(normal("api.rbac.v1.Role", role), Ok(json!({"metadata": {}, "rules": null})));
        for (lifecycle, kept) in [(json!({"stopSignal": "SIGTERM"}), false), (json!({}), true)] {
            let container = normal("api.core.v1.Container", json!({"lifecycle": lifecycle})).unwrap();
            assert_eq!(container.get("lifecycle").is_some(), kept);
        }
        let selector = json!({"resource": "limits.cpu"});
        let wanted = json!({"resource": "limits.cpu", "divisor": "0"});
        assert_eq!(normal("api.core.v1.ResourceFieldSelector", selector), Ok(wanted));
        let port = json!({"port": 80, "nodePort": 0, "name": "", "targetPort": null});
        assert_eq!(normal("api.core.v1.ServicePort", port), Ok(json!({"port": 80, "targetPort": 0})));
        let condition =
            json!({"type": "a", "status": "True", "lastProbeTime": "2020-01-01T01:00:00.5+01:00"});
        let wanted = json!({"type": "a", "status": "True", "lastProbeTime": "2020-01-01T00:00:00Z", "lastTransitionTime": null});
        assert_eq!(normal("api.core.v1.PodCondition", condition), Ok(wanted));
    }

    /// What `v1.37` answered to each.
    #[test]
    fn a_schema_or_a_bool_is_nothing_else() {
        let name = "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
        let decoded = |value: Value| normal(name, json!({"additionalProperties": value}));
        assert!(decoded(json!(true)).is_ok() && decoded(json!({"type": "string"})).is_ok());
        for other in [json!(7), json!([])] {
            assert_eq!(decoded(other), Err("boolean or JSON schema expected".to_owned()));
        }
    }

    /// What `v1.37` answered to each.
    #[test]
    fn wrong_types_are_refused_in_the_words_of_go() {
        for (replaced, why) in [
            (
                json!({"replicas": "x"}),
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                json!({"replicas": 1.5}),
                "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                json!({"replicas": 3_000_000_000_u64}),
                "json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                json!({"replicas": []}),
                "json: cannot unmarshal array into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                json!({"strategy": "x"}),
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.strategy of type v1.DeploymentStrategy",
            ),
            (
                json!({"strategy": {"type": 5}}),
                "json: cannot unmarshal number into Go struct field DeploymentStrategy.spec.strategy.type of type v1.DeploymentStrategyType",
            ),
            (
                json!({"strategy": {"rollingUpdate": {"maxSurge": true}}}),
                "json: cannot unmarshal bool into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32",
            ),
            (
                json!({"template": {"metadata": {"labels": {"a": 1}}}}),
                "json: cannot unmarshal number into Go struct field ObjectMeta.spec.template.metadata.labels of type string",
            ),
            (
                json!({"template": {"metadata": {"labels": [1]}}}),
                "json: cannot unmarshal array into Go struct field ObjectMeta.spec.template.metadata.labels of type map[string]string",
            ),
            (
                json!({"template": {"spec": {"containers": {}}}}),
                "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
            ),
            (
                json!({"template": {"spec": {"containers": ["x"]}}}),
                "json: cannot unmarshal string into Go struct field PodSpec.spec.template.spec.containers of type v1.Container",
            ),
            (
                json!({"template": {"metadata": {"creationTimestamp": "x"}}}),
                "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"",
            ),
            (
                json!({"template": {"metadata": {"creationTimestamp": 5}}}),
                "json: cannot unmarshal number into Go struct field ObjectMeta.spec.template.metadata.creationTimestamp of type string",
            ),
            (
                json!({"template": {"metadata": {"deletionTimestamp": "2020-13-01T00:00:00Z"}}}),
                "parsing time \"2020-13-01T00:00:00Z\": month out of range",
            ),
            (
                json!({"template": {"spec": {"overhead": "x"}}}),
                "json: cannot unmarshal string into Go struct field PodSpec.spec.template.spec.overhead of type v1.ResourceList",
            ),
        ] {
            assert_eq!(normal("api.apps.v1.Deployment", json!({"spec": replaced})), Err(why.into()));
        }
        for (text, why) in [
            ("eA", 0),
            ("eA==eA==", 4),
            ("e", 0),
            ("e===", 1),
            ("eHh!", 3),
            ("eHh4e", 4),
            ("====", 0),
            ("e A==", 1),
            ("-_8=", 0),
            ("eHh4=", 4),
        ] {
            let refused = normal("api.core.v1.Secret", json!({"data": {"a": text}}));
            assert_eq!(refused, Err(format!("illegal base64 data at input byte {why}")), "{text}");
        }
        for (text, canonical) in
            [("eA==\n", "eA=="), ("eB==", "eA=="), ("eHh4\r\neHh4", "eHh4eHh4"), ("", "")]
        {
            let secret = normal("api.core.v1.Secret", json!({"data": {"a": text}})).unwrap();
            assert_eq!(secret["data"]["a"], canonical);
        }
    }
}
