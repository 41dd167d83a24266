//! `cargo kube verify` in a new project: what it prints, its options, and its exit codes.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::project::{PLAN, Scaffold};
use crate::command::Command;

const TEST: &str = "tests/verify.rs";

/// In a project whose operator is right.
pub(super) fn verify(scaffold: &Scaffold<'_>, folder: &Path) -> Result<()> {
    let list = run(scaffold, folder, &["--list"], 0)?;
    let has = |text: &str| list.contains(text);
    ensure!(has("\n  crash after apply configmaps ") && has("crash-after ("), "--list: {list}");
    // The book says one to two hundred.
    let count =
        list.lines().find_map(|line| line.strip_prefix("plans: ")?.split(',').next()?.parse::<usize>().ok());
    ensure!(
        count.is_some_and(|count| (100..200).contains(&count)),
        "book/src/how-to/verify.md: {count:?} plans"
    );
    let plan = run(scaffold, folder, &["--plan", PLAN], 0)?;
    ensure!(plan.contains("1 plan tried in ") && plan.contains("nothing found"), "--plan: {plan}");
    println!("{}", plan.lines().last().unwrap_or_default());
    let did_not_come = run(scaffold, folder, &["--plan", "lost answer of create pods a #1"], 1)?;
    ensure!(did_not_come.contains("the fault did not come"), "--plan: {}", did_not_come);
    let wrong = run(scaffold, folder, &["--families", "none"], 2)?;
    ensure!(wrong.contains("there is no family"), "--families: {}", wrong);
    // Standard output alone. Before the first plan the budget is used up.
    let options = ["--families", "restart,down", "--jobs", "2", "--budget", "1s", "--json"];
    let json = command(scaffold, folder, &options).read()?;
    let reports: Value = serde_json::from_str(&json)?;
    let report = reports.as_object().and_then(|tests| tests.values().next()).context("no report")?;
    let (tried, left_out) = (report["tried"].as_u64(), report["leftOut"].as_u64());
    let planned = tried.zip(left_out).map(|(tried, left_out)| tried + left_out);
    ensure!(planned == Some(8) && left_out > Some(0), "--json, --budget: {json}");
    finds(scaffold, folder)?;
    names_what_is_missing(scaffold, folder)
}

/// In a project without the test, `init` writes one. It fails until it is complete, and then finds nothing.
pub(super) fn init(scaffold: &Scaffold<'_>, folder: &Path) -> Result<()> {
    let init = || scaffold.kube(folder, "verify init").output();
    let present = init()?;
    ensure!(present.code == 2 && present.text().contains("exists already"), "init: {}", present.text());
    let path = folder.join(TEST);
    let before = std::fs::read_to_string(&path)?;
    std::fs::remove_file(&path)?;
    let written = init()?;
    ensure!(
        written.code == 0 && written.text().contains("created tests/verify.rs"),
        "init: {}",
        written.text()
    );
    let open = run(scaffold, folder, &["--plan", PLAN], 2)?;
    ensure!(open.contains("fill in what runs the operator"), "{open}");
    let text = std::fs::read_to_string(&path)?;
    let complete =
        text.replace("    panic!(\"{}:{}: fill in what runs the operator\", file!(), line!())\n", OPERATOR);
    ensure!(complete != text, "{TEST} is another one: {text}");
    let complete = complete.replace(CHILD, "");
    ensure!(!complete.contains("fill in"), "{TEST} has another place to fill in: {complete}");
    std::fs::write(&path, complete)?;
    scaffold.command(folder, "rustfmt").args(["--edition", "2024", "--check", TEST]).run()?;
    let plan = run(scaffold, folder, &["--plan", PLAN], 0)?;
    ensure!(plan.contains("1 plan tried in ") && plan.contains("nothing found"), "--plan: {plan}");
    std::fs::write(&path, before).context("the test as it was")
}

/// What a user of `init` fills in, formatted.
const OPERATOR: &str = "    |client| {
        Box::pin(async move {
            let addresses = pages::Addresses::at(std::net::Ipv4Addr::LOCALHOST);
            let manager = pages::manager(client, addresses).without_servers();
            manager.run_until(std::future::pending()).await.unwrap()
        })
    }
";

/// What a user of `init` may leave out.
const CHILD: &str = r#"        // FILL IN: |step| step.delete_of("configmaps", "NAME"), or leave this step out.
        .step("a user deletes a child", |_| {
            panic!("{}:{}: fill in the child", file!(), line!())
        })
"#;

/// What does not hold is a finding. It needs as much of the stack as an operator of the dev profile may.
fn finds(scaffold: &Scaffold<'_>, folder: &Path) -> Result<()> {
    let path = folder.join(TEST);
    let text = std::fs::read_to_string(&path)?;
    let never = "|_| std::hint::black_box([0_u8; 6 << 20])[0] == 1";
    let invariant = format!("verify().invariant(\"nothing holds\", {never}).run();");
    let broken = text.replace("verify().per_family(1).run();", &invariant);
    ensure!(broken != text, "{TEST} is another one: {text}");
    std::fs::write(&path, broken)?;
    for options in [&["--plan", PLAN][..], &["--families", "restart", "--jobs", "2"]] {
        let found = run(scaffold, folder, options, 1)?;
        let times = found.matches("FOUND without any fault: [invariant] nothing holds").count();
        ensure!(times == 1, "expected the report once, found it {times} times: {found}");
    }
    ends_in_the_middle(scaffold, folder, &path, &text)?;
    std::fs::write(&path, text).context("the test as it was")
}

/// The test has what Cargo sets, also if it is one of those that `cargo test` ignores. One that ends its process is no success.
fn ends_in_the_middle(scaffold: &Scaffold<'_>, folder: &Path, path: &Path, text: &str) -> Result<()> {
    let config = folder.join(".cargo");
    std::fs::create_dir(&config)?;
    std::fs::write(config.join("config.toml"), "[env]\nOF_CARGO = \"yes\"\n")?;
    let ends = "assert_eq!(std::env::var(\"OF_CARGO\").as_deref(), Ok(\"yes\"));\n    std::process::exit(0);";
    let text = text.replace("#[test]", "#[test]\n#[ignore]");
    std::fs::write(path, text.replace("verify().per_family(1).run();", ends))?;
    let cut_off = run(scaffold, folder, &[], 1)?;
    ensure!(cut_off.contains("the test verify ended in the middle, with success"), "{cut_off}");
    std::fs::remove_dir_all(&config).context("the folder of Cargo's configuration")
}

/// A project without the test is told what to write.
fn names_what_is_missing(scaffold: &Scaffold<'_>, folder: &Path) -> Result<()> {
    let (path, away) = (folder.join(TEST), folder.join("verify.rs"));
    std::fs::rename(&path, &away)?;
    let missing = run(scaffold, folder, &[], 2)?;
    ensure!(missing.contains(TEST), "{}", missing);
    std::fs::rename(&away, &path).context("the test as it was")
}

/// Both outputs, if the exit code is this one.
fn run(scaffold: &Scaffold<'_>, folder: &Path, options: &[&str], code: i32) -> Result<String> {
    let output = command(scaffold, folder, options).output()?;
    ensure!(output.code == code, "expected exit code {code}, got {}: {}", output.code, output.text());
    Ok(output.text())
}

fn command(scaffold: &Scaffold<'_>, folder: &Path, options: &[&str]) -> Command {
    println!("$ cargo kube verify {}", options.join(" "));
    scaffold.kube(folder, "verify").args(options).env("CARGO_TARGET_DIR", scaffold.cx.projects())
}
