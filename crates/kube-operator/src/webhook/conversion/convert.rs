//! [`Convert`]: the conversion of one kind between its versions.

use serde_json::Value;

/// Why an object cannot be converted: any error, or a text.
pub type ConversionError = Box<dyn std::error::Error + Send + Sync>;

/// Converts the objects of one kind between its versions. [`Versions`](super::Versions) implements it from typed conversions.
///
/// Conversion is a pure function: it runs outside of the async runtime, for each object of each list and watch in another version than
/// the stored one.
pub trait Convert: Send + Sync + 'static {
    /// The API group, such as `example.com`.
    fn group(&self) -> String;

    /// The kind, such as `Page`.
    fn kind(&self) -> String;

    /// Converts an object to the version `api_version`, such as `example.com/v2`. Objects that have it already are not passed here.
    ///
    /// The object may be partial: for server-side apply, the API server converts objects that have only the fields of some managers. What
    /// is not there must not be added, or a manager would own it.
    ///
    /// Name, namespace and uid must stay; labels and annotations may change. The API server ignores other changes of metadata.
    ///
    /// # Errors
    /// Why this object cannot be converted. The whole review fails then, with a message that names the object and both versions.
    fn convert(&self, object: Value, api_version: &str) -> Result<Value, ConversionError>;
}
