//! A language server (LSP 3.17): requests and answers over the pipes of a child process.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

/// Loading compiles build scripts and macros.
const PATIENCE: Duration = Duration::from_secs(600);

pub(super) struct Server {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    last_request: u64,
    last_version: u64,
}

impl Server {
    /// Starts it for a project. It has a target folder of its own.
    pub(super) fn start(project: &Path, target: &Path) -> Result<Self> {
        let mut command = Command::new("rust-analyzer");
        command.current_dir(project).env("CARGO_TARGET_DIR", target);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("rust-analyzer")?;
        let input = child.stdin.take().context("no pipe")?;
        let mut output = BufReader::new(child.stdout.take().context("no pipe")?);
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            // Ends with the process.
            while let Ok(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut server = Self { child, input, messages, last_request: 0, last_version: 0 };
        let parameters = json!({
            "processId": std::process::id(),
            "rootUri": uri(project),
            "capabilities": {
                "experimental": { "serverStatusNotification": true },
                "textDocument": { "hover": { "contentFormat": ["markdown"] }, "publishDiagnostics": {} },
            },
            "initializationOptions": { "cachePriming": { "enable": false } },
        });
        server.request("initialize", parameters)?;
        server.notify("initialized", json!({}))?;
        Ok(server)
    }

    /// Waits until the project and its macros are loaded.
    pub(super) fn wait_until_loaded(&mut self) -> Result<()> {
        loop {
            let message = self.receive()?;
            let status = &message["params"];
            if message["method"] == "experimental/serverStatus" && status["quiescent"] == true {
                match status["health"] == "ok" {
                    true => return Ok(()),
                    false => bail!("rust-analyzer: {}", status["message"]),
                }
            }
        }
    }

    pub(super) fn open(&mut self, file: &Path, text: &str) -> Result<()> {
        let document = json!({ "uri": uri(file), "languageId": "rust", "version": 0, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }))
    }

    pub(super) fn change(&mut self, file: &Path, text: &str) -> Result<()> {
        self.last_version += 1;
        let document = json!({ "uri": uri(file), "version": self.last_version });
        let parameters = json!({ "textDocument": document, "contentChanges": [{ "text": text }] });
        self.notify("textDocument/didChange", parameters)
    }

    /// Saves the file, and waits for what the compiler finds in it.
    pub(super) fn diagnostics(&mut self, file: &Path, text: &str) -> Result<Value> {
        std::fs::write(file, text)?;
        self.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri(file) } }))?;
        loop {
            let message = self.receive()?;
            let parameters = &message["params"];
            let found = parameters["diagnostics"].as_array().is_some_and(|all| !all.is_empty());
            if message["method"] == "textDocument/publishDiagnostics"
                && parameters["uri"] == uri(file)
                && found
            {
                return Ok(parameters["diagnostics"].clone());
            }
        }
    }

    /// Asks, and waits for the answer.
    pub(super) fn request(&mut self, method: &str, parameters: Value) -> Result<Value> {
        self.last_request += 1;
        let id = self.last_request;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }))?;
        loop {
            let message = self.receive()?;
            if message["id"] == id && message.get("method").is_none() {
                match message.get("error") {
                    // The text changed while it was looked at: a cancelled request is sent again.
                    Some(error) if error["code"] == -32801 || error["code"] == -32802 => {
                        return self.request(method, parameters);
                    }
                    Some(error) => bail!("{method}: {error}"),
                    None => return Ok(message["result"].clone()),
                }
            }
        }
    }

    pub(super) fn stop(mut self) -> Result<()> {
        self.request("shutdown", Value::Null)?;
        self.notify("exit", Value::Null)?;
        self.child.wait()?;
        Ok(())
    }

    fn notify(&mut self, method: &str, parameters: Value) -> Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": parameters }))
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        Ok(self.input.flush()?)
    }

    /// The next message. Requests of the server are answered: it has no settings, and may register what it likes.
    fn receive(&mut self) -> Result<Value> {
        let message = self.messages.recv_timeout(PATIENCE).context("rust-analyzer sent nothing")?;
        if let (Some(id), Some(_)) = (message.get("id"), message.get("method")) {
            let result =
                if message["method"] == "workspace/configuration" { json!([null]) } else { Value::Null };
            self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))?;
        }
        Ok(message)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn read(input: &mut impl BufRead) -> Result<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            bail!("the end");
        }
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse()?,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}
