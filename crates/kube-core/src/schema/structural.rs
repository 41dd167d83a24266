//! The rewriting as a schemars transform, and the whole way from a type to the schema in its CRD.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use schemars::{
    JsonSchema, Schema,
    generate::SchemaSettings,
    transform::{AddNullable, Transform},
};

use super::{OptionalEnum, OptionalIntOrString, rewrite::Rewriter};

/// Rewrites a schema into a structural one; the [module](super) says what becomes of what.
///
/// Works on the whole document (it follows `$ref`s from the root), on schemas of any draft that schemars writes, inlined or not.
/// Every value that the original schema allows is still allowed, and no field of it is pruned.
/// Apply [`OptionalEnum`] after it.
///
/// ```
/// use kube_core::schema::StructuralSchemaRewriter;
/// use schemars::{json_schema, transform::Transform};
///
/// let mut schema = json_schema!({
///     "oneOf": [
///         { "type": "object", "required": ["tcp"], "properties": { "tcp": { "type": "integer" } } },
///         { "type": "object", "required": ["unix"], "properties": { "unix": { "type": ["string", "null"] } } },
///     ],
/// });
/// StructuralSchemaRewriter.transform(&mut schema);
/// assert_eq!(schema, json_schema!({
///     "type": "object",
///     "properties": { "tcp": { "type": "integer" }, "unix": { "type": "string", "nullable": true } },
///     "oneOf": [{ "required": ["tcp"] }, { "required": ["unix"] }],
/// }));
/// ```
#[derive(Clone, Debug)]
pub struct StructuralSchemaRewriter;

impl Transform for StructuralSchemaRewriter {
    fn transform(&mut self, schema: &mut Schema) {
        let rewriter = Rewriter { root: std::mem::take(schema).to_value() };
        *schema = rewriter.node(rewriter.root.clone()).into();
    }
}

/// The structural schema of `T`, as the CRD of a kind with this type carries it.
///
/// Generates anew each time, in time linear in the size of the schema (the definition of a Pod takes
/// a few milliseconds): keep the result where it is needed often.
///
/// # Panics
///
/// When a schema written by hand (`schemars(schema_with)`, `schemars(extend)`, an own `JsonSchema`) has a keyword
/// of the wrong JSON type, such as `"maxLength": "3"`. The message names the type and what was found.
#[must_use]
pub fn structural_schema<T: JsonSchema + ?Sized>() -> JSONSchemaProps {
    let settings = SchemaSettings::openapi3()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .with_transform(AddNullable::default())
        .with_transform(StructuralSchemaRewriter)
        .with_transform(OptionalEnum)
        .with_transform(OptionalIntOrString);
    let schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    serde_json::from_value(schema).unwrap_or_else(|error| {
        panic!("the schema of {} has a keyword of the wrong type: {error}", T::schema_name())
    })
}
