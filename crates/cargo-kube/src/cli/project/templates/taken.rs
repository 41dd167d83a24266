//! Names that the texts of a template use: no kind can have one of them.

use anyhow::{Result, anyhow, bail};
use proc_macro2::{TokenStream, TokenTree};

use super::template::Template;
use crate::cli::project::description::{Addition, NewKind, Project, Webhook};
use crate::cli::project::names::Kind;

/// Whether no text of the template uses the name of a kind for something else.
pub(crate) fn check_free(template: &Template, project: &Project, kind: &Kind) -> Result<()> {
    let placeholder: Kind = "Zzzz".parse()?;
    let first = NewKind { kind: placeholder.clone(), ..project.first.clone() };
    let webhooks = [Webhook::Validate, Webhook::Mutate];
    let webhooks = webhooks.map(|webhook| Addition::Webhook { kind: placeholder.clone(), webhook });
    let version = Addition::Version { kind: placeholder, version: "v999".to_owned() };
    let added = webhooks.into_iter().chain([version]).collect();
    let files = template.render(&Project { first, added, ..project.clone() })?;
    let generated = [kind.to_string(), format!("{kind}Spec"), format!("{kind}Status")];
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".rs")) {
        let tokens: TokenStream = text.parse().map_err(|_| anyhow!("{path}: the template is not Rust"))?;
        if has_ident(tokens, &generated) || PRELUDE.contains(&kind.as_str()) {
            bail!(
                "kind {kind}: the files of a project use this name for something else; expected another kind"
            );
        }
    }
    Ok(())
}

/// Names that every file of Rust has, beyond those that the templates use.
const PRELUDE: [&str; 28] = [
    "AsMut",
    "AsRef",
    "Box",
    "Clone",
    "Copy",
    "Default",
    "DoubleEndedIterator",
    "Drop",
    "Eq",
    "Err",
    "ExactSizeIterator",
    "Extend",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "FromIterator",
    "Into",
    "IntoIterator",
    "Iterator",
    "None",
    "Option",
    "Ord",
    "PartialOrd",
    "Send",
    "Sized",
    "Sync",
    "ToString",
];

fn has_ident(tokens: TokenStream, names: &[String]) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => names.iter().any(|name| ident == name),
        TokenTree::Group(group) => has_ident(group.stream(), names),
        _ => false,
    })
}
