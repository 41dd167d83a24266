//! Types of k8s-openapi whose schemas lack information.
//!
//! `IntOrString` and `Quantity` have no `type`, and schemars assumes that such a node allows `null` anyway: inlined, the schemas of
//! `T` and `Option<T>` are equal. For a type whose schema is just being generated, however, schemars writes a reference, and a
//! reference differs from an optional one. So the root is generated as if it were nested in each of these types.
//! The schemas of `RawExtension`, `FieldsV1` and `JSON` do not allow the arbitrary fields of these types.

use std::{borrow::Cow, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use super::node::OPEN;

/// `T` as the root of a document that references the types of this file instead of inlining them.
pub(super) struct Root<T: ?Sized>(PhantomData<T>);

impl<T: JsonSchema + ?Sized> JsonSchema for Root<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        type Nested<T> = Within<
            IntOrString,
            Within<Quantity, Within<RawExtension, Within<FieldsV1, Within<Json, Aliased<T>>>>>,
        >;
        generator.subschema_for::<Nested<T>>()
    }
}

/// Adds the missing keywords to the definitions of these types in a document of [`Root`].
pub(super) fn complete_definitions(document: &mut Schema) {
    let string_or_number = json!({ "nullable": false });
    let any_fields = json!({ OPEN: true });
    let any_value = json!({ OPEN: true, "nullable": true, "type": null });
    for (id, changes) in [
        (IntOrString::ID, &string_or_number),
        (Quantity::ID, &string_or_number),
        (RawExtension::ID, &any_fields),
        (FieldsV1::ID, &any_fields),
        (Json::ID, &any_value),
    ] {
        let definition = document.pointer_mut(&format!("/components/schemas/{id}"));
        if let (Some(Value::Object(definition)), Value::Object(changes)) = (definition, changes) {
            definition.extend(changes.clone());
        }
    }
}

/// `T`, generated as if nested in the type with the schema id `I`.
struct Within<I, T: ?Sized>(PhantomData<I>, PhantomData<T>);

impl<I: SchemaId, T: JsonSchema + ?Sized> JsonSchema for Within<I, T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        I::ID.into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }
}

/// `T` under another schema id: [`Root`] already has that of `T`, and schemars would write a reference to the root.
struct Aliased<T: ?Sized>(PhantomData<T>);

impl<T: JsonSchema + ?Sized> JsonSchema for Aliased<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        concat!(module_path!(), "::Aliased").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// The `schema_id` of a type for schemars.
trait SchemaId {
    const ID: &'static str;
}

macro_rules! ids {
    ($($name:ident = $id:literal;)*) => {
        $(
            struct $name;

            impl SchemaId for $name {
                const ID: &'static str = $id;
            }
        )*
    };
}

ids! {
    IntOrString = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
    Quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity";
    RawExtension = "io.k8s.apimachinery.pkg.runtime.RawExtension";
    FieldsV1 = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1";
    Json = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON";
}
