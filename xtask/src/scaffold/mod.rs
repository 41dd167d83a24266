//! The job `new`: an operator that `cargo kube new` writes passes its own CI and runs, without a cluster and on a genuine server, also
//! after everything was added to it; so does the one that the tutorial makes of it; an image gets what Cargo needs; an upgrade keeps what
//! the user has changed; and the shortest form of each command does its work.
//!
//! - `project`: what a project is, its own CI and its program.
//! - `names`: `new NAME`, with names of all sorts. `forms`: every other command, in the project of the last of them; `verify`:
//!   one of them with all of its options.
//! - `whole_life`: a project with everything added; `tutorial`: that of the book; `upgrade`, `image`: their commands.

mod forms;
mod image;
mod names;
mod project;
mod tutorial;
mod upgrade;
mod verify;
mod whole_life;

use anyhow::Result;

use crate::context::{Context, scratch};
use crate::genuine::Deployed;
use crate::job::no_arguments;
use project::Scaffold;

pub(crate) fn new(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let work = scratch()?;
    let scaffold = Scaffold { cx, program: cx.build("--bin", "cargo-kube")?, folder: work.path() };
    image::image(&scaffold)?;
    if cx.command("git").args(["ls-files", "--error-unmatch", "Cargo.toml"]).succeeds() {
        upgrade::upgrade(&scaffold)?;
    } else {
        println!("--- upgrade: left out, this is not a git checkout");
    }
    // The tutorial has a project of the same name.
    let apart = work.path().join("shortest");
    std::fs::create_dir(&apart)?;
    let apart = Scaffold { cx, program: scaffold.program.clone(), folder: &apart };
    let shortest = names::names(&apart)?;
    forms::forms(&apart, &shortest)?;
    let extended = whole_life::whole_life(&scaffold)?;
    whole_life::cluster_scoped(&scaffold)?;
    let tutorial = tutorial::tutorial(&scaffold)?;
    Deployed::require(cx)?;
    whole_life::deployed(cx, &extended)?;
    tutorial::deployed(cx, &tutorial)
}
