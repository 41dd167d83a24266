//! From schemas to types.

use std::rc::Rc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

use super::graph::{Field, Graph, Presence, Root, Shape, Ty, Use};
use crate::types::error::Error;
use crate::types::overrides::{Override, Overrides, Used};
use crate::types::read::{Definition, Definitions};
use crate::types::shapes::Known;

/// The levels of a schema. Kubernetes has no limit of its own; the text of a definition may have 128 levels, two of which are a level of a
/// schema.
const MAX_DEPTH: usize = 128;

/// The types of all versions of all definitions.
///
/// # Errors
/// [`Error::Definition`] for a schema that is too deep or not of an object, [`Error::Overrides`] for an override without effect.
pub(in crate::types) fn build<'a>(
    definitions: &'a Definitions,
    overrides: &'a Overrides,
) -> Result<Graph<'a>, Error> {
    let mut graph = Graph::default();
    let mut used = overrides.unused();
    for (kind, definition) in definitions.entries().iter().enumerate() {
        for (version, found) in definition.crd.spec.versions.iter().enumerate() {
            let schema = found.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
            let builder = Builder {
                graph: &mut graph,
                overrides,
                used: &mut used,
                definition,
                version: &found.name,
                at: (kind, version),
            };
            builder.root(schema)?;
        }
    }
    overrides.check(&used)?;
    Ok(graph)
}

/// Builds the types of one version.
struct Builder<'a, 'b> {
    graph: &'b mut Graph<'a>,
    overrides: &'a Overrides,
    used: &'b mut Used,
    definition: &'a Definition,
    version: &'a str,
    at: (usize, usize),
}

/// Where a schema is in that of the object.
#[derive(Clone, Default)]
struct Location<'a> {
    /// As in messages and overrides, such as `.spec.rules[*].host`.
    text: String,
    names: Vec<&'a str>,
    depth: usize,
}

impl<'a> Location<'a> {
    fn field(&self, name: &'a str) -> Self {
        let mut names = self.names.clone();
        names.push(name);
        Self { text: format!("{}.{name}", self.text), names, depth: self.depth + 1 }
    }

    fn item(&self) -> Self {
        Self { text: format!("{}[*]", self.text), names: self.names.clone(), depth: self.depth + 1 }
    }
}

