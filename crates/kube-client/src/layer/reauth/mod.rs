//! Sends a request once more when its credential was refused and has been renewed since.

mod layer;
mod service;

pub(crate) use layer::ReauthLayer;
pub(crate) use service::Reauth;
