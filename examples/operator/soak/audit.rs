//! Who wrote what, in the order of the server.

use kube_testserver::RequestRecord;
use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Mutex, MutexGuard};

/// Shared by the sockets of the replicas.
#[derive(Clone, Default)]
pub(crate) struct Audit(Arc<Mutex<Report>>);

/// What the writes show.
#[derive(Clone, Default)]
pub(crate) struct Report {
    /// The replica of the last write to the Lease, while its process lives.
    holder: Option<&'static str>,
    pub(crate) kills: u32,
    pub(crate) terms: u32,
    writes: u64,
    /// Since the leader was killed.
    without_leader: Option<Instant>,
    longest_without_leader: Duration,
    pub(crate) overlaps: Vec<String>,
}

impl Audit {
    /// A response to a replica.
    pub(crate) fn record(&self, replica: &'static str, record: &RequestRecord) {
        let path = record.uri.path();
        let is_write = record.method != http::Method::GET && (200..300).contains(&record.code);
        if is_write && path.contains("/leases") {
            self.lock().renewed(replica);
        } else if is_write
            && ["/pages/", "/deployments/", "/configmaps/"].iter().any(|kind| path.contains(kind))
        {
            self.lock().wrote(replica, &format!("{} {path}", record.method));
        }
    }

    /// The process has ended, and its requests too. Another one with the same name has to be elected.
    pub(crate) fn killed(&self, replica: &'static str) {
        let mut report = self.lock();
        report.kills += 1;
        if report.holder == Some(replica) {
            report.holder = None;
            report.without_leader = Some(Instant::now());
        }
    }

    pub(crate) fn report(&self) -> Report {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Report> {
        self.0.lock()
    }
}

impl Report {
    fn renewed(&mut self, replica: &'static str) {
        if self.holder != Some(replica) {
            self.holder = Some(replica);
            self.terms += 1;
            let waited = self.without_leader.take().map(|since| since.elapsed());
            self.longest_without_leader = self.longest_without_leader.max(waited.unwrap_or_default());
        }
    }

    fn wrote(&mut self, replica: &'static str, what: &str) {
        self.writes += 1;
        if self.holder != Some(replica) && self.overlaps.len() < 20 {
            let holder = self.holder.unwrap_or("none");
            self.overlaps.push(format!("{replica} wrote while the holder was {holder}: {what}"));
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, terms, writes, longest_without_leader, overlaps, .. } = self;
        let seconds = longest_without_leader.as_secs_f64();
        write!(
            f,
            "{kills} kills, {terms} terms of leaders, at most {seconds:.1} s from a kill to the next leader; "
        )?;
        write!(f, "{writes} writes by leaders, {} by others", overlaps.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_by_any_other_than_the_last_holder_is_an_overlap() {
        let audit = Audit::default();
        audit.lock().renewed("a");
        audit.lock().wrote("a", "PATCH /1");
        audit.lock().wrote("b", "PATCH /2");
        audit.lock().renewed("b");
        audit.lock().wrote("b", "PATCH /3");
        audit.lock().wrote("a", "PATCH /4");
        audit.killed("b");
        audit.lock().wrote("b", "PATCH /5"); // a new process with the old name
        let expected = [
            "b wrote while the holder was a: PATCH /2",
            "a wrote while the holder was b: PATCH /4",
            "b wrote while the holder was none: PATCH /5",
        ];
        let report = audit.report();
        assert_eq!((report.overlaps, report.terms, report.kills), (expected.map(Into::into).into(), 2, 1));
    }
}