impl<'a> Builder<'a, '_> {
    fn root(mut self, schema: Option<&'a JSONSchemaProps>) -> Result<(), Error> {
        let here = Location::default();
        if let Some(type_) =
            schema.and_then(|schema| schema.type_.as_deref()).filter(|type_| *type_ != "object")
        {
            return Err(self.error(&here, format!("expected the type object, found {type_}")));
        }
        let property = |name: &str| schema.and_then(|schema| schema.properties.as_ref()?.get_key_value(name));
        let status = match property("status") {
            Some((name, status)) => Some(self.ty(status, &here.field(name))?),
            None => None,
        };
        let (kind, version) = self.at;
        let doc = schema.and_then(|schema| schema.description.as_deref());
        let required = |name: &str| schema.is_some_and(|schema| is_required(schema, name));
        let others = schema.is_none_or(is_open)
            || schema.and_then(|schema| schema.properties.as_ref()).into_iter().flatten().any(|(name, _)| {
                !matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "spec" | "status")
            });
        if let Some((name, spec)) =
            property("spec").filter(|(_, spec)| !others && is_object(spec) && spec.nullable != Some(true))
        {
            let at = here.field(name);
            if self.overrides.of(&self.definition.crd, self.version, &at.text, self.used).is_some() {
                return Err(
                    self.error(&at, "expected an override of a field below the spec, found one of the spec")
                );
            }
            let body = self.structure(spec, &at)?;
            let body = self.graph.add(body.0, body.1);
            // Without a default there is no spec for an object that lacks it.
            let optional_spec = !required("spec") && self.graph.types[body.0].has_default;
            self.graph.roots.push(Root { kind, version, doc, body, no_spec: false, optional_spec, status });
            return Ok(());
        }
        let (shape, here) = match schema {
            Some(schema) => self.structure(schema, &here)?,
            None => (Shape::Struct { fields: Vec::new(), open: true }, self.here(&here, None)),
        };
        let body = self.graph.add(shape, here);
        self.graph.roots.push(Root { kind, version, doc, body, no_spec: true, optional_spec: false, status });
        Ok(())
    }

    /// The type of a value, which may be null if the schema says so.
    fn ty(&mut self, schema: &'a JSONSchemaProps, at: &Location<'a>) -> Result<Ty, Error> {
        if at.depth > MAX_DEPTH {
            return Err(self.error(at, format!("expected at most {MAX_DEPTH} levels")));
        }
        let exception = self.overrides.of(&self.definition.crd, self.version, &at.text, self.used);
        let ty = match exception {
            Some(Override::Type(text)) => Ty::Custom(text.into()),
            Some(Override::Generated) => self.generated(schema, at)?,
            Some(Override::Name(_)) | None => match Known::of(schema).filter(|_| exception.is_none()) {
                Some(known) => Ty::Known(known),
                None => self.generated(schema, at)?,
            },
        };
        if let Some(Override::Name(name)) = exception {
            self.rename(&ty, name, at)?;
        }
        Ok(if schema.nullable == Some(true) && ty != Ty::Any { Ty::Nullable(Box::new(ty)) } else { ty })
    }

    fn rename(&mut self, ty: &Ty, name: &str, at: &Location<'a>) -> Result<(), Error> {
        let Ty::Named(id) = ty else {
            return Err(
                self.error(at, format!("expected an object or an enum for the override of its name, {name}"))
            );
        };
        let given = self.graph.types[id.0].name.get_or_insert_with(|| name.to_owned());
        if given == name {
            return Ok(());
        }
        let reason = format!("expected one name for one type, found the overrides {given} and {name}");
        Err(self.error(at, reason))
    }

    fn generated(&mut self, schema: &'a JSONSchemaProps, at: &Location<'a>) -> Result<Ty, Error> {
        if schema.x_kubernetes_int_or_string == Some(true) {
            return Ok(Ty::Any);
        }
        Ok(match schema.type_.as_deref() {
            Some("boolean") => Ty::Bool,
            Some("number") => Ty::Float,
            Some("integer") => match integers(schema) {
                Some(values) => self.value_set(Shape::Integers(values), schema, at),
                None if schema.format.as_deref() == Some("int32") => Ty::Int32,
                None => Ty::Int64,
            },
            Some("string") => match texts(schema) {
                Some(values) => self.value_set(Shape::Texts(values), schema, at),
                None => Ty::Text,
            },
            Some("array") => Ty::List(Box::new(match &schema.items {
                Some(JSONSchemaPropsOrArray::Schema(items)) => self.ty(items, &at.item())?,
                Some(JSONSchemaPropsOrArray::Schemas(_)) | None => Ty::Any,
            })),
            _ if is_object(schema) => self.object(schema, at)?,
            _ => Ty::Any,
        })
    }

    fn object(&mut self, schema: &'a JSONSchemaProps, at: &Location<'a>) -> Result<Ty, Error> {
        if schema.properties.as_ref().is_some_and(|properties| !properties.is_empty()) {
            let (shape, here) = self.structure(schema, at)?;
            return Ok(Ty::Named(self.graph.intern(shape, here)));
        }
        let values = match &schema.additional_properties {
            Some(JSONSchemaPropsOrBool::Schema(values)) => self.ty(values, &at.item())?,
            Some(JSONSchemaPropsOrBool::Bool(_)) | None => Ty::Any,
        };
        Ok(Ty::Map(Box::new(values)))
    }

    fn value_set(&mut self, shape: Shape, schema: &'a JSONSchemaProps, at: &Location<'a>) -> Ty {
        let here = self.here(at, schema.description.as_deref());
        Ty::Named(self.graph.intern(shape, here))
    }

    /// The fields of an object; of the root those that are not in every object.
    fn structure(
        &mut self,
        schema: &'a JSONSchemaProps,
        at: &Location<'a>,
    ) -> Result<(Shape, Use<'a>), Error> {
        let mut fields = Vec::new();
        let mut here = self.here(at, schema.description.as_deref());
        for (name, field) in schema.properties.iter().flatten() {
            if at.depth == 0 && matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status") {
                continue;
            }
            let ty = self.ty(field, &at.field(name))?;
            let (ty, presence) = match (is_required(schema, name), ty) {
                (true, ty) => (ty, Presence::Required),
                (false, Ty::Nullable(ty)) if field.default.is_some() => (*ty, Presence::OptionalOrNull),
                (false, Ty::Nullable(ty)) => (*ty, Presence::Optional),
                (false, ty) => (ty, Presence::Optional),
            };
            fields.push(Field { name: name.clone(), ty, presence });
            here.field_docs.push(field.description.as_deref());
        }
        let values = matches!(
            schema.additional_properties,
            Some(JSONSchemaPropsOrBool::Schema(_) | JSONSchemaPropsOrBool::Bool(true))
        );
        Ok((Shape::Struct { fields, open: is_open(schema) || values }, here))
    }

    fn here(&self, at: &Location<'a>, doc: Option<&'a str>) -> Use<'a> {
        let (kind, version) = self.at;
        Use { kind, version, path: Rc::from(at.names.as_slice()), doc, field_docs: Vec::new() }
    }

    fn error(&self, at: &Location<'a>, reason: impl Into<String>) -> Error {
        let (_, version) = self.at;
        Error::Definition {
            at: self.definition.at.clone(),
            field: format!(
                "spec.versions[{version}].schema.openAPIV3Schema, {}",
                if at.text.is_empty() { "." } else { &at.text }
            ),
            reason: reason.into(),
        }
    }
}

fn is_required(schema: &JSONSchemaProps, name: &str) -> bool {
    schema.required.iter().flatten().any(|required| required == name)
}

/// Whether a value may have fields that the schema does not list. An embedded resource has its `metadata`, listed or not.
fn is_open(schema: &JSONSchemaProps) -> bool {
    schema.x_kubernetes_preserve_unknown_fields == Some(true)
        || schema.x_kubernetes_embedded_resource == Some(true)
}

fn is_object(schema: &JSONSchemaProps) -> bool {
    match schema.type_.as_deref() {
        Some(type_) => type_ == "object",
        None => schema.properties.is_some() && schema.x_kubernetes_int_or_string != Some(true),
    }
}

/// The texts of an enum, each once. Values of other types can never occur.
fn texts(schema: &JSONSchemaProps) -> Option<Vec<String>> {
    let values = schema.enum_.iter().flatten().filter_map(|value| value.0.as_str());
    unique(values.map(str::to_owned))
}

fn integers(schema: &JSONSchemaProps) -> Option<Vec<i64>> {
    unique(schema.enum_.iter().flatten().filter_map(|value| value.0.as_i64()))
}

/// `None` if there is none.
fn unique<T: PartialEq>(values: impl Iterator<Item = T>) -> Option<Vec<T>> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    (!found.is_empty()).then_some(found)
}
