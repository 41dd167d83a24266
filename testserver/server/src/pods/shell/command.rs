//! The commands of the shell.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, copy};

use super::{
    Exit, Process,
    files::{FileEntry, FileSystem, FileSystems},
};

/// The largest input of a command, for files and archives.
const INPUT_LIMIT: u64 = 64 << 20;

/// Runs the command of `exec`.
pub(super) async fn run(mut process: Process, file_systems: FileSystems) -> Exit {
    let command = std::mem::take(&mut process.command);
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    match words.as_slice() {
        [shell, "-c", script, ..] if is_shell(shell) => {
            Exit::Code(lines(&mut process, &file_systems, script).await.code())
        }
        [shell] if is_shell(shell) => interactive(process, file_systems).await,
        [program, ..] if !is_known(program) => Exit::no_executable(program),
        words => {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            Exit::Code(simple(&mut process, &file_systems, words).await.code())
        }
    }
}

const KNOWN: &[&str] = &[
    "sh", "bash", "echo", "cat", "ls", "test", "tar", "env", "hostname", "sleep", "true", "false", "exit",
    "mkdir", ":",
];

/// Control flow after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Next(i32),
    /// Exit the shell.
    Leave(i32),
}

impl Flow {
    fn code(self) -> i32 {
        match self {
            Self::Next(code) | Self::Leave(code) => code,
        }
    }
}

