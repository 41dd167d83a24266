//! The logs of containers, and readers that follow them.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::Container;
use crate::clock::Clock;

/// The logs of containers.
#[derive(Clone, Debug)]
pub(super) struct ContainerLogs {
    logs: Arc<Mutex<BTreeMap<Container, Log>>>,
    /// Changes with every log.
    changed: Arc<watch::Sender<()>>,
    clock: Clock,
}

#[derive(Debug, Default)]
struct Log {
    lines: Vec<LogLine>,
    /// The log before the last restart.
    previous: Vec<LogLine>,
    /// The number of restarts.
    restarts: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct LogLine {
    time: Timestamp,
    text: String,
}

/// The options of a log request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogQuery {
    /// Continue until the container is removed.
    pub(crate) follow: bool,
    /// The log before the last restart.
    pub(crate) previous: bool,
    /// Prefix each line with its timestamp.
    pub(crate) timestamps: bool,
    /// Only this many last lines.
    pub(crate) tail: Option<usize>,
    /// At most this many bytes.
    pub(crate) limit: Option<usize>,
    pub(crate) since: Option<Since>,
}

/// Earlier lines are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    Time(Timestamp),
    /// This many seconds ago.
    Seconds(i64),
}

/// A reader of a log: call [`next`](Self::next) for each chunk.
#[derive(Debug)]
pub(crate) struct LogTail {
    book: ContainerLogs,
    container: Container,
    query: LogQuery,
    /// The number of lines read of the current log, and the restart count of that log.
    seen: usize,
    run: usize,
    /// Bytes left within the limit.
    left: usize,
    start: Option<Bytes>,
    changed: watch::Receiver<()>,
}

impl ContainerLogs {
    pub(super) fn new(clock: Clock) -> Self {
        Self { logs: Arc::default(), changed: Arc::new(watch::Sender::new(())), clock }
    }

    pub(super) fn append(&self, container: &Container, text: &str) {
        let time = self.clock.timestamp();
        let lines = text.lines().map(|line| LogLine { time, text: line.to_owned() });
        self.logs.lock().entry(container.clone()).or_default().lines.extend(lines);
        self.changed.send_replace(());
    }

    pub(super) fn lines(&self, container: &Container) -> Vec<String> {
        let logs = self.logs.lock();
        let lines = logs.get(container).map(|log| log.lines.as_slice()).unwrap_or_default();
        lines.iter().map(|line| line.text.clone()).collect()
    }

    pub(super) fn rotate(&self, container: &Container) {
        let mut logs = self.logs.lock();
        let log = logs.entry(container.clone()).or_default();
        log.previous = std::mem::take(&mut log.lines);
        log.restarts += 1;
        drop(logs);
        self.changed.send_replace(());
    }

    pub(super) fn forget(&self, namespace: &str, pod: &str) {
        self.logs.lock().retain(|c, _| c.namespace != namespace || c.pod != pod);
        self.changed.send_replace(());
    }

    /// A reader of a log; the log is created if the container has not printed yet.
    pub(super) fn tail(&self, container: &Container, query: LogQuery) -> LogTail {
        let changed = self.changed.subscribe();
        let mut logs = self.logs.lock();
        let log = logs.entry(container.clone()).or_default();
        let lines = if query.previous { &log.previous } else { &log.lines };
        let text = select(lines, &query, self.clock.timestamp());
        let (seen, run) = (log.lines.len(), log.restarts);
        let mut tail = LogTail {
            book: self.clone(),
            container: container.clone(),
            left: query.limit.unwrap_or(usize::MAX),
            query,
            seen,
            run,
            start: None,
            changed,
        };
        tail.start = Some(tail.cut(text));
        tail
    }
}

impl LogTail {
    /// Whether the log has no lines so far.
    pub(crate) fn begins_empty(&self) -> bool {
        self.start.as_ref().is_none_or(Bytes::is_empty)
    }

