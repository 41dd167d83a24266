//! The provider `gcp`: the token that stands in the kubeconfig, then what a command or Google's default credentials give.

mod command;
mod provider;
mod standing;

pub(super) use provider::Gcp;
