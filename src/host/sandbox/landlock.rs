//! Landlock: which files a thread and its children may change.

use super::hidden::Hidden;
use super::{Level, Network, Profile};
use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, PathBeneath, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The version this build was tested with. Below it the kernel enforces what it knows.
const ASKED: ABI = ABI::V7;

/// More entries beside hidden places than this would make the start of a child slow.
const MOST_ENTRIES: usize = 16_384;

/// Device files every program expects to be able to write.
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/ptmx", "/dev/pts"];

/// Restricts the calling thread to the profile and notes in `level` what the kernel made of it.
///
/// # Errors
/// A writable place that cannot be opened or is a symbolic link.
pub(super) fn restrict(profile: &Profile, hidden: &Hidden, level: &mut Level) -> Result<(), String> {
    let mut places = Vec::new();
    for path in &profile.write {
        places.push(writable(path)?);
    }
    if profile.shared_memory {
        places.push(writable(Path::new("/dev/shm"))?);
    }
    let reading = Reading::around(&hidden.keys());
    match enforce(&places, profile.network, &reading) {
        Ok(status) => {
            describe(&status, level);
            let seen = hidden.keys().into_iter().find(|key| profile.write.iter().any(|place| key.starts_with(place)));
            level.keys_hidden = level.enforced && hidden.is_complete() && reading.whole.is_none() && seen.is_none();
            level.why.extend(reading.whole.filter(|_| level.enforced));
            if !hidden.is_complete() {
                level
                    .why
                    .push("keys and log-ins can be read: HOME is not set, so nobody knows where they lie".to_owned());
            }
            level
                .why
                .extend(seen.map(|key| format!("{} lies where the child may write, and can be read", key.display())));
        }
        Err(error) => level.why.push(format!("Landlock refused the rules: {error}")),
    }
    Ok(())
}

/// What may be read.
struct Reading {
    /// Folders of which only the list of names may be read.
    named: Vec<OwnedFd>,
    /// What may be read with everything in it; true for folders.
    open: Vec<(OwnedFd, bool)>,
    /// Why everything may be read although something was to be hidden.
    whole: Option<String>,
}

impl Reading {
    /// Everything but these places. There is no rule that forbids, so each folder above one of them is opened entry by
    /// entry. A name beside a hidden place that is made later cannot be read.
    fn around(hidden: &[PathBuf]) -> Self {
        let above: BTreeSet<&Path> = hidden.iter().flat_map(|place| place.ancestors().skip(1)).collect();
        let mut reading = Self { named: Vec::new(), open: Vec::new(), whole: None };
        for folder in &above {
            let Ok(entries) = std::fs::read_dir(folder) else { continue };
            for path in entries.flatten().map(|entry| entry.path()) {
                if above.contains(&*path) || hidden.contains(&path) {
                    continue;
                }
                if reading.open.len() >= MOST_ENTRIES {
                    return Self::whole(Some(format!(
                        "keys and log-ins can be read: {} and the folders above hold too many entries",
                        folder.display()
                    )));
                }
                // A link is followed to a place with a rule of its own, or without one.
                reading.open.extend(writable(&path).ok());
            }
        }
        reading.named.extend(above.iter().filter_map(|folder| place(folder).ok()));
        if above.is_empty() { Self::whole(None) } else { reading }
    }

    fn whole(why: Option<String>) -> Self {
        let root = place(Path::new("/")).ok().map(|root| (root, true));
        Self { named: Vec::new(), open: root.into_iter().collect(), whole: why }
    }
}

fn place(path: &Path) -> rustix::io::Result<OwnedFd> {
    open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

fn enforce(
    places: &[(OwnedFd, bool)],
    network: Network,
    reading: &Reading,
) -> Result<landlock::RestrictionStatus, RulesetError> {
    let all = AccessFs::from_all(ASKED);
    let mut rules = Ruleset::default().handle_access(all)?.scope(Scope::AbstractUnixSocket | Scope::Signal)?;
    if network == Network::Off {
        rules = rules.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?;
    }
    let mut rules = rules.create()?;
    for folder in &reading.named {
        rules = rules.add_rule(PathBeneath::new(folder, AccessFs::ReadDir))?;
    }
    let read = AccessFs::from_read(ASKED);
    for (place, is_folder) in &reading.open {
        let access = if *is_folder { read } else { read & AccessFs::from_file(ASKED) };
        rules = rules.add_rule(PathBeneath::new(place, access))?;
    }
    rules = devices(rules)?;
    // A child that can make device nodes could write to the disk under every rule.
    let folder = all & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    for (place, is_folder) in places {
        let access = if *is_folder { folder } else { folder & AccessFs::from_file(ASKED) };
        rules = rules.add_rule(PathBeneath::new(place, access))?;
    }
    rules.restrict_self()
}

fn devices(mut rules: RulesetCreated) -> Result<RulesetCreated, RulesetError> {
    let access = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    for device in DEVICES {
        if let Ok(node) = open(*device, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            rules = rules.add_rule(PathBeneath::new(node, access))?;
        }
    }
    Ok(rules)
}

/// Opens a place to be made writable; true if it is a folder. The last part is never followed: a link planted there
/// would open the box to wherever it points.
fn writable(path: &Path) -> Result<(OwnedFd, bool), String> {
    let place =
        place(path).map_err(|error| format!("failed to open {} to make it writable: {error}", path.display()))?;
    let stat = fstat(&place).map_err(|error| format!("failed to read what {} is: {error}", path.display()))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Ok((place, true)),
        FileType::Symlink => Err(format!("{} is a symbolic link and was to be writable", path.display())),
        _ => Ok((place, false)),
    }
}

fn describe(status: &landlock::RestrictionStatus, level: &mut Level) {
    level.no_new_privs = status.no_new_privs;
    let abi = match status.landlock {
        LandlockStatus::NotImplemented => {
            level.why.push("this kernel has no Landlock".to_owned());
            return;
        }
        LandlockStatus::NotEnabled => {
            level.why.push("Landlock was not enabled when this kernel started".to_owned());
            return;
        }
        LandlockStatus::Available { effective_abi, .. } => (effective_abi as i32).min(ASKED as i32),
    };
    if status.ruleset == RulesetStatus::NotEnforced {
        level.why.push("Landlock enforces nothing of what was asked".to_owned());
        return;
    }
    level.landlock_abi = Some(abi);
    level.enforced = true;
    for (since, gap) in [
        (3, "truncating files by path is not refused"),
        (5, "device controls are not refused"),
        (6, "signals and abstract sockets to processes outside are not refused"),
    ] {
        if abi < since {
            level.why.push(format!("Landlock {abi} is older than {since}: {gap}"));
        }
    }
}