    /// The next chunk; `None` at the end. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        if let Some(start) = self.start.take().filter(|start| !start.is_empty()) {
            return Some(start);
        }
        while self.query.follow && !self.query.previous && self.left > 0 {
            self.changed.borrow_and_update();
            match self.new_lines()? {
                text if text.is_empty() => self.changed.changed().await.ok()?,
                text => return Some(self.cut(text)),
            }
        }
        None
    }

    /// The lines since the last call; `None` once the container was restarted or removed.
    fn new_lines(&mut self) -> Option<String> {
        let logs = self.book.logs.lock();
        let log = logs.get(&self.container).filter(|log| log.restarts == self.run)?;
        let new = &log.lines[self.seen..];
        self.seen = log.lines.len();
        Some(new.iter().map(|line| line.print(self.query.timestamps)).collect())
    }

    fn cut(&mut self, mut text: String) -> Bytes {
        while text.len() > self.left {
            text.pop();
        }
        self.left -= text.len();
        text.into()
    }
}

impl LogLine {
    fn print(&self, timestamps: bool) -> String {
        if timestamps { format!("{:.9} {}\n", self.time, self.text) } else { format!("{}\n", self.text) }
    }
}

fn select(lines: &[LogLine], query: &LogQuery, now: Timestamp) -> String {
    let since = query.since.map(|since| match since {
        Since::Time(time) => time,
        Since::Seconds(seconds) => {
            now.checked_sub(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MIN)
        }
    });
    let mut chosen: VecDeque<&LogLine> =
        lines.iter().filter(|line| since.is_none_or(|since| line.time >= since)).collect();
    let first = chosen.len().saturating_sub(query.tail.unwrap_or(usize::MAX));
    chosen.drain(..first);
    chosen.iter().map(|line| line.print(query.timestamps)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container() -> Container {
        Container { namespace: "default".into(), pod: "web".into(), name: "main".into() }
    }

    fn at(second: i64, text: &str) -> LogLine {
        LogLine { time: Timestamp::from_second(second).unwrap(), text: text.into() }
    }

    fn selected(query: LogQuery) -> String {
        select(&[at(10, "a"), at(20, "b"), at(30, "c")], &query, Timestamp::from_second(40).unwrap())
    }

    #[test]
    fn lines_are_selected_by_time_and_count() {
        assert_eq!(selected(LogQuery::default()), "a\nb\nc\n");
        assert_eq!(selected(LogQuery { tail: Some(1), ..LogQuery::default() }), "c\n");
        assert_eq!(selected(LogQuery { tail: Some(0), ..LogQuery::default() }), "");
        let since = Some(Since::Seconds(20));
        assert_eq!(selected(LogQuery { since, ..LogQuery::default() }), "b\nc\n");
        assert_eq!(selected(LogQuery { since, tail: Some(1), ..LogQuery::default() }), "c\n");
        let since = Some(Since::Time(Timestamp::from_second(21).unwrap()));
        assert_eq!(
            selected(LogQuery { since, timestamps: true, ..LogQuery::default() }),
            "1970-01-01T00:00:30.000000000Z c\n"
        );
    }

    #[tokio::test]
    async fn followers_get_new_lines_until_the_container_is_removed() {
        let book = ContainerLogs::new(Clock::new(None));
        book.append(&container(), "one\ntwo");
        let follow = LogQuery { follow: true, tail: Some(1), limit: Some(9), ..LogQuery::default() };
        let mut tail = book.tail(&container(), follow);
        assert_eq!(tail.next().await.unwrap(), "two\n");
        book.append(&container(), "three");
        assert_eq!(tail.next().await.unwrap(), "three");
        assert_eq!(tail.next().await, None, "no more bytes than requested");

        let follow = LogQuery { follow: true, ..LogQuery::default() };
        let mut tail = book.tail(&container(), follow.clone());
        assert_eq!(tail.next().await.unwrap(), "one\ntwo\nthree\n");
        book.rotate(&container());
        assert_eq!(tail.next().await, None, "another run has another log");
        let mut previous = book.tail(&container(), LogQuery { previous: true, ..follow.clone() });
        assert_eq!(previous.next().await.unwrap(), "one\ntwo\nthree\n");
        assert_eq!(previous.next().await, None);
        let mut tail = book.tail(&container(), follow);
        book.forget("default", "web");
        assert_eq!(tail.next().await, None);
    }
}
