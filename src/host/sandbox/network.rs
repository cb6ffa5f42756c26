//! Namespaces for a child: a network that holds nothing but the loopback interface, mounts of its own, and queues and
//! memory (System V and POSIX) that go with it.

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};
use rustix::process::{getegid, geteuid};
use std::fs;

/// Moves this process into namespaces of its own.
///
/// The process must have one thread only. After an error about the network it is unfit to start a child: it may already
/// sit in a namespace without a loopback or without its user.
///
/// # Errors
/// What the system refused, as a sentence: of the network outside, of the mounts inside.
pub(super) fn enter(network: bool, mounts: bool) -> Result<Result<(), String>, String> {
    let flag = |wanted: bool, flag| if wanted { flag } else { CloneFlags::empty() };
    let own_network = flag(network, CloneFlags::CLONE_NEWNET);
    let own_mounts = flag(mounts, CloneFlags::CLONE_NEWNS);
    let mut mounted = Ok(());
    if let Err(why) = separate(own_network | own_mounts) {
        if !network {
            return Ok(Err(why));
        }
        if mounts {
            separate(own_network)?;
            mounted = Err(why);
        } else {
            return Err(why);
        }
    }
    if network {
        raise_loopback()?;
    }
    Ok(mounted)
}

/// Gives this process queues, semaphores and shared memory of its own; the kernel ends them with the last of its children.
///
/// True if it did. Inside a user namespace of ours it always may; else it takes the right to make namespaces.
pub(super) fn enter_own_ipc() -> bool {
    unshare(CloneFlags::CLONE_NEWIPC).is_ok()
}

fn separate(wanted: CloneFlags) -> Result<(), String> {
    if wanted.is_empty() || unshare(wanted).is_ok() {
        return Ok(());
    }
    // Without the right to make a namespace, one can be made inside a user namespace that maps only ourselves.
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let refused = |error: Errno| {
        let what = if wanted.contains(CloneFlags::CLONE_NEWNET) { "user and network" } else { "user and mount" };
        format!("failed to make a {what} namespace: {error}")
    };
    unshare(CloneFlags::CLONE_NEWUSER | wanted).map_err(refused)?;
    for (file, text) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{user} {user} 1")),
        ("/proc/self/gid_map", format!("{group} {group} 1")),
    ] {
        fs::write(file, text).map_err(|error| format!("failed to write {file}: {error}"))?;
    }
    Ok(())
}

/// `ip link set lo up`, as the one netlink message it is.
fn raise_loopback() -> Result<(), String> {
    let failed = |error: rustix::io::Errno| format!("failed to bring the loopback interface up: {error}");
    // No protocol is protocol 0, `NETLINK_ROUTE`.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None).map_err(failed)?;
    send(&socket, &loopback_up(), SendFlags::empty()).map_err(failed)?;
    let mut reply = [0_u8; 256];
    let (length, _) = recv(&socket, &mut reply[..], RecvFlags::empty()).map_err(failed)?;
    match acknowledgement(&reply[..length]) {
        Some(0) => Ok(()),
        Some(code) => Err(failed(rustix::io::Errno::from_raw_os_error(code.saturating_neg()))),
        None => Err("failed to bring the loopback interface up: the kernel's answer is not an acknowledgement".into()),
    }
}

/// An `RTM_NEWLINK` request with acknowledgement: header (length, type, flags, sequence, port), then the interface
/// (family, type, index, flags, mask of the flags to change). The loopback of a fresh namespace has index 1.
fn loopback_up() -> [u8; 32] {
    const RTM_NEWLINK: u16 = 16;
    const REQUEST_AND_ACK: u16 = 1 | 4;
    const LOOPBACK: i32 = 1;
    const UP: u32 = 1;
    let mut message = [0_u8; 32];
    message[0..4].copy_from_slice(&32_u32.to_ne_bytes());
    message[4..6].copy_from_slice(&RTM_NEWLINK.to_ne_bytes());
    message[6..8].copy_from_slice(&REQUEST_AND_ACK.to_ne_bytes());
    message[8..12].copy_from_slice(&1_u32.to_ne_bytes());
    message[20..24].copy_from_slice(&LOOPBACK.to_ne_bytes());
    message[24..28].copy_from_slice(&UP.to_ne_bytes());
    message[28..32].copy_from_slice(&UP.to_ne_bytes());
    message
}

/// The error number (0 or negative) of an `NLMSG_ERROR` reply.
fn acknowledgement(reply: &[u8]) -> Option<i32> {
    const NLMSG_ERROR: u16 = 2;
    let kind = u16::from_ne_bytes(reply.get(4..6)?.try_into().ok()?);
    let code = i32::from_ne_bytes(reply.get(16..20)?.try_into().ok()?);
    (kind == NLMSG_ERROR).then_some(code)
}
