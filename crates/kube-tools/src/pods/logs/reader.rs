//! What to read next of the log of one container, as its status changes. No I/O.

use jiff::Timestamp;

use super::containers::{ContainerState, Phase};
use super::position::Position;

/// The reader of one container: which run of it is being read, and how far.
#[derive(Debug)]
pub(super) struct LogReader {
    follow: bool,
    run: Option<Run>,
    /// Of the first request.
    start: Start,
}

/// Where the log of a container that existed at the beginning starts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Start {
    pub(super) since: Option<Timestamp>,
    pub(super) tail: Option<i64>,
}

/// A run of a container: it has a log of its own.
#[derive(Debug)]
struct Run {
    number: i32,
    position: Position,
    /// All of it has been read.
    complete: bool,
}

/// What the task of a container has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Send this request and deliver its lines.
    Read(Read),
    /// Wait for a change of the status.
    Wait,
    /// Nothing will come any more.
    Done,
}

/// A request for a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) follow: bool,
    /// The log of the run before the current one.
    pub(super) previous: bool,
    pub(super) since: Option<Timestamp>,
    pub(super) tail: Option<i64>,
    /// The run had ended before the request: what comes is all there is.
    pub(super) last: bool,
    /// The lines are for the program. Otherwise they say only where the log ends now.
    pub(super) delivers: bool,
}

impl LogReader {
    pub(super) fn new(follow: bool, start: Start) -> Self {
        Self { follow, run: None, start }
    }

    /// The next step, given the status of the container.
    pub(super) fn step(&mut self, state: ContainerState) -> Step {
        if state.unselected && !state.gone {
            return Step::Wait;
        }
        let ends = state.gone || !self.follow;
        if let Some(run) = self.run.as_mut().filter(|run| run.number != state.run) {
            // Only the run before the current one can still be read.
            let is_readable = run.number + 1 == state.run && state.phase != Phase::Restarting;
            if !run.complete && is_readable && !state.gone {
                let since = run.position.start();
                return Step::Read(Read {
                    follow: false,
                    previous: true,
                    since,
                    tail: None,
                    last: true,
                    delivers: true,
                });
            }
            self.run = None;
            self.start.tail = None;
        }
        let ended = match state.phase {
            Phase::Waiting => return if ends { Step::Done } else { Step::Wait },
            Phase::Running => false,
            Phase::Terminated | Phase::Restarting => true,
        };
        let run = self.run.get_or_insert_with(|| Run {
            number: state.run,
            position: Position::default(),
            complete: false,
        });
        if run.complete || state.gone {
            return if ends { Step::Done } else { Step::Wait };
        }
        let resumed = run.position.start();
        let since = resumed.or(self.start.since);
        let tail = if resumed.is_some() { None } else { self.start.tail };
        if tail.is_some() {
            run.position.start_with_tail();
        }
        let last = ended || !self.follow;
        Step::Read(match tail {
            // A request that is followed may break before its first line, and nobody knows which lines it would have had. So the tail has
            // a request of its own, which has an end. That of no lines asks for one, to know the position.
            Some(lines) if !last => Read {
                follow: false,
                previous: false,
                since,
                tail: Some(if lines == 0 { 1 } else { lines }),
                last,
                delivers: lines != 0,
            },
            tail => Read { follow: !last, previous: false, since, tail, last, delivers: true },
        })
    }

    /// Whether a line of the current request is new.
    pub(super) fn accept(&mut self, time: Option<Timestamp>, text: &str) -> bool {
        self.run.as_mut().is_none_or(|run| run.position.accept(time, text))
    }

