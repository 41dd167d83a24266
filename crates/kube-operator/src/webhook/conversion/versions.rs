//! [`Versions`]: typed conversions by way of one version, the hub.

use std::{collections::HashMap, fmt, marker::PhantomData};

use kube_core::Resource;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    convert::{ConversionError, Convert},
    partial::{self, Partial},
    stand_in::{self, Mismatch},
    unknown,
};

/// Conversions between any number of versions by way of one of them, the hub: each other version is converted to the hub and back.
///
/// Fields that the types do not have stay where they are. A partial object, as server-side apply needs it, is decoded with stand-ins for
/// the required fields that it lacks ([`example`](Self::example)), and what comes from these is left out of the result: the functions are
/// called a few times for it, with other values.
///
/// ```
/// # use k8s_openapi::api::{autoscaling::{v1, v2}};
/// use kube_operator::webhook::{Convert, Versions, Webhooks};
///
/// // The hub is autoscaling/v2 here; the other version needs conversions in both directions.
/// let versions = Versions::<v2::HorizontalPodAutoscaler>::new().version_with(
///     |old: v1::HorizontalPodAutoscaler| {
///         let metadata = old.metadata; // metadata must be kept
///         Ok::<_, String>(v2::HorizontalPodAutoscaler { metadata, ..Default::default() })
///     },
///     |new: v2::HorizontalPodAutoscaler| {
///         Ok::<_, String>(v1::HorizontalPodAutoscaler { metadata: new.metadata, ..Default::default() })
///     },
/// );
/// let object = serde_json::json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}});
/// let converted = versions.convert(object, "autoscaling/v2")?;
/// assert_eq!((&converted["apiVersion"], &converted["metadata"]["name"]), (&"autoscaling/v2".into(), &"a".into()));
/// let _ = Webhooks::new().convert(versions);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub struct Versions<Hub> {
    versions: Vec<Version<Hub>>,
    /// By version.
    examples: HashMap<String, Value>,
}

type Recode = dyn Fn(&Value) -> Result<Value, Mismatch> + Send + Sync;

struct Version<Hub> {
    api_version: String,
    /// The object as the type of this version has it. Reports what does not decode.
    recoded: Box<Recode>,
    to_hub: Box<dyn Fn(Value) -> Result<Hub, ConversionError> + Send + Sync>,
    from_hub: Box<dyn Fn(Hub) -> Result<Value, ConversionError> + Send + Sync>,
}

/// One version of a kind as a type. Implemented for every kind that fits; an alias of the bounds.
pub trait ConvertedObject: Resource<DynamicType = ()> + DeserializeOwned + Serialize + 'static {}

impl<K: Resource<DynamicType = ()> + DeserializeOwned + Serialize + 'static> ConvertedObject for K {}

impl<Hub: ConvertedObject> Default for Versions<Hub> {
    fn default() -> Self {
        Self::new()
    }
}

impl<Hub: ConvertedObject> Versions<Hub> {
    /// Only the hub.
    pub fn new() -> Self {
        let hub = Version {
            api_version: Hub::api_version(&()).into_owned(),
            recoded: Box::new(recode::<Hub>),
            to_hub: Box::new(decode::<Hub>),
            from_hub: Box::new(encode::<Hub>),
        };
        Self { versions: vec![hub], examples: HashMap::new() }
    }

    /// Adds a version by its implementations of `TryFrom` (or `From`) in both directions.
    #[must_use]
    pub fn version<V>(self) -> Self
    where
        V: ConvertedObject + TryFrom<Hub, Error: fmt::Display>,
        Hub: TryFrom<V, Error: fmt::Display>,
    {
        self.version_with(
            |object: V| Hub::try_from(object).map_err(|error| error.to_string()),
            |hub: Hub| V::try_from(hub).map_err(|error| error.to_string()),
        )
    }

    /// Adds a version by two functions: to the hub, and from it. Of two versions with one `apiVersion`, the first is used.
    #[must_use]
    pub fn version_with<V, E, F>(
        mut self,
        to_hub: impl Fn(V) -> Result<Hub, E> + Send + Sync + 'static,
        from_hub: impl Fn(Hub) -> Result<V, F> + Send + Sync + 'static,
    ) -> Self
    where
        V: ConvertedObject,
        E: Into<ConversionError>,
        F: Into<ConversionError>,
    {
        self.versions.push(Version {
            api_version: V::api_version(&()).into_owned(),
            recoded: Box::new(recode::<V>),
            to_hub: Box::new(move |object| to_hub(decode(object)?).map_err(Into::into)),
            from_hub: Box::new(move |hub| encode(from_hub(hub).map_err(Into::into)?)),
        });
        self
    }

