//! Sends a request once more when its credential was refused and has been renewed since.

mod layer;
mod service;

pub use layer::ReauthLayer;
pub use service::Reauth;
