//! The job `facts`: statements of the documentation about this repository are true, and rules about its files are kept.
//!
//! `files` reads pages and sources, and checks their beginnings and sizes; `names` are those of tests and items; `pages` looks for what
//! pages name, `walks` for what their walks through the code name, and in which order; `modules` looks for sources that are not compiled;
//! `comments`, `signposts` and `words` are rules about sources; `manifests` compares pages and crates.

mod comments;
mod files;
mod manifests;
mod modules;
mod names;
mod pages;
mod signposts;
mod walks;
mod words;

use anyhow::{Result, bail};
pub(crate) use files::{File, pages, sources};

use crate::context::Context;
use crate::job::no_arguments;

pub(crate) fn facts(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let sources = files::sources(cx)?;
    let pages = files::pages(cx)?;
    let mut wrong = pages::check(cx, &pages, &sources)?;
    wrong.extend(files::check(&pages, &sources));
    wrong.extend(comments::check(&sources));
    wrong.extend(modules::check(&sources));
    wrong.extend(signposts::check(&sources));
    wrong.extend(walks::check(&pages, &sources));
    wrong.extend(words::check(cx, &pages, &sources)?);
    wrong.extend(manifests::check(cx, &pages)?);
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    println!("{} pages and {} source files agree with the repository", pages.len(), sources.len());
    Ok(())
}
