//! [`Template`]: one version of the texts of a project.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::cli::project::description::{Addition, Project};

/// Texts of files by their paths in the project, with `/`.
pub(crate) type Files = BTreeMap<String, String>;

/// One version of the template.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    pub(crate) number: i64,
    /// The files of a new project, before anything was added.
    pub(super) create: fn(&Project) -> Files,
    /// Adds something to the files of a project: to those of the template, or to the user's. `Project` is what it was before.
    pub(super) add: fn(&Project, &Addition, &mut Files) -> Result<()>,
}

impl Template {
    /// All files of a project, as if nobody had changed them.
    pub(crate) fn render(&self, project: &Project) -> Result<Files> {
        let mut before = Project { template: self.number, added: Vec::new(), ..project.clone() };
        let mut files = (self.create)(&before);
        for addition in &project.added {
            (self.add)(&before, addition, &mut files)?;
            before = before.with(addition)?;
        }
        Ok(files)
    }

    /// Adds something to the user's files.
    pub(crate) fn add(&self, project: &Project, addition: &Addition, files: &mut Files) -> Result<()> {
        (self.add)(project, addition, files)
    }
}
