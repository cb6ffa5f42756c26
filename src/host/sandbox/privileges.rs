//! What root inside the box cannot do.

use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

/// Rights over other processes and the machine. With them, Landlock lets root read the memory of processes outside, and
/// open files by number. What tests run as root need (owners, modes, low ports) stays.
const DROPPED: &[CapabilitySet] = &[
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::PERFMON,
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::BPF,
    CapabilitySet::CHECKPOINT_RESTORE,
    CapabilitySet::DAC_READ_SEARCH,
    CapabilitySet::LINUX_IMMUTABLE,
    CapabilitySet::MKNOD,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::SYS_BOOT,
    CapabilitySet::SYS_TIME,
    CapabilitySet::SYS_PACCT,
    CapabilitySet::SYSLOG,
    CapabilitySet::MAC_ADMIN,
    CapabilitySet::MAC_OVERRIDE,
    CapabilitySet::AUDIT_CONTROL,
    CapabilitySet::NET_ADMIN,
];

/// Takes these rights from whatever this thread starts.
pub(super) fn drop_rights() -> Result<(), String> {
    if !geteuid().is_root() {
        return Ok(());
    }
    for right in DROPPED {
        match remove_capability_from_bounding_set(*right) {
            // An older kernel does not know the newer ones.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(format!("rights of root could not be taken away: {error}")),
        }
    }
    Ok(())
}