/// Whether the shell has this executable.
pub(super) fn is_known(program: &str) -> bool {
    KNOWN.contains(&base(program))
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn is_shell(program: &str) -> bool {
    matches!(base(program), "sh" | "bash")
}

async fn interactive(mut process: Process, file_systems: FileSystems) -> Exit {
    let stdin = std::mem::replace(&mut process.stdin, tokio::io::duplex(1).0);
    let mut input = BufReader::new(stdin).lines();
    let mut code = 0;
    while let Ok(Some(line)) = input.next_line().await {
        match lines(&mut process, &file_systems, line.trim_end()).await {
            Flow::Next(next) => code = next,
            Flow::Leave(code) => return Exit::Code(code),
        }
    }
    Exit::Code(code)
}

/// Runs commands separated by `;`, `&&`, `||` and newlines.
async fn lines(process: &mut Process, file_systems: &FileSystems, script: &str) -> Flow {
    let mut code = 0;
    let mut runs = true;
    for token in parse(script) {
        match token {
            Token::Then(Join::Always) => runs = true,
            Token::Then(Join::And) => runs = code == 0,
            Token::Then(Join::Or) => runs = code != 0,
            Token::Command(words) if runs => match simple(process, file_systems, words).await {
                Flow::Next(next) => code = next,
                leave @ Flow::Leave(_) => return leave,
            },
            Token::Command(_) => {}
        }
    }
    Flow::Next(code)
}

/// Runs one command, which may end with `> file`.
async fn simple(process: &mut Process, file_systems: &FileSystems, mut words: Vec<String>) -> Flow {
    let target = match words.iter().position(|word| word == ">") {
        Some(at) if at + 2 == words.len() => {
            let target = words.pop();
            words.pop();
            target
        }
        _ => None,
    };
    let mut output = Output::default();
    let flow = builtin(process, file_systems, &words, target.is_none(), &mut output).await;
    let container = process.container.clone();
    match target {
        Some(path) => file_systems.with(&container, |disk| disk.write(&path, output.out)),
        // A disconnected client is not a failure of the command.
        None => drop(process.stdout.write_all(&output.out).await),
    }
    let errors = if process.tty { &mut process.stdout } else { &mut process.stderr };
    drop(errors.write_all(output.err.as_bytes()).await);
    flow
}

#[derive(Debug, Default)]
struct Output {
    out: Vec<u8>,
    err: String,
}

async fn builtin(
    process: &mut Process,
    file_systems: &FileSystems,
    words: &[String],
    direct: bool,
    output: &mut Output,
) -> Flow {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some((program, args)) = words.split_first() else { return Flow::Next(0) };
    let container = process.container.clone();
    let code = match (base(program), args) {
        ("true" | ":", _) => 0,
        ("false", _) => 1,
        ("exit", args) => return Flow::Leave(args.first().and_then(|code| code.parse().ok()).unwrap_or(0)),
        ("echo", ["-n", text @ ..]) => {
            output.out = text.join(" ").into();
            0
        }
        ("echo", text) => {
            output.out = format!("{}\n", text.join(" ")).into();
            0
        }
        ("hostname", _) => {
            output.out = format!("{}\n", container.pod).into();
            0
        }
        ("env", _) => {
            output.out = format!("HOSTNAME={}\n", container.pod).into();
            0
        }
        ("sleep", [seconds, ..]) => {
            tokio::time::sleep(Duration::from_secs(seconds.parse().unwrap_or(0))).await;
            0
        }
        ("cat", []) if direct => {
            drop(copy(&mut process.stdin, &mut process.stdout).await);
            0
        }
        ("cat", []) => {
            output.out = read_all(process).await;
            0
        }
        ("tar", args) => tar(process, file_systems, args, output).await,
        (name, args) => file_systems.with(&container, |disk| on_disk(disk, name, args, output)),
    };
    Flow::Next(code)
}

fn on_disk(disk: &mut FileSystem, name: &str, args: &[&str], output: &mut Output) -> i32 {
    match (name, args) {
        ("cat", paths) => {
            for path in paths {
                match disk.entry(path) {
                    Some(FileEntry::File(content)) => output.out.extend_from_slice(content),
                    _ => {
                        output.err = format!("cat: {path}: No such file or directory\n");
                        return 1;
                    }
                }
            }
            0
        }
        ("ls", args) => {
            let path = args.iter().find(|arg| !arg.starts_with('-')).copied().unwrap_or("/");
            let Some(names) = disk.list(path) else {
                output.err = format!("ls: {path}: No such file or directory\n");
                return 1;
            };
            output.out = names.iter().map(|name| format!("{name}\n")).collect::<String>().into();
            0
        }
        ("test", [what, path]) => {
            let exists = match disk.entry(path) {
                Some(FileEntry::Directory) => matches!(*what, "-d" | "-e"),
                Some(FileEntry::File(_)) => matches!(*what, "-f" | "-e"),
                None => false,
            };
            i32::from(!exists)
        }
        ("mkdir", args) => {
            args.iter().filter(|arg| !arg.starts_with('-')).for_each(|path| disk.make_directory(path));
            0
        }
        (name, _) => {
            output.err = format!("sh: {name}: not found\n");
            127
        }
    }
}

/// `tar cf - [-C DIRECTORY] PATH...` and `tar xf - -C DIRECTORY`, ignoring other options of `kubectl cp`.
async fn tar(process: &mut Process, file_systems: &FileSystems, args: &[&str], output: &mut Output) -> i32 {
    let container = process.container.clone();
    let mode = args.iter().find(|arg| !arg.starts_with("--")).map_or("", |arg| arg.trim_start_matches('-'));
    let at = args.iter().position(|arg| *arg == "-C");
    let directory = at.and_then(|at| args.get(at + 1)).copied().unwrap_or("/");
    let result = if mode.contains('x') {
        let archive = read_all(process).await;
        file_systems.with(&container, |disk| disk.unpack(directory, &archive))
    } else {
        // After the mode and the file: everything but options and the argument of `-C`.
        let named = args
            .iter()
            .enumerate()
            .skip(2)
            .filter(|(i, arg)| !arg.starts_with('-') && at.is_none_or(|at| *i != at + 1));
        let mut paths: Vec<&str> = named.map(|(_, path)| *path).collect();
        if paths.is_empty() {
            paths.push("/");
        }
        file_systems.with(&container, |disk| disk.pack(directory, &paths)).map(|archive| output.out = archive)
    };
    match result {
        Ok(()) => 0,
        Err(error) => {
            output.err = format!("tar: {error}\n");
            2
        }
    }
}

async fn read_all(process: &mut Process) -> Vec<u8> {
    let mut content = Vec::new();
    // Input before the client disconnected is all there is.
    drop((&mut process.stdin).take(INPUT_LIMIT).read_to_end(&mut content).await);
    content
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Command(Vec<String>),
    Then(Join),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Join {
    Always,
    And,
    Or,
}

/// Splits a script into commands and words, with quotes.
fn parse(script: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = script.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' => word.get_or_insert_default().extend(chars.by_ref().take_while(|c| *c != '\'')),
            '"' => {
                let word = word.get_or_insert_default();
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    word.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            ';' | '\n' | '&' | '|' | ' ' | '\t' | '>' => {
                words.extend(word.take());
                let doubled = matches!(c, '&' | '|') && chars.next_if_eq(&c).is_some();
                let join = match c {
                    '&' if doubled => Join::And,
                    '|' if doubled => Join::Or,
                    '>' => {
                        words.push(">".into());
                        continue;
                    }
                    ';' | '\n' => Join::Always,
                    _ => continue,
                };
                tokens.push(Token::Command(std::mem::take(&mut words)));
                tokens.push(Token::Then(join));
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    tokens.push(Token::Command(words));
    tokens
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
