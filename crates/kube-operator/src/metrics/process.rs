//! What this process uses, under the names of Prometheus' Go client. Read from `/proc`, so only on Linux.

#[cfg(target_os = "linux")]
use metrics::{Unit, counter, describe_counter, describe_gauge, gauge};

/// A counter, which has whole numbers here: the rate over five minutes is exact to a third of a percent of a CPU.
#[cfg(target_os = "linux")]
const CPU_TIME: &str = "process_cpu_seconds_total";

#[cfg(target_os = "linux")]
const GAUGES: [(&str, Unit, &str); 6] = [
    ("process_resident_memory_bytes", Unit::Bytes, "Resident memory size in bytes"),
    ("process_virtual_memory_bytes", Unit::Bytes, "Virtual memory size in bytes"),
    ("process_open_fds", Unit::Count, "Number of open file descriptors"),
    ("process_max_fds", Unit::Count, "Maximum number of open file descriptors"),
    ("process_threads", Unit::Count, "Number of operating system threads in the process"),
    ("process_start_time_seconds", Unit::Seconds, "Start time of the process since unix epoch in seconds"),
];

/// Describes the metrics to the recorder.
pub(super) fn describe() {
    #[cfg(target_os = "linux")]
    {
        describe_counter!(CPU_TIME, Unit::Seconds, "Total user and system CPU time spent in seconds");
        for (name, unit, help) in GAUGES {
            describe_gauge!(name, unit, help);
        }
    }
}

/// Sets the metrics. Reads a few files below `/proc/self`; what cannot be read is left out.
pub(super) fn refresh() {
    #[cfg(target_os = "linux")]
    {
        let (cpu_time, values) = values();
        if let Some(seconds) = cpu_time {
            counter!(CPU_TIME).absolute(seconds as u64);
        }
        for ((name, ..), value) in GAUGES.into_iter().zip(values) {
            if let Some(value) = value {
                gauge!(name).set(value);
            }
        }
    }
}

/// The CPU time in seconds, and the rest in the order of [`GAUGES`].
#[cfg(target_os = "linux")]
fn values() -> (Option<f64>, [Option<f64>; GAUGES.len()]) {
    use procfs::process::{LimitValue, Process};
    let process = Process::myself().ok();
    let stat = process.as_ref().and_then(|process| process.stat().ok());
    let seconds = |ticks: u64| ticks as f64 / procfs::ticks_per_second() as f64;
    let limit = process.as_ref().and_then(|process| process.limits().ok());
    let boot = procfs::boot_time_secs().ok();
    let stat = stat.as_ref();
    let cpu_time = stat.map(|stat| seconds(stat.utime + stat.stime));
    let values = [
        stat.map(|stat| (stat.rss * procfs::page_size()) as f64),
        stat.map(|stat| stat.vsize as f64),
        process.as_ref().and_then(|process| process.fd_count().ok()).map(|count| count as f64),
        limit.map(|limit| match limit.max_open_files.soft_limit {
            LimitValue::Value(limit) => limit as f64,
            LimitValue::Unlimited => f64::INFINITY,
        }),
        stat.map(|stat| stat.num_threads as f64),
        stat.zip(boot).map(|(stat, boot)| boot as f64 + seconds(stat.starttime)),
    ];
    (cpu_time, values)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_descriptors_threads_and_a_start() {
        let (cpu, values) = values();
        let (cpu, values) = (cpu.expect("it is read"), values.map(|value| value.expect("it is read")));
        let [resident, virtual_, open, max, threads, start] = values;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
        assert!(cpu >= 0.0 && resident > 1e6 && virtual_ >= resident, "{values:?}");
        assert!(open >= 3.0 && max >= open && threads >= 1.0, "{values:?}");
        assert!(start > now - 7200.0 && start < now + 2.0, "{values:?}");
    }
}
