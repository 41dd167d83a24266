//! Processor time of the programs that jobs run: says what a job costs where the machine is shared or has other cores.

use std::path::Path;

/// User and system time of all children of this process that have ended, in seconds: fields 16 and 17 of `/proc/self/stat`, in ticks of
/// 10 ms. Zero where there is no `/proc`.
pub(crate) fn of_children() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(13).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The variable with the file to which a job that is a process of its own writes what it took.
pub(crate) const FILE: &str = "XTASK_CPU_TIME";

/// Writes the time of all children to the file that the variable names.
pub(crate) fn write() {
    if let Some(file) = std::env::var_os(FILE) {
        // A job does not fail because nobody reads what it took.
        let _ = std::fs::write(file, of_children().to_string());
    }
}

/// What such a job has written; zero where it was killed.
pub(crate) fn read(file: &Path) -> f64 {
    std::fs::read_to_string(file).ok().and_then(|text| text.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_job_that_wrote_nothing_took_no_time() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cpu");
        assert!(super::read(&file).abs() < f64::EPSILON);
        std::fs::write(&file, "1.5").unwrap();
        assert!((super::read(&file) - 1.5).abs() < f64::EPSILON);
    }
}
