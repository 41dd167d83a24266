//! Where the certificate of a webhook server comes from: files, or self-signed and kept in a Secret.

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
