//! The rewriting as a schemars transform, and all steps from a type to the schema in its CRD.

use std::cell::RefCell;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use schemars::{
    JsonSchema, Schema, SchemaGenerator,
    generate::SchemaSettings,
    json_schema,
    transform::{Transform, transform_subschemas},
};
use serde_json::Value;

use super::{
    error::SchemaError,
    k8s_types,
    keywords::for_servers,
    merge_strategy::{self, MisplacedStrategy},
    node::Node,
    optional::{OptionalEnum, OptionalIntOrString},
    refs::{self, Recursion},
    rewrite::Rewriter,
};

/// Rewrites a schema into a structural one, as described in the [module](super).
///
/// Applies to a whole document (`$ref`s are resolved from the root), of any draft that schemars writes, inlined or not. Every
/// value that the original schema allows is still allowed, and none of its fields is pruned. Apply [`OptionalEnum`] after it.
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
        rewrite(schema);
    }
}

/// The rewriting, and each `not` that the result lacks.
fn rewrite(schema: &mut Schema) -> Vec<Value> {
    let rewriter = Rewriter { root: std::mem::take(schema).to_value(), lost: RefCell::default() };
    *schema = rewriter.node(rewriter.root.clone()).into();
    EachNode(for_servers).transform(schema);
    rewriter.lost.into_inner()
}

/// Applies a function to every node of a schema.
struct EachNode(fn(&mut Node));

impl Transform for EachNode {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        if let Some(node) = schema.as_object_mut() {
            self.0(node);
        }
    }
}

/// The structural schema of `T`, as in the CRD of a kind of this type.
///
/// Generated on each call, in time linear in the size of the schema (a few milliseconds for that of a Pod): keep the result if
/// you need it often.
///
/// ```
/// use kube_core::schema::structural_schema;
///
/// #[derive(schemars::JsonSchema)]
/// struct Tree {
///     children: Vec<Tree>,
/// }
///
/// let error = structural_schema::<Tree>().unwrap_err().to_string();
/// assert!(error.contains("`Tree` contains itself at `.children[*]`"), "{error}");
///
/// #[derive(schemars::JsonSchema)]
/// struct OpenTree {
///     #[schemars(with = "Vec<serde_json::Value>")]
///     children: Vec<OpenTree>,
/// }
///
/// assert!(structural_schema::<OpenTree>().is_ok());
/// ```
///
/// # Errors
///
/// For a type that contains itself, a merge strategy at a value of the wrong type, and in handwritten schemas a `not` that servers do
/// not accept, and keywords of the wrong JSON type: see [`SchemaError`].
pub fn structural_schema<T: JsonSchema + ?Sized>() -> Result<JSONSchemaProps, SchemaError> {
    structural(generator().into_root_schema_for::<k8s_types::Root<T>>(), &T::schema_name())
}

fn generator() -> SchemaGenerator {
    // These settings already turn null types into `nullable`.
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator()
}

/// [`structural_schema`] for a derived definition, which has no way to return an error.
///
/// # Panics
/// With the error.
#[doc(hidden)]
#[must_use]
#[track_caller]
pub fn expect_structural_schema<T: JsonSchema + ?Sized>() -> JSONSchemaProps {
    fn checked(schema: Result<JSONSchemaProps, SchemaError>) -> JSONSchemaProps {
        schema.unwrap_or_else(|error| panic!("{error}"))
    }
    checked(structural_schema::<T>())
}

/// The schema of a derived kind, of a spec and perhaps a status. It requires none of them.
#[doc(hidden)]
#[must_use]
pub fn object_schema(description: &str, spec: Schema, status: Option<Schema>) -> Schema {
    let mut properties = Node::new();
    properties.insert("spec".to_owned(), spec.to_value());
    if let Some(status) = status {
        properties.insert("status".to_owned(), status.to_value());
    }
    json_schema!({
        "description": description,
        "type": "object",
        "properties": properties,
    })
}

/// Requires one more field of an object.
#[doc(hidden)]
pub fn require(schema: &mut Schema, name: &str) {
    let required = schema.ensure_object().entry("required").or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(names) = required {
        names.push(name.into());
    }
}

/// The structural schema of the type with this name.
fn structural(mut schema: Schema, root: &str) -> Result<JSONSchemaProps, SchemaError> {
    k8s_types::complete_definitions(&mut schema);
    if let Some(Recursion { target, path }) = refs::find_recursion(schema.as_value()) {
        let type_name = target
            .rsplit('/')
            .next()
            .filter(|name| *name != "#")
            .map_or_else(|| root.to_owned(), str::to_owned);
        let path = if path.is_empty() { ".".to_owned() } else { path };
        return Err(SchemaError::Recursive { root: root.to_owned(), type_name, path });
    }
    if let Some(condition) = rewrite(&mut schema).pop() {
        return Err(SchemaError::Condition { root: root.to_owned(), condition: condition.to_string() });
    }
    OptionalEnum.transform(&mut schema);
    OptionalIntOrString.transform(&mut schema);
    EachNode(|node| node.retain(|key, value| key != "nullable" || value != false)).transform(&mut schema);
    if let Some(MisplacedStrategy { keyword, wanted, found, path }) =
        merge_strategy::find_misplaced(schema.as_value(), "")
    {
        let path = if path.is_empty() { ".".to_owned() } else { path };
        return Err(SchemaError::Strategy { root: root.to_owned(), keyword, wanted, found, path });
    }
    serde_json::from_value(schema.to_value())
        .map_err(|source| SchemaError::Keyword { root: root.to_owned(), source })
}
