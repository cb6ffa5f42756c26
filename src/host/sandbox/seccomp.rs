//! The system call filter: what Landlock does not cover.

use super::{Level, Network, Profile, Role};
use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refused to every child: ways round Landlock and the network rules, and calls that change the whole machine (we may
/// run as root).
const ALWAYS: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_bpf,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_acct,
    libc::SYS_quotactl,
];

/// Looking into other processes. Landlock already limits this to the box's own, where sanitizers and debuggers need
/// it; so it is refused only where nobody needs it or Landlock is missing.
const PEEK: &[i64] =
    &[libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_pidfd_getfd];

/// Changes of a file's times. To a verifier they are answered with success and not made: agents stamp their own lock
/// files and whatever they unpack, and do not start where that fails. No content depends on it. The snapshot's git is
/// told the truth, since it freshens an object instead of storing it again.
const TIMES: &[i64] = &[libc::SYS_utimensat];

/// The same, by the calls only old architectures have.
#[cfg(target_arch = "x86_64")]
const OLD_TIMES: &[i64] = &[libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat];
#[cfg(not(target_arch = "x86_64"))]
const OLD_TIMES: &[i64] = &[];

/// Changes of mode, owner and extended attributes.
const METADATA: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    452, // fchmodat2
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    463, // setxattrat
    466, // removexattrat
    469, // file_setattr
];

/// The same, by the calls only old architectures have.
#[cfg(target_arch = "x86_64")]
const OLD_METADATA: &[i64] = &[libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown];
#[cfg(not(target_arch = "x86_64"))]
const OLD_METADATA: &[i64] = &[];

/// `ioctl` requests that change a file's flags (immutable, append-only) through a descriptor opened for reading:
/// `FS_IOC_SETFLAGS` in both widths, `FS_IOC_FSSETXATTR`.
const FLAG_REQUESTS: &[u64] = &[0x4008_6602, 0x4004_6602, 0x401c_5820];

/// Queues, semaphores and shared memory that outlive their process, System V's and POSIX's. Refused where they would be
/// those of the machine: a child could leave them behind, or open those of the user's other programs.
const IPC: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// The second number x86-64 kernels may know a call by.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;
/// Calls whose x32 number is not their own plus [`X32`]: ptrace, `process_vm_readv`, `process_vm_writev`.
#[cfg(target_arch = "x86_64")]
const X32_OWN: &[i64] = &[X32 + 521, X32 + 539, X32 + 540];

/// Puts the filter on the calling thread and notes in `level` whether it holds.
pub(super) fn filter(profile: &Profile, own_ipc: bool, level: &mut Level) {
    match set(profile, own_ipc, level.enforced) {
        Ok(()) => {
            level.seccomp = true;
            level.no_new_privs = true;
        }
        Err(why) => level.why.push(format!("the system call filter could not be set: {why}")),
    }
}

fn set(profile: &Profile, own_ipc: bool, landlocked: bool) -> Result<(), String> {
    let mut rules = rules(profile, landlocked).map_err(|error| error.to_string())?;
    if !own_ipc {
        rules.extend(with_twins(IPC.iter().map(|call| (*call, Vec::new())).collect()));
    }
    apply(rules, libc::EPERM)?;
    if profile.read_only_metadata {
        let times = TIMES.iter().chain(OLD_TIMES).map(|call| (*call, Vec::new()));
        apply(with_twins(times.collect()), if profile.role == Role::Verifier { 0 } else { libc::EPERM })?;
    }
    Ok(())
}

/// These calls return this error; 0 means that they return as if they had been made.
fn apply(rules: Rules, error: i32) -> Result<(), String> {
    let arch = std::env::consts::ARCH.try_into().map_err(|error: seccompiler::BackendError| error.to_string())?;
    let action = SeccompAction::Errno(error.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch).map_err(|error| error.to_string())?;
    let program: BpfProgram = filter.try_into().map_err(|error: seccompiler::BackendError| error.to_string())?;
    seccompiler::apply_filter(&program).map_err(|error| error.to_string())
}

fn rules(profile: &Profile, landlocked: bool) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = ALWAYS.iter().map(|call| (*call, Vec::new())).collect();
    let reader = matches!(profile.role, Role::Verifier | Role::Snapshot);
    if reader || !landlocked {
        rules.extend(PEEK.iter().map(|call| (*call, Vec::new())));
    }
    if profile.read_only_metadata {
        rules.extend(METADATA.iter().chain(OLD_METADATA).map(|call| (*call, Vec::new())));
    }
    let mut requests = Vec::new();
    for request in FLAG_REQUESTS {
        requests.push(SeccompRule::new(vec![argument(1, SeccompCmpOp::Eq, *request)?])?);
    }
    rules.insert(libc::SYS_ioctl, requests);
    if let Some(families) = families(profile.network) {
        let mut foreign = Vec::new();
        for family in families {
            foreign.push(argument(0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs()))?);
        }
        let foreign = SeccompRule::new(foreign)?;
        rules.insert(libc::SYS_socket, vec![foreign.clone()]);
        rules.insert(libc::SYS_socketpair, vec![foreign]);
    }
    if !profile.unix_sockets {
        refuse_unix_sockets(&mut rules)?;
    }
    #[cfg(target_arch = "x86_64")]
    if rules.contains_key(&libc::SYS_ptrace) {
        rules.extend(X32_OWN.iter().map(|call| (*call, Vec::new())));
    }
    Ok(with_twins(rules))
}

/// With the second number of each call, where there is one.
#[cfg(target_arch = "x86_64")]
fn with_twins(mut rules: Rules) -> Rules {
    let twins: Vec<_> =
        rules.iter().filter(|(call, _)| **call < X32).map(|(c, when)| (X32 + c, when.clone())).collect();
    rules.extend(twins);
    rules
}

/// Other architectures know each call by one number.
#[cfg(not(target_arch = "x86_64"))]
fn with_twins(rules: Rules) -> Rules {
    rules
}

/// No socket that could be connected to a path. Pairs are connected from birth, unless they are of a kind that sends to
/// any address.
fn refuse_unix_sockets(rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
    let unix = || argument(0, SeccompCmpOp::Eq, u64::from(libc::AF_UNIX.unsigned_abs()));
    rules.entry(libc::SYS_socket).or_default().push(SeccompRule::new(vec![unix()?])?);
    for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
        let of_kind = argument(1, SeccompCmpOp::MaskedEq(0xf), u64::from(kind.unsigned_abs()))?;
        rules.entry(libc::SYS_socketpair).or_default().push(SeccompRule::new(vec![unix()?, of_kind])?);
    }
    Ok(())
}

/// The socket families a child may use; `None`: all.
fn families(network: Network) -> Option<&'static [i32]> {
    match network {
        Network::Off => Some(&[libc::AF_UNIX]),
        Network::Loopback | Network::Listed => Some(&[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]),
        Network::Open => None,
    }
}

fn argument(index: u8, is: SeccompCmpOp, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, is, value)
}
