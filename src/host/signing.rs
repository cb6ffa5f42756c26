//! Signing with the user's own key: `ssh-keygen -Y sign` for the keys git signs with, Ed25519 in this process for a key in
//! PEM. The key is read here and by that program alone; no child of a judgement can reach it.

use super::Host;
use super::git::{GitError, Repo};
use super::path::escape;
use super::process::{Launch, Limits, run_to_end};
use super::sandbox::Profile;
use ed25519_dalek::pkcs8::DecodePrivateKey;
use ed25519_dalek::{Signer, SigningKey as Ed25519Key};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The namespace of our signatures: one made for commits or files is none.
pub const NAMESPACE: &str = "countersign";

/// Names the file of the key, in place of git's `user.signingKey`.
pub const KEY_VARIABLE: &str = "COUNTERSIGN_SIGNING_KEY";

/// How long a signing program may take: it may ask for a touch, and nobody may be there.
const LIMIT: Duration = Duration::from_secs(120);

/// A longer file is no key.
const LARGEST_KEY: u64 = 64 << 10;

/// Why nothing was signed, or a signature not looked at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SigningError {
    /// The key's file.
    #[error("cannot read the signing key {}: {why}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// No program for it.
    #[error("ssh-keygen is not on the PATH, and an ssh key needs it; install OpenSSH, or give an Ed25519 key in PEM")]
    NoProgram,
    /// The program failed.
    #[error("ssh-keygen -Y {doing} {ending}: {said}")]
    Program {
        /// `sign` or `verify`.
        doing: &'static str,
        /// How it ended.
        ending: String,
        /// The end of what it said.
        said: String,
    },
    /// A file of ours.
    #[error("cannot write in {}: {why}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// The system's words.
        why: std::io::Error,
    },
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// A key to sign with.
#[derive(Debug)]
pub enum SigningKey {
    /// One that `ssh-keygen` knows: a file, or a public key whose other half an agent holds.
    Ssh(String),
    /// One in a PEM file.
    Ed25519(Box<Ed25519Key>),
}

/// A signature, and the public key it belongs to if this process knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeSignature {
    /// An armoured SSH signature, or 64 bytes of Ed25519.
    pub bytes: Vec<u8>,
    /// The Ed25519 public key, for a key in PEM.
    pub public: Option<[u8; 32]>,
}

/// The key to sign with: the file that was named, else that of [`KEY_VARIABLE`], else `user.signingKey` where git signs with
/// ssh keys (`gpg.format = ssh`). None if nothing of that is said.
///
/// # Errors
/// A file that was named cannot be read, or git fails.
pub fn find_key(repo: &Repo, named: Option<&Path>) -> Result<Option<SigningKey>, SigningError> {
    let named = named.map(Path::to_owned).or_else(|| repo.host().env.text(KEY_VARIABLE).map(PathBuf::from));
    if let Some(file) = named {
        return key_in(&file).map(Some);
    }
    let output = repo.git().run_unchecked(["config", "-z", "--get-regexp", r"^(gpg\.format|user\.signingkey)$"])?;
    let (mut ssh, mut key) = (false, None);
    for entry in output.stdout.split(|byte| *byte == 0) {
        let text = String::from_utf8_lossy(entry);
        match text.split_once('\n') {
            Some(("gpg.format", format)) => ssh = format == "ssh",
            Some(("user.signingkey", value)) => key = Some(value.to_owned()),
            _ => {}
        }
    }
    let home = repo.host().env.text("HOME").map(str::to_owned);
    Ok(key.filter(|key| ssh && !key.is_empty()).map(|key| match (key.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => SigningKey::Ssh(format!("{home}/{rest}")),
        _ => SigningKey::Ssh(key),
    }))
}

/// The key in a file: PEM of PKCS#8 is Ed25519, anything else is `ssh-keygen`'s.
fn key_in(file: &Path) -> Result<SigningKey, SigningError> {
    let fail = |why: String| SigningError::Key { path: file.to_owned(), why };
    let mut text = String::new();
    std::fs::File::open(file)
        .and_then(|open| open.take(LARGEST_KEY).read_to_string(&mut text))
        .map_err(|why| fail(why.to_string()))?;
    if !text.starts_with("-----BEGIN PRIVATE KEY-----") {
        return Ok(SigningKey::Ssh(file.display().to_string()));
    }
    let key = Ed25519Key::from_pkcs8_pem(text.trim_end()).map_err(|_| fail("it is not an Ed25519 key".to_owned()))?;
    Ok(SigningKey::Ed25519(Box::new(key)))
}

