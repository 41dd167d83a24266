//! The rewriting as a schemars transform, and the whole way from a type to the schema in its CRD.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use schemars::{
    JsonSchema, Schema,
    generate::SchemaSettings,
    transform::{Transform, transform_subschemas},
};

use super::{
    Node, OptionalEnum, OptionalIntOrString, SchemaError,
    keywords::bounds_for_servers,
    known,
    recursion::{self, Recursion},
    rewrite::Rewriter,
    strategy::{self, Misplaced},
};

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
        EachNode(bounds_for_servers).transform(schema);
    }
}

/// Does something to every node of a schema.
struct EachNode(fn(&mut Node));

impl Transform for EachNode {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        if let Some(node) = schema.as_object_mut() {
            self.0(node);
        }
    }
}

/// The structural schema of `T`, as the CRD of a kind with this type carries it.
///
/// Generates anew each time, in time linear in the size of the schema (the definition of a Pod takes
/// a few milliseconds): keep the result where it is needed often.
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
/// A type that contains itself, a merge strategy at a value of another type, and keywords of the wrong JSON type in schemas written
/// by hand: see [`SchemaError`].
pub fn structural_schema<T: JsonSchema + ?Sized>() -> Result<JSONSchemaProps, SchemaError> {
    let root = || T::schema_name().into_owned();
    // These settings turn null types into `nullable` by themselves.
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<known::Root<T>>();
    known::complete(&mut schema);
    if let Some(Recursion { target, path }) = recursion::find(schema.as_value()) {
        let type_name =
            target.rsplit('/').next().filter(|name| *name != "#").map_or_else(root, str::to_owned);
        let path = if path.is_empty() { ".".to_owned() } else { path };
        return Err(SchemaError::Recursive { root: root(), type_name, path });
    }
    StructuralSchemaRewriter.transform(&mut schema);
    OptionalEnum.transform(&mut schema);
    OptionalIntOrString.transform(&mut schema);
    EachNode(|node| node.retain(|key, value| key != "nullable" || value != false)).transform(&mut schema);
    if let Some(Misplaced { keyword, wanted, found, path }) = strategy::find(schema.as_value(), "") {
        let path = if path.is_empty() { ".".to_owned() } else { path };
        return Err(SchemaError::Strategy { root: root(), keyword, wanted, found, path });
    }
    serde_json::from_value(schema.to_value()).map_err(|source| SchemaError::Keyword { root: root(), source })
}
