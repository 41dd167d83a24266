//! From JSON text to values: most of the client's CPU time.
//!
//! [`Hinted`] wraps serde_json's deserializer. It adds the length of each array, so that each is allocated once, and skips
//! fields on request. `docs/design/serde-json.md` has the measurements.

mod hinted;

use serde::de::{DeserializeOwned, DeserializeSeed, Error};
use serde_json::value::RawValue;

use self::hinted::{Hinted, Hints};
use super::array_lengths::ArrayLengths;
use super::prune::Prune;

/// Decodes one value.
///
/// # Errors
/// Those of serde_json.
pub(super) fn read<'de, S: DeserializeSeed<'de>>(
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

/// Decodes one value without hints. Its decoder is compiled separately, and takes 5 % fewer instructions.
///
/// # Errors
/// Those of serde_json.
pub(super) fn read_plain<T: DeserializeOwned>(json: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_str(utf8(json)?)
}

/// Validating the whole text as UTF-8 costs a fraction of validating each string.
pub(super) fn utf8(json: &[u8]) -> Result<&str, serde_json::Error> {
    std::str::from_utf8(json).map_err(|_| not_utf8(json))
}

/// The error of serde_json, which contains the position. It skips the value: decoding one from bytes is compiled for nothing else.
fn not_utf8(json: &[u8]) -> serde_json::Error {
    match serde_json::from_slice::<Box<RawValue>>(json) {
        Err(err) => err,
        Ok(_) => serde_json::Error::custom("the text is not UTF-8"),
    }
}

#[cfg(test)]
mod tests;
