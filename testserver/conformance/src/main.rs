//! Runs the suite against the server of a kubeconfig. Exit code: 0 all passed, 1 some failed, 2 could not run.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use conformance::{Options, Report, list, list_by_feature, run, with_column};

const USAGE: &str = "\
Checks a Kubernetes API server against the rules of this suite.

  conformance --kubeconfig FILE [--area A] [--case SUBSTRING] [--jobs N] [--clean-up] [--json FILE]
              [--table FILE --column NAME]
  conformance --list [--area A] [--case SUBSTRING]
  conformance --by-feature

  --kubeconfig FILE  the server: current context, client certificate or token (no exec plugins)
  --area A           only the cases of this area, such as `watch`; repeatable
  --case SUBSTRING   only the cases whose id contains this
  --jobs N           cases at a time (8)
  --json FILE        also write every result there as JSON
  --clean-up         delete the namespaces of this run as well, and wait for them to go; without it they stay, for a
                     cluster may take half an hour over them
  --table FILE       bring the table in this Markdown file up to date, after a run of all cases
  --column NAME      the column of the table that is this server's
  --list             print ids and rules, run nothing
  --by-feature       print the covered features with their cases; run nothing";

struct Args {
    options: Options,
    json: Option<PathBuf>,
    table: Option<PathBuf>,
    column: Option<String>,
    list: bool,
    by_feature: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = match parse(std::env::args().skip(1)) {
        Ok(Some(args)) => args,
        Ok(None) => {
            print(&format!("{USAGE}\n"));
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("{problem}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if args.by_feature {
        return match list_by_feature() {
            Ok(text) => {
                print(&text);
                ExitCode::SUCCESS
            }
            Err(problem) => {
                eprintln!("{problem}");
                ExitCode::FAILURE
            }
        };
    }
    if args.list {
        list(&args.options).iter().for_each(|(id, rule)| print(&format!("{id}: {rule}\n")));
        return ExitCode::SUCCESS;
    }
    let report = match run(&args.options).await {
        Ok(report) => report,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    print(&report.to_string());
    if let Some(file) = args.json
        && let Err(e) = std::fs::write(&file, report.to_json())
    {
        eprintln!("cannot write {}: {e}", file.display());
        return ExitCode::from(2);
    }
    if let (Some(file), Some(column)) = (&args.table, &args.column)
        && let Err(problem) = bring_up_to_date(file, column, &report)
    {
        eprintln!("{}: {problem}", file.display());
        return ExitCode::from(2);
    }
    if report.failures().next().is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn bring_up_to_date(file: &Path, column: &str, report: &Report) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
    std::fs::write(file, with_column(&text, column, report)?).map_err(|e| e.to_string())
}

/// `None` asks for the usage text.
/// Whoever reads it may have read enough.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Option<Args>, String> {
    let mut out = Args {
        options: Options::default(),
        json: None,
        table: None,
        column: None,
        list: false,
        by_feature: false,
    };
    while let Some(flag) = args.next() {
        let mut value = || args.next().ok_or(format!("{flag} needs a value"));
        match flag.as_str() {
            "--kubeconfig" => out.options.kubeconfig = value()?.into(),
            "--area" => out.options.areas.push(value()?),
            "--case" => out.options.case = Some(value()?),
            "--json" => out.json = Some(value()?.into()),
            "--jobs" => {
                let text = value()?;
                out.options.jobs =
                    text.parse().map_err(|_| format!("--jobs: expected a number, got {text:?}"))?;
            }
            "--clean-up" => out.options.clean_up = true,
            "--table" => out.table = Some(value()?.into()),
            "--column" => out.column = Some(value()?),
            "--list" => out.list = true,
            "--by-feature" => out.by_feature = true,
            "-h" | "--help" => return Ok(None),
            other => return Err(format!("unknown argument {other:?}")),
        }
    }
    if out.options.kubeconfig.as_os_str().is_empty() && !out.list && !out.by_feature {
        return Err("--kubeconfig FILE is required".to_owned());
    }
    if out.table.is_some() != out.column.is_some() {
        return Err("--table FILE and --column NAME go together".to_owned());
    }
    if out.table.is_some() && (!out.options.areas.is_empty() || out.options.case.is_some()) {
        return Err("--table needs a run of all cases".to_owned());
    }
    Ok(Some(out))
}
