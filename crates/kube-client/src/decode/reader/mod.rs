//! JSON text straight to values: what the client spends most of its time on.
//!
//! [`read`] takes the way of [`Reader`] first, which knows how long each array is and can leave out what nobody wants. It says
//! nothing of what it does not like: then serde_json reads the same text, and its word counts.

mod access;
mod cursor;
mod number;
mod text;
mod value;

use serde::de::DeserializeSeed;

pub(super) use cursor::Reader;

use super::lengths::Lengths;
use super::prune::Prune;

/// Decodes one value by the seeds that `seed` makes, which is asked for a second one where the first attempt fails.
///
/// # Errors
/// What serde_json says of the text.
pub(super) fn read<'de, S: DeserializeSeed<'de>>(
    json: &'de [u8],
    lengths: &Lengths,
    prune: Prune,
    seed: impl Fn() -> S,
) -> Result<S::Value, serde_json::Error> {
    if let Ok(text) = std::str::from_utf8(json) {
        let mut reader = Reader::new(text, lengths, prune);
        if let Ok(value) = seed().deserialize(&mut reader)
            && reader.is_at_end()
        {
            return Ok(value);
        }
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let value = seed().deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

#[cfg(test)]
mod tests;
