//! Projects: `cargo kube new` writes one, `add` extends it, `upgrade` merges what a newer template would write.
//!
//! A project is described by a few answers and the list of what was added, which its Cargo.toml has. A template makes the texts of all
//! files from that description, by the same edits that `add` makes in the user's files. So the texts that a project began with can always
//! be made again: they are the common ancestor of the merge.
//!
//! The commands are `new`, `add` and `upgrade`. `names` says which names they accept, `source` where a project gets `kube` from,
//! `description` what a project is; `templates` make its texts, `merge` joins them with those of the user, `files` writes all or none.

mod add;
pub(super) mod files;
mod new;
mod upgrade;

mod description;
mod merge;
mod names;
pub(super) mod source;
mod templates;

pub(super) use add::Add;
pub(super) use new::New;
pub(super) use upgrade::Upgrade;
