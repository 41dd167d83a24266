//! Reads an object as Go decodes it: refuses wrong types, brings scalars into their canonical form and drops what is zero.

use serde_json::{Map, Value};

use super::{
    encode::zero_of,
    scalars::{self, Mismatch},
    table::{GoStruct, GoType, Presence, Scalar, by_name},
};
use crate::{object::quantity_text, schema::golang};

/// Decodes an object of a kind in place. Unknown fields stay. Fields that are zero or switched off are gone, and null elements have become
/// zero values: defaults are for the first, not for the second.
///
/// # Errors
/// The first value of a wrong type, in the words of Go's decoder.
pub(crate) fn decode(root: &'static GoStruct, object: &mut Value) -> Result<(), String> {
    let mut walk = Walk { path: Vec::new(), owner: root };
    walk.structure(root, object)
}

/// Why the metadata of an object cannot be decoded; null is none.
pub(crate) fn undecodable_metadata(metadata: &Value) -> Option<String> {
    let root = by_name("apimachinery.pkg.apis.meta.v1.ObjectMeta").filter(|_| !metadata.is_null())?;
    decode(root, &mut metadata.clone()).err()
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
                actual: json_type(value),
                expected: go_name(&GoType::Struct(structure)),
            }));
        };
        let outer = std::mem::replace(&mut self.owner, structure);
        let (mut zero, mut off) = (Vec::new(), false);
        for (name, value) in map.iter_mut() {
            let Some(field) = structure.field(name) else { continue };
            off |= field.off && !value.is_null();
            self.path.push(field.name);
            self.value(&field.ty, value)?;
            self.path.pop();
            // Errors about a definition tell a list without items from none; neither is ever stored.
            let is_reported = field.presence == Presence::Always
                && value.is_array()
                && structure.name.starts_with(DEFINITIONS);
            if field.off || !is_reported && is_zero(&field.ty, value) {
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
            GoType::SchemaOr(cases) => self.schemas(cases, value),
            GoType::Scalar(scalar, name) => {
                scalars::normalize(*scalar, name, value).map_err(|why| self.refuse(why))
            }
            GoType::List(item) | GoType::Items(item) => {
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

    /// A schema, or what else the type allows: a bool, a list of schemas or of texts. Go leaves out everything else, and empty lists.
    fn schemas(&mut self, cases: &'static GoStruct, value: &mut Value) -> Result<(), String> {
        let types = || cases.fields().iter().map(|field| &field.ty);
        let fitting = types().find(|ty| match value {
            Value::Object(_) => matches!(ty, GoType::Pointer(_)),
            Value::Array(list) => matches!(ty, GoType::List(_)) && !list.is_empty(),
            Value::Bool(_) => matches!(ty, GoType::Scalar(Scalar::Bool, _)),
            _ => false,
        });
        match fitting {
            Some(ty) => self.value(ty, value),
            None if types().any(|ty| matches!(ty, GoType::Scalar(Scalar::Bool, _))) => {
                Err(self.refuse(Mismatch::Text("boolean or JSON schema expected".to_owned())))
            }
            None => {
                *value = Value::Null;
                Ok(())
            }
        }
    }

    fn wrong(&self, ty: &GoType, value: &Value) -> String {
        self.refuse(Mismatch::Type { actual: json_type(value), expected: go_name(ty) })
    }

    fn refuse(&self, why: Mismatch) -> String {
        match why {
            Mismatch::Text(text) => text,
            Mismatch::Type { actual, expected } if self.path.is_empty() => {
                format!("json: cannot unmarshal {actual} into Go value of type {expected}")
            }
            Mismatch::Type { actual, expected } => {
                let (owner, path) = (self.owner.short_name(), self.path.join("."));
                format!(
                    "json: cannot unmarshal {actual} into Go struct field {owner}.{path} of type {expected}"
                )
            }
        }
    }
}

fn json_type(value: &Value) -> String {
    golang::json_type(value).to_owned()
}

/// Whether a field need not be there: what it holds is what it would hold without being set.
fn is_zero(ty: &GoType, value: &Value) -> bool {
    match ty {
        GoType::Pointer(_) => value.is_null(),
        GoType::Scalar(scalar, _) => scalars::is_zero(*scalar, value),
        GoType::List(_) | GoType::Items(_) => value.as_array().is_none_or(Vec::is_empty),
        GoType::Map(..) => value.as_object().is_none_or(Map::is_empty),
        // `{}` stays, so that `default` sees a struct that was named.
        GoType::Struct(_) | GoType::SchemaOr(_) => value.is_null(),
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
        GoType::List(inner) | GoType::Items(inner) => format!("[]{}", go_name(inner)),
        GoType::Map(inner, "") => format!("map[string]{}", go_name(inner)),
        GoType::Map(_, name) => (*name).to_owned(),
        GoType::Struct(structure) | GoType::SchemaOr(structure) => {
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
            // Lists that clients send have such elements in definitions only.
            Scalar::Raw => "v1.JSON",
            _ => "string",
        }
        .to_owned(),
    }
}
