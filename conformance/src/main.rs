//! Runs the suite against the server of a kubeconfig. Exit code: 0 all passed, 1 some failed, 2 it could not run.

use std::{path::PathBuf, process::ExitCode};

use conformance::{Options, list, run};

const USAGE: &str = "\
Checks a Kubernetes API server against the rules of this suite.

  conformance --kubeconfig FILE [--area A] [--case SUBSTRING] [--jobs N] [--json FILE]
  conformance --list [--area A] [--case SUBSTRING]

  --kubeconfig FILE  the server: current context, client certificate or token (no exec plugins)
  --area A           only the cases of this area, such as `watch`
  --case SUBSTRING   only the cases whose id contains this
  --jobs N           cases at a time (8)
  --json FILE        also write every result there as JSON
  --list             print ids and rules, run nothing";

struct Args {
    options: Options,
    json: Option<PathBuf>,
    list: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = match parse(std::env::args().skip(1)) {
        Ok(Some(args)) => args,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("{problem}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if args.list {
        for (id, rule) in list(&args.options) {
            println!("{id}: {rule}");
        }
        return ExitCode::SUCCESS;
    }
    let report = match run(&args.options).await {
        Ok(report) => report,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    print!("{report}");
    if let Some(file) = args.json
        && let Err(e) = std::fs::write(&file, report.to_json())
    {
        eprintln!("cannot write {}: {e}", file.display());
        return ExitCode::from(2);
    }
    if report.failures().next().is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// `None` asks for the usage text.
fn parse(mut args: impl Iterator<Item = String>) -> Result<Option<Args>, String> {
    let mut out = Args { options: Options::default(), json: None, list: false };
    while let Some(flag) = args.next() {
        let mut value = || args.next().ok_or(format!("{flag} needs a value"));
        match flag.as_str() {
            "--kubeconfig" => out.options.kubeconfig = value()?.into(),
            "--area" => out.options.area = Some(value()?),
            "--case" => out.options.case = Some(value()?),
            "--json" => out.json = Some(value()?.into()),
            "--jobs" => {
                let text = value()?;
                out.options.jobs =
                    text.parse().map_err(|_| format!("--jobs: expected a number, got {text:?}"))?;
            }
            "--list" => out.list = true,
            "-h" | "--help" => return Ok(None),
            other => return Err(format!("unknown argument {other:?}")),
        }
    }
    if out.options.kubeconfig.as_os_str().is_empty() && !out.list {
        return Err("--kubeconfig FILE is required".to_owned());
    }
    Ok(Some(out))
}
