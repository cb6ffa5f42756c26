//! A test run that writes a gigabyte: how much of it the judging program holds.

use super::stage::Stage;
use std::fs::{self, File};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// What the tests write.
const BYTES: u32 = 1_000_000_000;

/// Judges a claim whose tests write [`BYTES`], and tells the most memory that the program itself held.
pub(super) fn measure() -> String {
    let stage = Stage::build(100);
    let tests = format!("yes 'a line such as a test run writes, again and again' | head -c {BYTES}");
    let began = Instant::now();
    let receipts = stage.scratch("receipts.jsonl");
    let output = File::create(&receipts).unwrap();
    let mut verify = stage.verifying(&["judged.md", "--tests", &tests, "--events"]);
    let mut child = verify.stdout(output).stderr(Stdio::null()).spawn().unwrap();
    let mut most = 0.0;
    // The high-water mark only grows, so the last look before its end is as good as one at its end.
    while child.try_wait().unwrap().is_none() {
        most = high_water(child.id()).unwrap_or(most);
        wait_a_moment();
    }
    let took = began.elapsed().as_secs_f64();
    let receipts = fs::read_to_string(receipts).unwrap();
    assert!(receipts.contains(&format!("\"log-bytes\":{BYTES}")), "that much was not written: {receipts}");
    format!(
        "a test run that writes {:.1} GB: {:.0} MB held at most (target < 100 MB), {:.1} s for the judgement, {:.0} MB/s\n",
        f64::from(BYTES) / 1e9,
        most * 1024.0 / 1e6,
        took,
        f64::from(BYTES) / 1e6 / took
    )
}

#[expect(clippy::disallowed_methods, reason = "between two looks at a running program")]
fn wait_a_moment() {
    std::thread::sleep(Duration::from_millis(2));
}

/// The most memory a process ever held, in KiB.
pub(super) fn high_water(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().strip_suffix(" kB")?.trim().parse().ok()
}
