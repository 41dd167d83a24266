//! Types of k8s-openapi whose schemas leave out what decides here.
//!
//! `IntOrString` and `Quantity` have no `type`, and schemars takes such a node for one that allows `null` anyway: inlined, the
//! schemas of `T` and `Option<T>` are the same. But schemars refers to a type that it is just describing, and makes a difference
//! between a reference and an optional one. So the root is described as if it were a part of each of these types.
//! `RawExtension`, `FieldsV1` and `JSON` hold any fields, which their schemas do not say.

use std::{borrow::Cow, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use super::keywords::OPEN;

/// `T` as the root of a document that refers to the types of this file instead of repeating them.
pub(super) struct Root<T: ?Sized>(PhantomData<T>);

impl<T: JsonSchema + ?Sized> JsonSchema for Root<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        type All<T> = Within<
            IntOrString,
            Within<Quantity, Within<RawExtension, Within<FieldsV1, Within<Json, Itself<T>>>>>,
        >;
        generator.subschema_for::<All<T>>()
    }
}

/// Completes the definitions of these types in a document of [`Root`].
pub(super) fn complete(document: &mut Schema) {
    let text_or_number = json!({ "nullable": false });
    let any_fields = json!({ OPEN: true });
    let any_value = json!({ OPEN: true, "nullable": true, "type": null });
    for (id, changes) in [
        (IntOrString::ID, &text_or_number),
        (Quantity::ID, &text_or_number),
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

/// `T`, described as a part of the type with the identity `I`.
struct Within<I, T: ?Sized>(PhantomData<I>, PhantomData<T>);

impl<I: Id, T: JsonSchema + ?Sized> JsonSchema for Within<I, T> {
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

/// `T` under another identity: [`Root`] has that of `T` already, and schemars would refer to the root.
struct Itself<T: ?Sized>(PhantomData<T>);

impl<T: JsonSchema + ?Sized> JsonSchema for Itself<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        concat!(module_path!(), "::Itself").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// The identity that a type has for schemars.
trait Id {
    const ID: &'static str;
}

macro_rules! ids {
    ($($name:ident = $id:literal;)*) => {
        $(
            struct $name;

            impl Id for $name {
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
