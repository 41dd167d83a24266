//! What `cargo kube dev` says, beside the output of Cargo and of the operator.

pub(super) fn say(text: &str) {
    eprintln!("cargo kube dev: {text}");
}