    /// Values that stand for required fields which a partial object of this version lacks, instead of `""`, 0, `false`, the first variant
    /// of an enum, and empty lists and maps: for types that have none of these, and functions that refuse them.
    ///
    /// What comes from these values is not in the converted object.
    #[must_use]
    pub fn example<V: ConvertedObject>(mut self, example: V) -> Self {
        // One that cannot be encoded could not be converted either.
        let example = serde_json::to_value(example).unwrap_or_default();
        self.examples.insert(V::api_version(&()).into_owned(), example);
        self
    }

    fn find(&self, api_version: &str) -> Result<&Version<Hub>, ConversionError> {
        let found = self.versions.iter().find(|version| version.api_version == api_version);
        found.ok_or_else(|| {
            let known: Vec<_> = self.versions.iter().map(|version| version.api_version.as_str()).collect();
            format!("unknown version {api_version:?}, expected one of {}", known.join(", ")).into()
        })
    }
}

impl<Hub: ConvertedObject> Convert for Versions<Hub> {
    fn group(&self) -> String {
        Hub::group(&()).into_owned()
    }

    fn kind(&self) -> String {
        Hub::kind(&()).into_owned()
    }

    fn convert(&self, object: Value, api_version: &str) -> Result<Value, ConversionError> {
        let to = self.find(api_version)?;
        let from = self.find(object["apiVersion"].as_str().unwrap_or_default())?;
        let convert = |object: Value| (to.from_hub)((from.to_hub)(object)?);
        let (mut converted, whole, before) = match (from.recoded)(&object) {
            Ok(before) => {
                let converted = convert(object.clone())?;
                (converted.clone(), converted, before)
            }
            Err(mismatch) if mismatch.missing_field().is_some() => {
                let example = self.examples.get(&from.api_version);
                let fill = |object, choice| stand_in::fill(object, example, choice, &from.recoded);
                let Partial { converted, whole, recoded } =
                    partial::convert(&object, fill, &from.recoded, convert)?;
                (converted, whole, recoded)
            }
            Err(mismatch) => return Err(mismatch.into()),
        };
        drop_nulls(&mut converted, Some(&object));
        unknown::carry(&mut converted, &whole, &object, &before, |object| (to.recoded)(object).ok());
        converted["apiVersion"] = api_version.into();
        converted["kind"] = self.kind().into();
        Ok(converted)
    }
}

impl<Hub> fmt::Debug for Versions<Hub> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versions = self.versions.iter().map(|version| &version.api_version);
        f.debug_tuple("Versions").field(&versions.collect::<Vec<_>>()).field(&PhantomData::<Hub>).finish()
    }
}

/// Removes what `None` is in types that encode it, except where the object had it.
fn drop_nulls(converted: &mut Value, object: Option<&Value>) {
    match converted {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                !value.is_null() || object.is_some_and(|object| object.get(name) == Some(value))
            });
            for (name, value) in fields {
                drop_nulls(value, object.and_then(|object| object.get(name)));
            }
        }
        Value::Array(items) => {
            for (at, value) in items.iter_mut().enumerate() {
                drop_nulls(value, object.and_then(|object| object.get(at)));
            }
        }
        _ => {}
    }
}

fn decode<K: DeserializeOwned>(object: Value) -> Result<K, ConversionError> {
    serde_path_to_error::deserialize(object).map_err(|error| Mismatch::of(error).into())
}

fn recode<K: DeserializeOwned + Serialize>(object: &Value) -> Result<Value, Mismatch> {
    let decoded: K = serde_path_to_error::deserialize(object).map_err(Mismatch::of)?;
    serde_json::to_value(decoded).map_err(Mismatch::of_encoding)
}

fn encode<K: Serialize>(object: K) -> Result<Value, ConversionError> {
    serde_json::to_value(object).map_err(Into::into)
}

#[cfg(test)]
#[path = "versions_tests.rs"]
mod tests;
