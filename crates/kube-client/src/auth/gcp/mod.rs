//! The auth provider `gcp`: the token in the kubeconfig first, then tokens of a command or of Google's default credentials.

mod cached_token;
mod command;
mod provider;

pub(super) use provider::Gcp;
