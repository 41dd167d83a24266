//! One credential for all who have the same settings.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::AuthError;
use super::renew::Renewing;

/// The credential made of `settings`, made now unless somebody still uses one.
///
/// A process often has several stacks of one configuration: clients made one after the other, or a connector and a layer in a
/// stack of its user's own. They share what they are given, so that a program that asks a person asks once, a refresh token that can
/// be used once is used once, and a client certificate reaches the connector from the layer that obtained it.
pub(super) fn one_for_all(
    settings: &str,
    make: impl FnOnce() -> Result<Renewing, AuthError>,
) -> Result<Arc<Renewing>, AuthError> {
    static KNOWN: Mutex<Option<HashMap<String, Weak<Renewing>>>> = Mutex::new(None);
    // An entry is put in whole, so a panic elsewhere leaves the map usable.
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if let Some(renewing) = known.get(settings).and_then(Weak::upgrade) {
        return Ok(renewing);
    }
    known.retain(|_, renewing| renewing.strong_count() > 0);
    let renewing = Arc::new(make()?);
    known.insert(settings.to_owned(), Arc::downgrade(&renewing));
    Ok(renewing)
}
