//! Where clusters come from: constructors of [`Clusters`](super::Clusters).

// `given`: by the program, at once or later. `contexts` and `directory`: from kubeconfigs on disk. `secrets` and `namespaces`: from objects
// of the hub, each with what it has `announced`.

mod announced;
mod contexts;
mod directory;
mod given;
mod namespaces;
mod secrets;

pub use secrets::SecretClusters;
