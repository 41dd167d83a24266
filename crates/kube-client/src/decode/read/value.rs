//! From JSON text to one value: most of the client's CPU time. `docs/design/serde-json.md` has the measurements.

use serde::de::{DeserializeOwned, DeserializeSeed, Error};
use serde_json::value::RawValue;

use super::hints::{Hinted, Hints};
use super::prune::Prune;
use crate::decode::split::ArrayLengths;

/// Decodes one value.
///
/// # Errors
/// Those of serde_json.
pub(in crate::decode) fn read<'de, S: DeserializeSeed<'de>>(
    json: &'de [u8],
    lengths: &ArrayLengths,
    prune: &Prune,
    seed: S,
) -> Result<S::Value, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(utf8(json)?);
    let hints = Hints { lengths: &mut lengths.iter(), pruned: prune.fields(), whole: true };
    let value = seed.deserialize(Hinted { inner: &mut json, hints })?;
    json.end()?;
    Ok(value)
}

/// Decodes one value without hints, which takes 5 % fewer instructions.
///
/// # Errors
/// Those of serde_json.
pub(in crate::decode) fn read_plain<T: DeserializeOwned>(json: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_str(utf8(json)?)
}

/// Validating the whole text as UTF-8 costs a fraction of validating each string.
pub(in crate::decode) fn utf8(json: &[u8]) -> Result<&str, serde_json::Error> {
    std::str::from_utf8(json).map_err(|_| not_utf8(json))
}

/// The error of serde_json, which contains the position.
fn not_utf8(json: &[u8]) -> serde_json::Error {
    match serde_json::from_slice::<Box<RawValue>>(json) {
        Err(err) => err,
        Ok(_) => serde_json::Error::custom("the text is not UTF-8"),
    }
}

#[cfg(test)]
mod tests;