    /// The response of a request has been read to its end without an error.
    pub(super) fn ended(&mut self, read: Read) {
        if read.tail.is_some() {
            // Also if it had no lines: then the log was empty.
            self.start.tail = None;
        }
        if let Some(run) = &mut self.run
            && read.last
        {
            run.complete = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(run: i32, phase: Phase) -> ContainerState {
        ContainerState { run, phase, gone: false, unselected: false }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn read(reader: &mut LogReader, state: ContainerState) -> Read {
        match reader.step(state) {
            Step::Read(read) => read,
            other => panic!("{other:?}"),
        }
    }

    fn follower() -> LogReader {
        LogReader::new(true, Start { since: Some(at(5)), tail: Some(2) })
    }

    #[test]
    fn a_container_is_read_when_it_runs_and_once_more_after_its_end() {
        let mut reader = follower();
        assert_eq!(reader.step(state(0, Phase::Waiting)), Step::Wait);
        let first = read(&mut reader, state(0, Phase::Running));
        let (since, tail) = (Some(at(5)), Some(2));
        let expected = Read { follow: false, previous: false, since, tail, last: false, delivers: true };
        assert_eq!(first, expected);
        assert!(reader.accept(Some(at(7)), ""));
        reader.ended(first);
        // The connection ended: it continues.
        let again = read(&mut reader, state(0, Phase::Running));
        assert_eq!((again.since, again.tail, again.follow), (Some(at(7)), None, true));
        assert!(!reader.accept(Some(at(7)), ""));
        reader.ended(again);
        // The status is later than the end of the log.
        let rest = read(&mut reader, state(0, Phase::Terminated));
        assert!(rest.last && !rest.follow && rest.since == Some(at(7)));
        reader.ended(rest);
        assert_eq!(reader.step(state(0, Phase::Terminated)), Step::Wait);
        let gone = ContainerState { gone: true, ..state(0, Phase::Terminated) };
        assert_eq!(reader.step(gone), Step::Done);
    }

    #[test]
    fn the_rest_of_the_previous_run_comes_before_the_next_run() {
        let mut reader = follower();
        read(&mut reader, state(0, Phase::Running));
        assert!(reader.accept(Some(at(9)), ""));
        let rest = read(&mut reader, state(1, Phase::Running));
        assert!(rest.previous && rest.last && !rest.follow && rest.since == Some(at(9)));
        reader.ended(rest);
        let next = read(&mut reader, state(1, Phase::Running));
        assert!(!next.previous && next.follow);
        assert_eq!((next.since, next.tail), (Some(at(5)), None), "all of the new run");
        // While it waits for a restart, "previous" is the run that has just ended.
        let crashed = read(&mut reader, state(2, Phase::Restarting));
        assert!(!crashed.previous && crashed.last);
        // Two runs later only the current one can be read.
        let later = read(&mut reader, state(4, Phase::Running));
        assert!(!later.previous && later.follow);
        // A run that was read to its end is not read again as the previous one.
        let last = read(&mut reader, state(4, Phase::Terminated));
        reader.ended(last);
        assert!(!read(&mut reader, state(5, Phase::Running)).previous);
    }

    #[test]
    fn the_tail_limits_only_the_request_that_reads_it() {
        for (lines, asked) in [(0, 1), (3, 3)] {
            let follower = || LogReader::new(true, Start { since: Some(at(5)), tail: Some(lines) });
            let mut reader = follower();
            // It was not read to its end and had no line: it is read again.
            for _ in 0..2 {
                let tail = read(&mut reader, state(0, Phase::Running));
                assert_eq!((tail.follow, tail.tail, tail.delivers), (false, Some(asked), lines > 0));
            }
            // An empty log is followed from its beginning.
            let tail = read(&mut reader, state(0, Phase::Running));
            reader.ended(tail);
            let followed = read(&mut reader, state(0, Phase::Running));
            assert_eq!((followed.follow, followed.tail, followed.since), (true, None, Some(at(5))));
            assert!(followed.delivers);
            // A tail that broke off goes on behind its lines, which are whole from its first one on.
            let mut reader = follower();
            read(&mut reader, state(0, Phase::Running));
            assert!(reader.accept(Some(at(7)), "b"));
            let followed = read(&mut reader, state(0, Phase::Running));
            assert_eq!((followed.follow, followed.tail, followed.since), (true, None, Some(at(7))));
            let new: Vec<bool> = ["a", "b", "c"].map(|text| reader.accept(Some(at(7)), text)).into();
            assert_eq!(new, [false, false, true]);
        }
    }

    #[test]
    fn without_follow_each_container_is_read_once() {
        for phase in [Phase::Running, Phase::Terminated] {
            let mut reader = LogReader::new(false, Start::default());
            let all = read(&mut reader, state(2, phase));
            assert!(all.last && !all.follow);
            reader.ended(all);
            assert_eq!(reader.step(state(2, phase)), Step::Done);
        }
        let mut reader = LogReader::new(false, Start::default());
        assert_eq!(reader.step(state(0, Phase::Waiting)), Step::Done);
    }
}
