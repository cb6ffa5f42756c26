//! Where a test of the base is on the claim when its identity is gone.

use super::{Context, Heir, How, Identity, Side};
use crate::host::path::RepoPath;
use std::collections::{BTreeMap, BTreeSet};

/// What became of identities that only one side has.
#[derive(Debug, Default)]
pub(super) struct Matched {
    /// How, of the base, of the claim.
    pub(super) moved: Vec<(How, Identity, Identity)>,
    /// Not tests: the base's words for a file that did not load, and now loads.
    pub(super) loads: BTreeSet<Identity>,
}

pub(super) fn match_up(base: &Side, claim: &Side, context: &Context<'_>) -> Matched {
    let missing = base.iter().filter(|(test, standing)| standing.executed() > 0 && !claim.contains_key(test));
    let fresh = claim.keys().filter(|test| !base.contains_key(test));
    let mut pool = Pool { missing: missing.map(|(test, _)| test).collect(), fresh: fresh.collect(), moved: Vec::new() };
    let has_new_tests = pool.fresh.iter().any(|test| claim[*test].executed() > claim[*test].failing());
    pool.pair(How::Moved, false, &|test| Some(test.name.clone()));
    pool.pair(How::Moved, true, &|test| Some(test.own_name().to_owned()));
    pool.gain_parameters();
    pool.pair(How::Recased, false, &|test| test.stem().map(|stem| place(test, stem)));
    pool.pair(How::Recased, true, &|test| steady_part(&test.name).map(|name| place(test, &name)));
    pool.shift(context.heirs);
    pool.inherit(claim, context.heirs);
    let loads = |test: &&Identity| {
        let standing = base[*test];
        standing.failing() == standing.executed() && stands_for_a_file(test, context) && has_new_tests
    };
    let loads = pool.missing.iter().copied().filter(loads).cloned().collect();
    Matched { moved: pool.moved, loads }
}

fn place(test: &Identity, name: &str) -> String {
    format!("{}\0{}\0{name}", test.suite, test.file.as_ref().map(ToString::to_string).unwrap_or_default())
}

/// What has no partner yet.
struct Pool<'t> {
    missing: Vec<&'t Identity>,
    fresh: Vec<&'t Identity>,
    moved: Vec<(How, Identity, Identity)>,
}

impl<'t> Pool<'t> {
    /// Pairs what shares a key, in order; `alone`: only where each side has it once.
    fn pair(&mut self, how: How, alone: bool, key: &dyn Fn(&Identity) -> Option<String>) {
        let group = |tests: &[&'t Identity]| {
            let mut groups: BTreeMap<String, Vec<&'t Identity>> = BTreeMap::new();
            for test in tests {
                if let Some(key) = key(test) {
                    groups.entry(key).or_default().push(test);
                }
            }
            groups
        };
        let (old, new) = (group(&self.missing), group(&self.fresh));
        for (key, old) in old {
            let Some(new) = new.get(&key) else { continue };
            if alone && (old.len(), new.len()) != (1, 1) {
                continue;
            }
            for (from, to) in old.iter().zip(new) {
                self.moved.push((how, (*from).clone(), (*to).clone()));
            }
        }
        self.forget_paired();
    }

    /// A test that is run with several parameters now: all of them are it.
    fn gain_parameters(&mut self) {
        for to in &self.fresh {
            let Some(stem) = to.stem() else { continue };
            let same = |from: &&&Identity| from.name == stem && from.suite == to.suite && from.file == to.file;
            if let Some(from) = self.missing.iter().find(same) {
                self.moved.push((How::Parametrised, (*from).clone(), (*to).clone()));
            }
        }
        self.forget_paired();
    }

    /// Cases whose automatic names moved because others were put in before them. That each still runs is counted.
    fn shift(&mut self, heirs: &[Heir]) {
        for (how, from, _) in self.moved.iter_mut().filter(|(how, ..)| *how == How::Recased) {
            if heirs.iter().any(|heir| heir.grown && fits(from, &heir.old_path, &heir.old_name)) {
                *how = How::Shifted;
            }
        }
    }

    /// What the text says: the same body under another name, or assertions that stand in another test.
    fn inherit(&mut self, claim: &Side, heirs: &[Heir]) {
        for from in self.missing.clone() {
            let mut fitting = heirs.iter().filter(|heir| fits(from, &heir.old_path, &heir.old_name));
            let (Some(heir), None) = (fitting.next(), fitting.next()) else { continue };
            let Some((how, path, name)) = &heir.new else { continue };
            let runs: Vec<&Identity> = match how {
                How::Merged => claim.iter().filter(|(_, standing)| standing.passed > 0).map(|(test, _)| test).collect(),
                _ => self.fresh.clone(),
            };
            if let Some(to) = runs.into_iter().find(|to| fits(to, path, name)) {
                self.moved.push((*how, from.clone(), to.clone()));
                self.fresh.retain(|fresh| *fresh != to);
            }
        }
        self.forget_paired();
    }

    fn forget_paired(&mut self) {
        let (from, to): (BTreeSet<&Identity>, BTreeSet<&Identity>) =
            self.moved.iter().map(|(_, from, to)| (from, to)).unzip();
        self.missing.retain(|test| !from.contains(test));
        self.fresh.retain(|test| !to.contains(test));
    }
}

/// True if a test that ran can be the one that this file defines under this name.
pub(super) fn fits(test: &Identity, path: &RepoPath, name: &str) -> bool {
    let own = name.rsplit("::").next().unwrap_or(name);
    let named = test.own_name() == own || test.stem().is_some_and(|stem| stem.rsplit("::").next() == Some(own));
    named && test.file.as_ref().is_none_or(|file| path.as_bytes().ends_with(file.as_bytes()))
}

/// A name with its long numbers taken out (dates, ports, temporary folders); none if it has none.
fn steady_part(name: &str) -> Option<String> {
    let mut out = String::new();
    let mut found = false;
    for part in name.split_inclusive(|c: char| !c.is_ascii_hexdigit()) {
        let digits = part.chars().filter(char::is_ascii_digit).count();
        let length = part.chars().filter(char::is_ascii_hexdigit).count();
        if digits >= 4 || (length >= 8 && digits > 0) {
            found = true;
            out.push('#');
            out.extend(part.chars().filter(|c| !c.is_ascii_hexdigit()));
        } else {
            out.push_str(part);
        }
    }
    found.then_some(out)
}

/// True if this is a runner's word for a file or a package that it could not load, and the file is still there.
fn stands_for_a_file(test: &Identity, context: &Context<'_>) -> bool {
    if test.name.starts_with('(') && test.name.ends_with(')') {
        return true;
    }
    let below = |path: &str| {
        let path = match context.root.as_bytes() {
            [] => RepoPath::from(path),
            _ => RepoPath::from(format!("{}/{path}", context.root).as_str()),
        };
        path.is_safe() && (context.in_claim)(&path)
    };
    let name = test.name.as_str();
    below(name) || below(&format!("{}.py", name.replace('.', "/"))) || test.suite.is_empty() && below(&test.shown())
}
