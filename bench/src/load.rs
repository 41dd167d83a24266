//! Other work on the machine: each CPU is busy half of the time.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

const BUSY: Duration = Duration::from_millis(10);
const IDLE: Duration = Duration::from_millis(10);

/// Works until the process is killed.
pub(crate) fn run() -> ! {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    for _ in 1..cpus {
        std::thread::spawn(|| work());
    }
    work()
}

fn work() -> ! {
    loop {
        let start = Instant::now();
        while start.elapsed() < BUSY {
            std::hint::spin_loop();
        }
        std::thread::sleep(IDLE);
    }
}

/// A process that works until this is dropped.
pub(crate) struct Load(Child);

impl Load {
    pub(crate) fn start() -> anyhow::Result<Self> {
        Ok(Self(Command::new(std::env::current_exe()?).arg("load").spawn()?))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // Errors mean that it has already exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
