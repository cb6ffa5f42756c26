//! What a judgement costs, as ratios to git's own commands measured in the same run.
//!
//! ```text
//! cargo bench                                     3k, 10k and 50k files, 9 rounds
//! cargo bench -- --quick                          3k files, 3 rounds
//! cargo bench -- --files 3000,100000 --rounds 5
//! cargo bench -- --gate                           the merge gate alone
//! cargo bench -- --only room                      rows with that word in their name, and what they are compared with
//! cargo bench -- --only transcripts               how fast transcripts are read and a hook answers, no table
//! ```
//! Milliseconds depend on the machine and on its other work; the ratios are what the targets are about. Every round runs
//! every row once, forwards and backwards in turn, so that a busy moment hits all of them; a ratio is the median of the
//! rounds' own ratios. Beside the time stands what the processors did for it: that hardly depends on other work, and tells
//! nothing of what was waited for or done side by side.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::panic, reason = "a program of its own, for people")]

mod flood;
mod gate;
mod reading;
mod rows;
mod stage;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rows::{Comparison, Row};
use stage::Stage;
use std::fmt::Write;
use std::time::Instant;

/// What to measure.
struct Plan {
    files: Vec<u32>,
    rounds: usize,
    only: Option<String>,
}

fn main() {
    let mut args = std::env::args().skip(1);
    if let (Some(reading::WORD), Some(path)) = (args.next().as_deref(), args.next()) {
        return reading::read(path.into());
    }
    let plan = plan(std::env::args().skip(1));
    println!(
        "{:>7}  {:<38} {:>10} {:>8} {:>11} {:>11}  target",
        "files", "what", "median ms", "cpu ms", "compared", "by cpu"
    );
    let whole = !plan.files.is_empty();
    let transcripts = plan.only.as_deref() == Some("transcripts");
    for files in plan.files.iter().copied().filter(|_| !transcripts) {
        let stage = Stage::build(files);
        let mut rows = chosen(rows::rows(&stage), plan.only.as_deref());
        measure(&mut rows, plan.rounds);
        print!("{}", table(files, &rows));
    }
    if plan.only.is_none() && whole {
        print!("{}", flood::measure());
    }
    if transcripts || (plan.only.is_none() && whole) {
        print!("{}", reading::measure());
        print!("{}", reading::hook_latency());
    }
    if plan.only.is_none() {
        print!("{}", gate::measure());
    }
}

/// The rows with this word in their name, and those that they are compared with.
fn chosen(mut rows: Vec<Row>, word: Option<&str>) -> Vec<Row> {
    let Some(word) = word else { return rows };
    let wanted = |row: &Row| row.name.contains(word);
    let of_wanted = rows.iter().filter(|row| wanted(row)).flat_map(|row| &row.comparisons);
    let others: Vec<&str> = of_wanted.flat_map(|comparison| comparison.to).copied().collect();
    rows.retain(|row| wanted(row) || others.contains(&row.name));
    assert!(!rows.is_empty(), "no row has {word} in its name");
    rows
}

fn plan(mut args: impl Iterator<Item = String>) -> Plan {
    let mut plan = Plan { files: vec![3_000, 10_000, 50_000], rounds: 9, only: None };
    while let Some(arg) = args.next() {
        let mut number_list = || {
            let value = args.next().unwrap_or_else(|| panic!("{arg} needs a value"));
            value
                .split(',')
                .map(|n| n.parse().unwrap_or_else(|_| panic!("{arg}: {n} is no number")))
                .collect::<Vec<u32>>()
        };
        match arg.as_str() {
            "--gate" => plan.files = Vec::new(),
            "--quick" => plan = Plan { files: vec![3_000], rounds: 3, ..plan },
            "--only" => plan.only = args.next(),
            "--files" => plan.files = number_list(),
            "--rounds" => plan.rounds = number_list()[0].max(1) as usize,
            // Cargo's own word to a bench without a harness.
            "--bench" => {}
            other => {
                panic!("unknown argument {other}; known are --quick, --gate, --files N,N, --rounds N and --only WORD")
            }
        }
    }
    plan
}

fn measure(rows: &mut [Row], rounds: usize) {
    let once = |row: &mut Row, counts: bool| {
        (row.before)();
        let (began, worked) = (Instant::now(), work());
        (row.run)();
        if counts {
            row.times.push(began.elapsed().as_secs_f64() * 1_000.0);
            row.work.push(work() - worked);
        }
        (row.after)();
    };
    for row in rows.iter_mut() {
        // Unmeasured: it writes the objects that every later run finds, and warms the caches.
        once(row, false);
    }
    for round in 0..rounds {
        let count = rows.len();
        for step in 0..count {
            // Each row has its time once a round, at the same place.
            once(&mut rows[if round % 2 == 0 { step } else { count - 1 - step }], true);
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What the processors did until now for us and all processes we waited for, in milliseconds.
fn work() -> f64 {
    let of = |who| {
        let usage = getrusage(who).unwrap();
        [usage.user_time(), usage.system_time()]
            .iter()
            .map(|time| {
                #[expect(clippy::cast_precision_loss, reason = "far below 2^52 microseconds")]
                let micros = time.num_microseconds() as f64;
                micros / 1_000.0
            })
            .sum::<f64>()
    };
    of(UsageWho::RUSAGE_SELF) + of(UsageWho::RUSAGE_CHILDREN)
}

/// What a row is compared with, round by round: the sum of these rows' figures.
fn others(rows: &[Row], names: &[&str], figure: impl Fn(&Row) -> f64) -> f64 {
    names.iter().map(|name| figure(rows.iter().find(|row| row.name == *name).unwrap())).sum()
}

fn table(files: u32, rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let (time, work) = (median(row.times.clone()), median(row.work.clone()));
        write!(text, "{files:>7}  {:<38} {time:>10.1} {work:>8.1}", row.name).unwrap();
        for (number, Comparison { to, how, target }) in row.comparisons.iter().enumerate() {
            let rounds = 0..row.times.len();
            let values = rounds.clone().map(|n| how.of(row.times[n], others(rows, to, |row| row.times[n])));
            let said = how.in_words(median(values.collect()));
            let values = rounds.map(|n| how.of(row.work[n], others(rows, to, |row| row.work[n])));
            let by_work = how.in_words(median(values.collect()));
            if number > 0 {
                write!(text, "\n{:>7}  {:<38} {:>10} {:>8}", "", format!("  to {}", to.join(" + ")), "", "").unwrap();
            }
            write!(text, " {said:>11} {by_work:>11}  {target}").unwrap();
        }
        text.push('\n');
    }
    text
}
