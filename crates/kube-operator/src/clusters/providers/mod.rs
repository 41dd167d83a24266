//! Where clusters come from: constructors of [`Clusters`](super::Clusters).

// `given`: by the program, at once or later. `contexts` and `directory`: from kubeconfigs on disk. `secrets` and `namespaces`: from objects
// of the hub, each with what it has `announced`. `first`: when what was there at the start is announced.

mod announced;
mod contexts;
mod directory;
mod first;
mod given;
mod namespaces;
mod secrets;

pub use secrets::SecretClusters;
