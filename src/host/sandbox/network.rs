//! A network of its own for a child: nothing but the loopback interface.

use nix::sched::{CloneFlags, unshare};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};
use rustix::process::{getegid, geteuid};
use std::fs;

/// Moves this process into a fresh network namespace and brings its loopback interface up.
///
/// The process must have one thread only. After an error it is unfit to start a child: it may already sit in a
/// namespace without a loopback or without its user.
///
/// # Errors
/// What the system refused, as a sentence.
pub(super) fn enter() -> Result<(), String> {
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        enter_as_user()?;
    }
    raise_loopback()
}

/// Without the right to make a network namespace, one can be made inside a user namespace that maps only ourselves.
fn enter_as_user() -> Result<(), String> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)
        .map_err(|error| format!("failed to make a user and network namespace: {error}"))?;
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
