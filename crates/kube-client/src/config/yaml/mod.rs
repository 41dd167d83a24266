//! Decodes YAML into types, with the parser compiled once instead of once for each type.
//!
//! `serde_saphyr` is generic in the visitor and in the seed: used directly, it was 162 000 of the 769 000 lines of LLVM code of this crate.
//! Here it sees one visitor and one seed, which reach those of the types through `dyn`: it is 20 000 of 669 000 lines
//! (`cargo llvm-lines --release --lib`).
//!
//! Decoded values and errors stay the same, except that a local tag below an unknown key is ignored as it is elsewhere. The parser still gets the hint of each type, because it decides whether `12345` is text or a number.
//! Errors keep their positions: an error of the parser waits beside the call that returned it, and an error of a type is made again by the
//! same constructor where the parser's own error type is known, so that the parser adds the position.
//!
//! - `dynamic`: the traits between both sides
//! - `error`: the error between both sides
//! - `format`: what the parser sees
//! - `types`: what the types see

mod dynamic;
mod error;
mod format;
mod types;

use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, Error as _};
use serde_saphyr::{Error, Options};

use self::format::SeedRef;
use self::types::Slot;
use super::redact::without_quoted_value;

/// Decodes each document of `text`.
pub(super) fn from_documents<T: DeserializeOwned>(text: &str, options: Options) -> Result<Vec<T>, Error> {
    let documents: Vec<Document<T>> =
        serde_saphyr::from_multiple_with_options(text, options).map_err(without_quoted_value)?;
    Ok(documents.into_iter().map(|Document(value)| value).collect())
}

/// Decodes the single document of `text`.
#[cfg(feature = "client")]
pub(crate) fn from_slice<T: DeserializeOwned>(text: &[u8], options: Options) -> Result<T, Error> {
    let mut slot = Slot::new(PhantomData::<T>);
    parse(text, options, &mut slot).map_err(without_quoted_value)?;
    slot.value().ok_or_else(|| Error::custom("no value was decoded"))
}

/// Has no type parameter, so that it is compiled once.
#[cfg(feature = "client")]
fn parse<'de>(text: &'de [u8], options: Options, seed: &mut dyn dynamic::DynSeed<'de>) -> Result<(), Error> {
    serde_saphyr::with_deserializer_from_slice_with_options(text, options, |deserializer| {
        SeedRef(seed).deserialize(deserializer)
    })
}

/// A document, which shows the parser the one seed only.
struct Document<T>(T);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Document<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut slot = Slot::new(PhantomData::<T>);
        SeedRef(&mut slot).deserialize(deserializer)?;
        slot.value().map(Document).ok_or_else(|| D::Error::custom("no value was decoded"))
    }
}

#[cfg(test)]
mod tests;
