//! [`WithPath`]: errors of decoding that name the field.

use serde::de::{Deserialize, Deserializer, Error as _};

/// A decoded value. The error of one that cannot be decoded begins with the path of the field, such as `users[1].user.token`.
pub(crate) struct WithPath<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for WithPath<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let decoded = serde_path_to_error::deserialize(deserializer);
        decoded.map(Self).map_err(|err| {
            // Within a key that cannot be read, the path ends with a question mark.
            let path = err.path().to_string();
            let path = path.trim_end_matches(['?', '.']);
            if path.is_empty() {
                return err.into_inner();
            }
            D::Error::custom(format_args!("{path}: {}", err.inner()))
        })
    }
}
