//! What a judgement costs, as ratios to git's own commands measured in the same run.
//!
//! ```text
//! cargo bench                                     3k, 10k and 50k files, 9 rounds
//! cargo bench -- --quick                          3k files, 3 rounds
//! cargo bench -- --files 3000,100000 --rounds 5
//! cargo bench -- --gate                           the merge gate alone
//! ```
//! Milliseconds depend on the machine and on its other work; the ratios are what the targets are about. Every round runs
//! every row once, forwards and backwards in turn, so that a busy moment hits all of them; a ratio is the median of the
//! rounds' own ratios.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::panic, reason = "a program of its own, for people")]

mod flood;
mod gate;
mod rows;
mod stage;

use rows::{Comparison, Row};
use stage::Stage;
use std::fmt::Write;
use std::time::Instant;

/// What to measure.
struct Plan {
    files: Vec<u32>,
    rounds: usize,
}

fn main() {
    let plan = plan(std::env::args().skip(1));
    println!("{:>7}  {:<38} {:>10} {:>10}  target", "files", "what", "median ms", "compared");
    let plan_is_whole = !plan.files.is_empty();
    for files in plan.files {
        let stage = Stage::build(files);
        let mut rows = rows::rows(&stage);
        measure(&mut rows, plan.rounds);
        print!("{}", table(files, &rows));
    }
    if plan_is_whole {
        print!("{}", flood::measure());
    }
    print!("{}", gate::measure());
}

fn plan(mut args: impl Iterator<Item = String>) -> Plan {
    let mut plan = Plan { files: vec![3_000, 10_000, 50_000], rounds: 9 };
    while let Some(arg) = args.next() {
        let mut number_list = || {
            let value = args.next().unwrap_or_else(|| panic!("{arg} needs a value"));
            value
                .split(',')
                .map(|n| n.parse().unwrap_or_else(|_| panic!("{arg}: {n} is no number")))
                .collect::<Vec<u32>>()
        };
        match arg.as_str() {
            "--gate" => plan = Plan { files: Vec::new(), rounds: 0 },
            "--quick" => plan = Plan { files: vec![3_000], rounds: 3 },
            "--files" => plan.files = number_list(),
            "--rounds" => plan.rounds = number_list()[0].max(1) as usize,
            // Cargo's own word to a bench without a harness.
            "--bench" => {}
            other => panic!("unknown argument {other}; known are --quick, --gate, --files N,N and --rounds N"),
        }
    }
    plan
}

fn measure(rows: &mut [Row], rounds: usize) {
    let once = |row: &mut Row, counts: bool| {
        (row.before)();
        let began = Instant::now();
        (row.run)();
        if counts {
            row.times.push(began.elapsed().as_secs_f64() * 1_000.0);
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

/// What a row is compared with, round by round: the sum of these rows' times.
fn others(rows: &[Row], names: &[&str], round: usize) -> f64 {
    names.iter().map(|name| rows.iter().find(|row| row.name == *name).unwrap().times[round]).sum()
}

fn table(files: u32, rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        write!(text, "{files:>7}  {:<38} {:>10.1}", row.name, median(row.times.clone())).unwrap();
        for (number, Comparison { to, how, target }) in row.comparisons.iter().enumerate() {
            let values = row.times.iter().enumerate().map(|(round, own)| how.of(*own, others(rows, to, round)));
            let said = how.in_words(median(values.collect()));
            if number == 0 {
                write!(text, " {said:>10}  {target}").unwrap();
            } else {
                write!(text, "\n{:>7}  {:<38} {:>10} {said:>10}  {target}", "", format!("  to {}", to.join(" + ")), "")
                    .unwrap();
            }
        }
        text.push('\n');
    }
    text
}
