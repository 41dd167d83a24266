//! JSON text straight to values: what the client spends most of its time on.
//!
//! serde_json reads; [`Guided`] stands between it and the types. It says how long each array is, so that each is allocated once,
//! and passes `metadata.managedFields` over where nobody wants them. `docs/dependencies.md` has the figures.

mod guided;

use serde::de::DeserializeSeed;

use self::guided::{Guide, Guided};
use super::lengths::Lengths;
use super::prune::Prune;

/// Decodes one value.
///
/// # Errors
/// What serde_json says of the text.
pub(super) fn read<'de, S: DeserializeSeed<'de>>(
    json: &'de [u8],
    lengths: &Lengths,
    prune: Prune,
    seed: S,
) -> Result<S::Value, serde_json::Error> {
    match std::str::from_utf8(json) {
        // One look at the whole text costs a fraction of one at each string.
        Ok(text) => run(serde_json::Deserializer::from_str(text), lengths, prune, seed),
        Err(_) => run(serde_json::Deserializer::from_slice(json), lengths, prune, seed),
    }
}

fn run<'de, R: serde_json::de::Read<'de>, S: DeserializeSeed<'de>>(
    mut json: serde_json::Deserializer<R>,
    lengths: &Lengths,
    prune: Prune,
    seed: S,
) -> Result<S::Value, serde_json::Error> {
    let value = if lengths.is_empty() && prune == Prune::default() {
        seed.deserialize(&mut json)?
    } else {
        let guide = Guide { lengths: &mut lengths.iter(), level: prune.level() };
        seed.deserialize(Guided { inner: &mut json, guide })?
    };
    json.end()?;
    Ok(value)
}

#[cfg(test)]
mod tests;
