//! A limit for log lines that anybody on the network can cause.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How many lines a minute has.
const LINES: u32 = 5;
const MINUTE: Duration = Duration::from_secs(60);

/// Permits the first five lines of each minute and counts the others, so that peers cannot fill a disk with what a server logs of them.
///
/// One for each kind of line. A minute begins with its first line. Cost: a lock for a few assignments.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use kube_serve::log_limit::LogLimit;
///
/// let limit = LogLimit::new();
/// let lines: Vec<_> = (0..7).map(|_| limit.permit()).collect();
/// assert_eq!(lines, [Some(0), Some(0), Some(0), Some(0), Some(0), None, None]);
/// // In the next minute, `permit` returns `Some(2)`: two were left out.
/// # });
/// ```
#[derive(Debug, Default)]
pub struct LogLimit(Mutex<Window>);

#[derive(Debug, Default)]
struct Window {
    /// Of the running minute.
    began: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl LogLimit {
    /// Nothing was logged yet.
    pub const fn new() -> Self {
        Self(Mutex::new(Window { began: None, lines: 0, left_out: 0 }))
    }

    /// Whether to log a line now: if so, the number of those that were left out since the last one.
    pub fn permit(&self) -> Option<u64> {
        self.0.lock().permit(Instant::now())
    }
}

impl Window {
    fn permit(&mut self, now: Instant) -> Option<u64> {
        if self.began.is_none_or(|began| now.duration_since(began) >= MINUTE) {
            (self.began, self.lines) = (Some(now), 0);
        }
        if self.lines == LINES {
            self.left_out += 1;
            return None;
        }
        self.lines += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_minute_has_a_few_lines_and_tells_how_many_are_missing() {
        let (mut window, start) = (Window::default(), Instant::now());
        let mut permitted = |seconds| window.permit(start + Duration::from_secs(seconds));
        let lines: Vec<_> = (0..60).filter_map(&mut permitted).collect();
        assert_eq!(lines, [0; LINES as usize]);
        assert_eq!(permitted(60), Some(55));
        assert_eq!(permitted(3600), Some(0));
    }
}
