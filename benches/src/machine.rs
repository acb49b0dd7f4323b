//! The machine that the figures come from: CPUs, load, and a process's own memory.
//! Not portable to all of it: where `/proc` is missing, a figure is absent.

use std::fs;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns one line about the machine.
pub(crate) fn about() -> String {
    let model = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown CPU".to_owned());
    format!("{} CPUs ({model}), load {}, {}", cpus(), load(), std::env::consts::OS)
}

/// Returns how many threads run at once.
pub(crate) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Returns the load of the last 1, 5 and 15 minutes.
pub(crate) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let averages: Vec<&str> = text.split_whitespace().take(3).collect();
    if averages.is_empty() { "unknown".to_owned() } else { averages.join(" ") }
}

/// Makes the most memory that this process had what it has now. Returns whether the system can do that.
pub(crate) fn reset_peak_memory() -> bool {
    // `5` stands for that; only Linux has the file.
    let file = std::fs::OpenOptions::new().write(true).open("/proc/self/clear_refs");
    file.and_then(|mut file| std::io::Write::write_all(&mut file, b"5")).is_ok()
}

/// Returns the most memory that this process ever had at once, in bytes.
pub(crate) fn peak_memory_bytes() -> Option<u64> {
    let text = field("/proc/self/status", "VmHWM")?;
    let kibibytes: u64 = text.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Returns the time that the calling thread has run on a CPU, waits aside.
pub(crate) fn thread_cpu() -> Duration {
    cpu(ClockId::ThreadCPUTime)
}

/// Returns the time that all threads of this process have run on a CPU, ended ones included.
pub(crate) fn process_cpu() -> Duration {
    cpu(ClockId::ProcessCPUTime)
}

fn cpu(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim().to_owned())
}
