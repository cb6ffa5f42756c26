//! Landlock: which files a thread and its children may change.

use super::{Level, Network, Profile};
use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, PathBeneath, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use std::os::fd::OwnedFd;
use std::path::Path;

/// The version this build was tested with. Below it the kernel enforces what it knows.
const ASKED: ABI = ABI::V7;

/// Device files every program expects to be able to write.
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/ptmx", "/dev/pts"];

/// Restricts the calling thread to the profile and notes in `level` what the kernel made of it.
///
/// # Errors
/// A writable place that cannot be opened or is a symbolic link.
pub(super) fn restrict(profile: &Profile, level: &mut Level) -> Result<(), String> {
    let mut places = Vec::new();
    for path in &profile.write {
        places.push(writable(path)?);
    }
    if profile.shared_memory {
        places.push(writable(Path::new("/dev/shm"))?);
    }
    match enforce(&places, profile.network) {
        Ok(status) => describe(&status, level),
        Err(error) => level.why.push(format!("Landlock refused the rules: {error}")),
    }
    Ok(())
}

fn enforce(places: &[(OwnedFd, bool)], network: Network) -> Result<landlock::RestrictionStatus, RulesetError> {
    let all = AccessFs::from_all(ASKED);
    let mut rules = Ruleset::default().handle_access(all)?.scope(Scope::AbstractUnixSocket | Scope::Signal)?;
    if network == Network::Off {
        rules = rules.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?;
    }
    let mut rules = rules.create()?;
    if let Ok(root) = open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        rules = rules.add_rule(PathBeneath::new(root, AccessFs::from_read(ASKED)))?;
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
    let place = open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| format!("failed to open {} to make it writable: {error}", path.display()))?;
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
