//! From JSON text to values: most of the client's CPU time.
//!
//! [`Hinted`] wraps serde_json's deserializer. It adds the length of each array, so that each is allocated once, and skips
//! fields on request. `docs/dependencies.md` has the measurements.

mod hinted;

use serde::de::DeserializeSeed;

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
    match std::str::from_utf8(json) {
        // Validating the whole text as UTF-8 costs a fraction of validating each string.
        Ok(text) => run(serde_json::Deserializer::from_str(text), lengths, prune, seed),
        Err(_) => run(serde_json::Deserializer::from_slice(json), lengths, prune, seed),
    }
}

fn run<'de, R: serde_json::de::Read<'de>, S: DeserializeSeed<'de>>(
    mut json: serde_json::Deserializer<R>,
    lengths: &ArrayLengths,
    prune: &Prune,
    seed: S,
) -> Result<S::Value, serde_json::Error> {
    let value = if lengths.is_empty() && prune.fields().is_none() {
        seed.deserialize(&mut json)?
    } else {
        let hints = Hints { lengths: &mut lengths.iter(), pruned: prune.fields(), whole: true };
        seed.deserialize(Hinted { inner: &mut json, hints })?
    };
    json.end()?;
    Ok(value)
}

#[cfg(test)]
mod tests;
