//! Which test of the claim is which test of the base: by name, then by body (RULINGS 14).

use super::version::Changed;
use super::weakening::is_carried;
use crate::floor::test_files::{Assertion, TestDefinition};
use crate::floor::tests_run::compare::{Heir, How};
use std::collections::{HashMap, HashSet};

/// Beyond this many tests without a partner, nobody looks for tests that were merged into others.
const MOST_SOUGHT: usize = 300;

/// Bodies that share this many percent of their words are one test, edited.
const ALIKE: usize = 60;

/// A test and the change it stands in.
#[derive(Clone, Copy)]
pub(super) struct Placed<'t> {
    pub(super) file: usize,
    pub(super) test: &'t TestDefinition,
}

/// What became of a test of the base.
pub(super) enum Fate<'t> {
    /// Here it is.
    Kept(Placed<'t>),
    /// The same body under another name.
    Renamed(Placed<'t>),
    /// In another file, perhaps edited.
    Moved(Placed<'t>),
    /// Its assertions stand in this test.
    Merged(Placed<'t>),
    /// It stands in this change's new file, in a function called so, on this line, where no runner collects it.
    Uncollected(usize, String, usize),
    /// Gone.
    Gone,
}

/// All tests of both sides, and what became of the base's.
pub(super) struct Matched<'t> {
    pub(super) fates: Vec<(Placed<'t>, Fate<'t>)>,
    /// Tests of the claim that no test of the base became.
    pub(super) new: Vec<Placed<'t>>,
}

/// Matches the tests of all changed files.
pub(super) fn match_tests<'t>(changes: &'t [Changed<'_>]) -> Matched<'t> {
    let base = tests_of(changes, false);
    let claim = tests_of(changes, true);
    let mut partner: Vec<Option<usize>> = vec![None; base.len()];
    let mut taken: Vec<bool> = vec![false; claim.len()];
    let full = |placed: &Placed<'t>| format!("{}\0{}", placed.file, placed.test.name);
    let same = |placed: &Placed<'t>| format!("{}\0{}", placed.test.own_name(), placed.test.body);
    let body = |placed: &Placed<'t>| if placed.test.can_fail { placed.test.body.clone() } else { String::new() };
    let own = |placed: &Placed<'t>| placed.test.own_name().to_owned();
    pair(&base, &claim, &mut partner, &mut taken, &full);
    pair(&base, &claim, &mut partner, &mut taken, &same);
    pair(&base, &claim, &mut partner, &mut taken, &body);
    pair(&base, &claim, &mut partner, &mut taken, &own);
    pair_alike(&base, &claim, &mut partner, &mut taken);
    let uncollected = uncollected(changes);
    let left = partner.iter().filter(|partner| partner.is_none()).count();
    let path = |version: &Option<super::version::Version<'_>>| version.as_ref().map(|version| version.path.clone());
    let moves = |old: &Placed<'_>, new: &Placed<'_>| path(&changes[old.file].old) != path(&changes[new.file].new);
    let mut fates = Vec::new();
    for (index, placed) in base.iter().enumerate() {
        let fate = match partner[index].map(|at| claim[at]) {
            Some(found) if moves(placed, &found) => Fate::Moved(found),
            Some(found) if found.test.name == placed.test.name => Fate::Kept(found),
            Some(found) if found.test.own_name() == placed.test.own_name() => Fate::Moved(found),
            Some(found) => Fate::Renamed(found),
            None => match merged(*placed, &base, &claim, &partner, changes).filter(|_| left <= MOST_SOUGHT) {
                Some(found) => Fate::Merged(found),
                None => uncollected
                    .get(placed.test.body.as_str())
                    .filter(|_| placed.test.can_fail)
                    .map_or(Fate::Gone, |(file, name, line)| Fate::Uncollected(*file, name.clone(), *line)),
            },
        };
        fates.push((*placed, fate));
    }
    let new = claim.iter().enumerate().filter(|(at, _)| !taken[*at]).map(|(_, placed)| *placed).collect();
    Matched { fates, new }
}

/// What became of the base's tests, for a comparison of what ran. What no runner collects any more is gone.
pub(super) fn heirs(changes: &[Changed<'_>]) -> Vec<Heir> {
    let matched = match_tests(changes);
    let heir = |(placed, fate): &(Placed<'_>, Fate<'_>)| {
        let old = changes[placed.file].old.as_ref()?;
        let at = |how: How, now: &Placed<'_>| {
            let new = changes[now.file].new.as_ref()?;
            Some((how, new.path.clone(), now.test.name.clone()))
        };
        let new = match fate {
            Fate::Kept(now) | Fate::Moved(now) => at(How::Moved, now),
            Fate::Renamed(now) => at(How::Renamed, now),
            Fate::Merged(now) => at(How::Merged, now),
            Fate::Uncollected(..) | Fate::Gone => None,
        };
        let grown = match fate {
            Fate::Kept(now) | Fate::Moved(now) => has_grown(&placed.test.parameters, &now.test.parameters),
            _ => false,
        };
        Some(Heir { old_path: old.path.clone(), old_name: placed.test.name.clone(), new, grown })
    };
    matched.fates.iter().filter_map(heir).collect()
}

/// True if every word of the old parameters stands in the new ones, in order, among others.
fn has_grown(old: &str, new: &str) -> bool {
    let mut rest = new.split(' ');
    old != new && old.split(' ').all(|word| rest.any(|other| other == word))
}

fn tests_of<'t>(changes: &'t [Changed<'_>], claim: bool) -> Vec<Placed<'t>> {
    let mut all = Vec::new();
    for (file, changed) in changes.iter().enumerate() {
        let version = if claim { &changed.new } else { &changed.old };
        let Some(version) = version.as_ref().filter(|version| version.is_collected()) else { continue };
        all.extend(version.outline.iter().flat_map(|outline| &outline.tests).map(|test| Placed { file, test }));
    }
    all
}

/// Pairs what shares a key and has no partner yet, in order.
fn pair<'t>(
    base: &[Placed<'t>],
    claim: &[Placed<'t>],
    partner: &mut [Option<usize>],
    taken: &mut [bool],
    key: &dyn Fn(&Placed<'t>) -> String,
) {
    let mut waiting: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, placed) in claim.iter().enumerate().rev().filter(|(at, _)| !taken[*at]) {
        waiting.entry(key(placed)).or_default().push(at);
    }
    for (index, placed) in base.iter().enumerate() {
        if partner[index].is_some() {
            continue;
        }
        let key = key(placed);
        if let Some(at) = waiting.get_mut(&key).filter(|_| !key.is_empty()).and_then(Vec::pop) {
            partner[index] = Some(at);
            taken[at] = true;
        }
    }
}

/// Pairs what was renamed and edited at once: most of the body is still there, in the same file. What was lost with the
/// name is then told by the comparison, as it is for a test that kept its name.
fn pair_alike(base: &[Placed<'_>], claim: &[Placed<'_>], partner: &mut [Option<usize>], taken: &mut [bool]) {
    let open: Vec<usize> = (0..base.len()).filter(|index| partner[*index].is_none()).collect();
    let free: Vec<usize> = (0..claim.len()).filter(|at| !taken[*at] && claim[*at].test.can_fail).collect();
    if open.len() > MOST_SOUGHT || free.len() > MOST_SOUGHT {
        return;
    }
    let mut alike: Vec<(usize, usize, usize)> = Vec::new();
    for index in open {
        for at in free.iter().copied().filter(|at| claim[*at].file == base[index].file) {
            let percent = likeness(&base[index].test.body, &claim[at].test.body);
            if percent >= ALIKE {
                alike.push((percent, index, at));
            }
        }
    }
    alike.sort_by_key(|(percent, index, at)| (std::cmp::Reverse(*percent), *index, *at));
    for (_, index, at) in alike {
        if partner[index].is_none() && !taken[at] {
            partner[index] = Some(at);
            taken[at] = true;
        }
    }
}

/// How much two bodies share, in percent of both: names, numbers and texts; brackets and operators are in any body.
fn likeness(one: &str, other: &str) -> usize {
    fn words(text: &str) -> impl Iterator<Item = &str> {
        text.split(' ')
            .filter(|word| word.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '`' | '/')))
    }
    let mut left: HashMap<&str, usize> = HashMap::new();
    for word in words(other) {
        *left.entry(word).or_default() += 1;
    }
    let total = words(one).count() + words(other).count();
    let mut shared = 0_usize;
    for word in words(one) {
        if let Some(count) = left.get_mut(word).filter(|count| **count > 0) {
            *count -= 1;
            shared += 2;
        }
    }
    (shared * 100).checked_div(total).unwrap_or(0)
}

/// A test of the claim that gained all assertions of one that is gone.
fn merged<'t>(
    gone: Placed<'t>,
    base: &[Placed<'t>],
    claim: &[Placed<'t>],
    partner: &[Option<usize>],
    changes: &[Changed<'_>],
) -> Option<Placed<'t>> {
    if gone.test.assertions.is_empty() {
        return None;
    }
    let lost: Vec<&Assertion> = gone.test.assertions.iter().collect();
    let wanted: HashSet<&str> = lost.iter().map(|assertion| assertion.text.as_str()).collect();
    let mut before: HashMap<usize, &TestDefinition> = HashMap::new();
    for (index, at) in partner.iter().enumerate() {
        if let Some(at) = at {
            before.insert(*at, base[index].test);
        }
    }
    claim
        .iter()
        .enumerate()
        .filter(|(_, other)| other.test.markers.is_empty() && other.test.body != gone.test.body)
        .find(|(at, other)| {
            let known: HashSet<&str> = before
                .get(at)
                .map(|test| test.assertions.iter().map(|a| a.text.as_str()).collect())
                .unwrap_or_default();
            let gained: HashSet<&str> =
                other.test.assertions.iter().map(|a| a.text.as_str()).filter(|text| !known.contains(text)).collect();
            let functions =
                changes[other.file].new.as_ref().and_then(|new| new.outline.as_ref()).map_or(&[][..], |o| &o.functions);
            wanted.is_subset(&gained) || is_carried(&lost, other.test, before.get(at).copied(), functions)
        })
        .map(|(_, other)| *other)
}

/// Bodies that the claim keeps where no runner looks, each with its change, name and line.
fn uncollected<'t>(changes: &'t [Changed<'_>]) -> HashMap<&'t str, (usize, String, usize)> {
    let mut found = HashMap::new();
    for (file, changed) in changes.iter().enumerate() {
        let Some(new) = &changed.new else { continue };
        let Some(outline) = &new.outline else { continue };
        for function in &outline.functions {
            found.entry(function.body.as_str()).or_insert_with(|| (file, function.name.clone(), function.line));
        }
        if !new.is_collected() {
            for test in &outline.tests {
                found.entry(test.body.as_str()).or_insert_with(|| (file, test.name.clone(), test.lines.start));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::has_grown;

    #[test]
    fn parameters_have_grown_if_none_of_them_is_gone_or_moved() {
        for (old, new, wanted) in [
            ("( \"a\" , [ ( 1 , 2 ) ] )", "( \"a\" , [ ( 0 , 1 ) , ( 1 , 2 ) ] )", true),
            ("[ ( 1 , 2 ) , ( 3 , 4 ) ]", "[ ( 1 , 2 ) , ( 5 , 6 ) ]", false),
            ("[ 1 , 2 ]", "[ 2 , 1 ]", false),
            ("CASES", "CASES", false),
        ] {
            assert_eq!(has_grown(old, new), wanted, "{old} / {new}");
        }
    }
}
