//! Ends the process on Ctrl+C and SIGTERM, also while an operator listens to them: its simulated time does not reach the end of a graceful
//! stop, and the next run would begin.

use std::{
    io::{self, Write},
    sync::{
        Once,
        mpsc::{Sender, channel},
    },
    thread,
};

/// From now on a signal ends this process.
pub(crate) fn end_on_signals() {
    static LISTENER: Once = Once::new();
    LISTENER.call_once(|| {
        let (listening, listens) = channel();
        thread::spawn(move || listen(listening));
        // Without a listener, a signal does what the operator makes of it.
        let _ = listens.recv();
    });
}

/// On a thread and runtime of its own: the operator may keep those of the run.
fn listen(listening: Sender<()>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    let Ok((signal, code)) = runtime.block_on(signal(listening)) else { return };
    // Not `eprintln`, whose text `cargo test` keeps until the end of the test. Nobody may read it.
    drop(io::stderr().write_all(format!("\nkube-verify: ended by {signal}\n").as_bytes()));
    std::process::exit(code);
}

/// The name of a signal, and the exit code that shells give it.
#[cfg(unix)]
async fn signal(listening: Sender<()>) -> io::Result<(&'static str, i32)> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    drop(listening);
    Ok(tokio::select! {
        biased;
        _ = interrupt.recv() => ("SIGINT", 130),
        _ = terminate.recv() => ("SIGTERM", 143),
    })
}

#[cfg(not(unix))]
async fn signal(listening: Sender<()>) -> io::Result<(&'static str, i32)> {
    drop(listening);
    tokio::signal::ctrl_c().await.map(|()| ("Ctrl+C", 130))
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        io::{BufRead, BufReader},
        process::{Command, Stdio},
        time::Duration,
    };

    use tokio::signal::unix::{SignalKind, signal};

    use crate::{ApiService, Verify};

    /// This test again, in a process of its own.
    const CHILD: &str = "KUBE_VERIFY_TEST_SIGNALS";

    /// As `shutdown_on_signal` does, and busy, as most operators are.
    async fn operator(_: ApiService) {
        let _interrupt = signal(SignalKind::interrupt()).expect("a handler");
        let _terminate = signal(SignalKind::terminate()).expect("a handler");
        eprintln!("listening");
        std::thread::sleep(Duration::from_secs(60));
    }

    #[test]
    fn a_signal_ends_a_verification_whose_operator_listens_to_it() {
        if std::env::var_os(CHILD).is_some() {
            return Verify::new(|_| operator).step("nothing", |step| step).run();
        }
        let test = "interrupt::tests::a_signal_ends_a_verification_whose_operator_listens_to_it";
        for (name, code) in [("-INT", 130), ("-TERM", 143)] {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args([test, "--exact", "--nocapture"])
                .env(CHILD, "1")
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
            assert!(lines.any(|line| line == "listening"));
            assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
            let ended = lines.collect::<Vec<_>>().join("\n");
            assert!(ended.contains("kube-verify: ended by SIG"), "{ended}");
            assert_eq!(child.wait().unwrap().code(), Some(code), "{name}");
        }
    }
}
