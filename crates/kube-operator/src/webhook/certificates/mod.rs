//! Where the certificate of a webhook server comes from: files, or self-signed and kept in a Secret.

// `source` is what a server asks for; `files` and `self_signed` are sources: the latter makes a `generation` when `rotation` says so and
// `inject`s its CA. `client_ca` adds client certificates to any source. `expiry` reports when one expires.

mod client_ca;
mod expiry;
mod files;
mod generation;
mod inject;
mod rotation;
mod self_signed;
mod source;

pub use client_ca::WithClientCa;
pub use files::CertificateFiles;
pub use self_signed::SelfSigned;
pub use source::{CertificateError, CertificateNeeds, CertificateSource, Serving};