/// Signs bytes.
///
/// # Errors
/// The program is missing, fails, or waits for somebody who is not there.
pub fn sign(repo: &Repo, key: &SigningKey, message: &[u8]) -> Result<MadeSignature, SigningError> {
    let named = match key {
        SigningKey::Ed25519(key) => {
            let public = Some(key.verifying_key().to_bytes());
            return Ok(MadeSignature { bytes: key.sign(message).to_bytes().to_vec(), public });
        }
        SigningKey::Ssh(named) => named,
    };
    let folder = scratch(repo.host())?;
    // As git has it: a key in words is one that an agent holds.
    let words = named.strip_prefix("key::").or_else(|| named.starts_with("ssh-").then_some(named.as_str()));
    let mut args: Vec<OsString> = ["-Y", "sign", "-n", NAMESPACE].map(OsString::from).into();
    match words {
        Some(words) => {
            let file = folder.path().join("key.pub");
            std::fs::write(&file, words).map_err(|why| SigningError::Io { path: file.clone(), why })?;
            args.extend(["-U".into(), "-f".into(), file.into_os_string()]);
        }
        None => args.extend(["-f".into(), named.into()]),
    }
    let bytes = run(repo.host(), "sign", args, message, folder.path())?;
    Ok(MadeSignature { bytes, public: None })
}

/// Whether `ssh-keygen` takes the signature for one of this principal's, by these allowed signers. For keys of other kinds
/// than Ed25519.
///
/// # Errors
/// The program is missing or a file cannot be written. A signature that it refuses is no error.
pub fn verify_by_program(
    host: &Host,
    signers: &str,
    principal: &str,
    signature: &[u8],
    message: &[u8],
) -> Result<bool, SigningError> {
    let folder = scratch(host)?;
    let [allowed, given] = ["signers", "signature"].map(|name| folder.path().join(name));
    std::fs::write(&allowed, signers)
        .and_then(|()| std::fs::write(&given, signature))
        .map_err(|why| SigningError::Io { path: folder.path().to_owned(), why })?;
    let mut args: Vec<OsString> = ["-Y", "verify", "-n", NAMESPACE, "-I", principal, "-f"].map(OsString::from).into();
    args.extend([allowed.into_os_string(), "-s".into(), given.into_os_string()]);
    match run(host, "verify", args, message, folder.path()) {
        Ok(_) => Ok(true),
        Err(SigningError::Program { .. }) => Ok(false),
        Err(why) => Err(why),
    }
}

fn scratch(host: &Host) -> Result<tempfile::TempDir, SigningError> {
    tempfile::Builder::new()
        .prefix("countersign-sign-")
        .tempdir_in(&host.scratch)
        .map_err(|why| SigningError::Io { path: host.scratch.clone(), why })
}

fn run(
    host: &Host,
    doing: &'static str,
    args: Vec<OsString>,
    message: &[u8],
    folder: &Path,
) -> Result<Vec<u8>, SigningError> {
    let program = host.env.program("ssh-keygen").ok_or(SigningError::NoProgram)?;
    let launch = Launch {
        argv: std::iter::once(program.into_os_string()).chain(args).collect(),
        cwd: folder.to_owned(),
        env: host.env.for_git(),
        stdin: message.to_vec(),
        log: folder.join("log"),
        capture: 64 << 10,
        limits: Limits { log_bytes: 64 << 10, ..Limits::within(LIMIT) },
        profile: Profile::snapshot(Vec::new()).unconfined(),
    };
    let ended = run_to_end(host, &launch);
    if ended.ending.is_success() {
        return Ok(ended.stdout);
    }
    let said = std::fs::read(&ended.log.path).unwrap_or_default();
    let said = escape(said.get(said.len().saturating_sub(300)..).unwrap_or(&said)).replace("\\x0a", " ");
    Err(SigningError::Program { doing, ending: ended.ending.sentence(), said: said.trim().to_owned() })
}
