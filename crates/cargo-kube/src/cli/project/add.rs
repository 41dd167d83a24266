//! `cargo kube add`.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::description::{Addition, NewKind, Project, Webhook};
use super::files;
use super::names::Kind;
use super::new::VersionAndScope;
use super::templates::{self, TEMPLATES};
use crate::cli::output::line;

/// A kind, a version or a webhook for the project
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Add {
    #[command(subcommand)]
    what: What,
}

const EXIT_CODES: &str = "\
Cargo.toml gets an entry for it, which `cargo kube upgrade` reads.
Exit codes: 0 done; 2 wrong input, or a place that was changed so much that it is not found:
then nothing is written, and the message has the lines to add by hand.";

#[derive(Debug, Subcommand)]
enum What {
    /// Another kind with a controller of its own: its file and folder in src/, a test, lines in src/lib.rs
    #[command(after_help = EXIT_CODES)]
    Kind {
        /// Its name in the singular, such as Author
        kind: Kind,
        #[command(flatten)]
        version: VersionAndScope,
    },
    /// Another version of a kind, served but not yet stored, which the operator then works with, and a conversion webhook
    #[command(after_help = EXIT_CODES)]
    Version {
        /// A kind of the project, such as Page
        kind: Kind,
        /// Its name, such as v2
        version: String,
    },
    /// An admission webhook of a kind: its file in the folder of the kind, lines in src/webhooks.rs and src/lib.rs
    #[command(after_help = EXIT_CODES)]
    Webhook {
        /// A kind of the project, such as Page
        kind: Kind,
        /// Refuses objects; the default
        #[arg(long)]
        validate: bool,
        /// Changes objects before they are stored
        #[arg(long)]
        mutate: bool,
    },
}

impl What {
    fn additions(self) -> Vec<Addition> {
        match self {
            Self::Kind { kind, version } => vec![Addition::Kind(version.of(kind))],
            Self::Version { kind, version } => vec![Addition::Version { kind, version }],
            Self::Webhook { kind, validate, mutate } => {
                let wanted = [(Webhook::Validate, validate || !mutate), (Webhook::Mutate, mutate)];
                let wanted = wanted.into_iter().filter(|(_, wanted)| *wanted);
                wanted.map(|(webhook, _)| Addition::Webhook { kind: kind.clone(), webhook }).collect()
            }
        }
    }
}

impl Add {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let (root, manifest) = files::find()?;
        let project = Project::parse(&manifest)?;
        let template = templates::find(TEMPLATES, &project)?;
        let additions = self.what.additions();

        // What the template would have tells which files are needed.
        let mut after = project.clone();
        for addition in &additions {
            after = after.with(addition)?;
            if let Addition::Kind(new) = addition {
                templates::check_free(template, &project, &new.kind)?;
            }
        }
        let before = files::read(&root, template.render(&after)?.keys())?;
        let (mut texts, mut project) = (before.clone(), project);
        for addition in &additions {
            template.add(&project, addition, &mut texts)?;
            project = project.with(addition)?;
        }
        let changed = texts.into_iter().filter(|(path, text)| before.get(path) != Some(text));
        let changes: Vec<_> = changed.map(|(path, text)| (path, Some(text))).collect();
        files::write(&root, &changes)?;
        for (path, _) in &changes {
            line(format_args!("{} {path}", if before.contains_key(path) { "changed" } else { "created" }))?;
        }
        line(format_args!("next: cargo run -- manifests"))?;
        for text in additions.iter().flat_map(|addition| left_to_author(addition, &project.group)) {
            line(format_args!("{text}"))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn left_to_author(addition: &Addition, group: &str) -> Vec<String> {
    match addition {
        Addition::Kind(NewKind { kind, .. }) => {
            vec![format!("next: in tests/verify.rs, a step in which a user changes the {kind}")]
        }
        Addition::Webhook { kind, webhook } => {
            let (file, example) = match webhook {
                Webhook::Validate => {
                    ("validate", "it refuses names of more than 63 characters, as an example")
                }
                Webhook::Mutate => ("mutate", "it sets the label app.kubernetes.io/part-of, as an example"),
            };
            vec![format!("next: edit src/{}/{file}.rs: {example}", kind.module())]
        }
        Addition::Version { kind, version } => vec![
            format!("{version} is served, not stored: replicas of the release before could not convert it."),
            format!(
                "in a later release: STORED = {version:?} in src/{}.rs, then cargo kube crd migrate {}.{group}",
                kind.module(),
                kind.plural()
            ),
        ],
    }
}
