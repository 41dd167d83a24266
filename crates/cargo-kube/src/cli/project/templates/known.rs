//! All versions of the template.

use anyhow::{Context as _, Result};

use super::template::Template;
use super::v1;
use crate::cli::project::description::Project;

/// From the oldest to the newest.
pub(crate) const TEMPLATES: &[Template] = &[v1::TEMPLATE];

/// The one that writes new projects.
pub(crate) fn newest(templates: &[Template]) -> &Template {
    templates.last().expect("invariant: there is a template")
}

/// The one that wrote a project.
pub(crate) fn find<'a>(templates: &'a [Template], project: &Project) -> Result<&'a Template> {
    let number = project.template;
    let newest = newest(templates).number;
    templates.iter().find(|template| template.number == number).with_context(|| {
        format!("Cargo.toml: template {number}: expected at most {newest}; install a newer cargo-kube")
    })
}
