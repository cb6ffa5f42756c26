//! What no child may read or reach, whatever its profile: the user's keys, log-ins, and the sockets of programs that use
//! them on the user's behalf (RULINGS 35).

use super::wire::Bytes;
use crate::host::env::Env;
use crate::host::git::signing_key;
use serde::{Deserialize, Serialize};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Keys and log-ins, below the home folder. A program's own log-in is lent to it as a copy in its private home.
const IN_HOME: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/doctl",
    ".config/rclone",
    ".config/sops",
    ".config/op",
    ".config/github-copilot",
    ".kube",
    ".docker/config.json",
    ".config/containers/auth.json",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".pgpass",
    ".my.cnf",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".1password",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".claude/.credentials.json",
    ".claude.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".qwen/oauth_creds.json",
    ".copilot",
    ".local/share/opencode/auth.json",
    ".pi/agent/auth.json",
    "Library/Keychains",
    // By it we know again what we stored.
    ".cache/countersign/key",
];

/// Variables that name a file or folder with keys.
const NAMED: &[&str] = &[
    "GNUPGHOME",
    "AWS_SHARED_CREDENTIALS_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "KUBECONFIG",
    "DOCKER_CONFIG",
    "NPM_CONFIG_USERCONFIG",
    "NETRC",
    "SOPS_AGE_KEY_FILE",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "COUNTERSIGN_SIGNING_KEY",
];

/// Sockets that need not be listed by the kernel under the name that they are known by.
const SOCKETS: &[&str] = &["/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock"];

/// What is hidden from one child.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::host) struct Hidden {
    /// False: the home folder is not known, and so not what lies in it.
    complete: bool,
    /// Files and folders that cannot be read; real paths.
    keys: Vec<Bytes>,
    /// Sockets, and folders of sockets, that cannot be reached; real paths.
    sockets: Vec<Bytes>,
}

impl Hidden {
    /// What this environment and the git configuration around `cwd` say about the user's keys.
    pub(in crate::host) fn of(env: &Env, cwd: &Path) -> Self {
        let home = env.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let in_home = |place: &&str| home.as_ref().map(|home| home.join(place));
        let named = |name: &&str| env.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let mut keys: Vec<PathBuf> = IN_HOME.iter().filter_map(in_home).chain(NAMED.iter().filter_map(named)).collect();
        for key in signing_key(env, cwd) {
            // The configuration may be anybody's; it names a file, or nothing.
            keys.extend(Some(key.with_extension("")).filter(|_| key.extension().is_some_and(|end| end == "pub")));
            keys.push(key);
        }
        let mut sockets: Vec<PathBuf> = SOCKETS.iter().map(PathBuf::from).collect();
        sockets.extend(["SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"].iter().filter_map(named));
        let docker = env.text("DOCKER_HOST").and_then(|place| place.strip_prefix("unix://"));
        sockets.extend(docker.map(PathBuf::from));
        Self {
            complete: home.is_some(),
            keys: real(&keys, |path| path.is_dir() || path.is_file()),
            sockets: real(&sockets, |path| path.is_dir() || is_socket(path)),
        }
    }

    /// True if the user's home folder is known.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// What cannot be read.
    pub(super) fn keys(&self) -> Vec<PathBuf> {
        paths(&self.keys)
    }

    /// What cannot be reached.
    pub(super) fn sockets(&self) -> Vec<PathBuf> {
        paths(&self.sockets)
    }
}

/// True for the file of a socket, followed if it is a link.
pub(super) fn is_socket(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.file_type().is_socket())
}

/// The places that exist, without links, each once; those inside another one are hidden with it.
fn real(places: &[PathBuf], counts: fn(&Path) -> bool) -> Vec<Bytes> {
    let mut real: Vec<PathBuf> =
        places.iter().filter(|path| counts(path)).filter_map(|path| path.canonicalize().ok()).collect();
    real.sort();
    real.dedup();
    // Hiding the whole disk would hide the work.
    real.retain(|path| path.parent().is_some());
    let outer = real.clone();
    real.retain(|path| !outer.iter().any(|other| path != other && path.starts_with(other)));
    real.iter().map(|path| Bytes::from(path.as_os_str())).collect()
}

fn paths(bytes: &[Bytes]) -> Vec<PathBuf> {
    bytes.iter().map(|path| PathBuf::from(path.clone().into_os())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exists_is_hidden_once_by_its_real_place() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let home = root.join("home");
        std::fs::create_dir_all(home.join(".gnupg/private")).unwrap();
        std::fs::create_dir_all(root.join("disk/ssh")).unwrap();
        std::fs::create_dir_all(root.join("run")).unwrap();
        std::fs::write(home.join(".netrc"), "").unwrap();
        std::os::unix::fs::symlink(root.join("disk/ssh"), home.join(".ssh")).unwrap();
        let _agent = std::os::unix::net::UnixListener::bind(root.join("run/agent")).unwrap();
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        let env = Env::of([
            ("HOME", text(home.clone())),
            ("GNUPGHOME", text(home.join(".gnupg/private"))),
            ("SSH_AUTH_SOCK", text(root.join("run/agent"))),
            ("DOCKER_CONFIG", "/".to_owned()),
            ("KUBECONFIG", "relative".to_owned()),
        ]);
        let hidden = Hidden::of(&env, &root);
        assert_eq!(hidden.keys(), [root.join("disk/ssh"), home.join(".gnupg"), home.join(".netrc")]);
        assert!(hidden.sockets().contains(&root.join("run/agent")));
    }

    #[test]
    fn the_signing_key_of_the_user_and_of_the_repository_are_hidden() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (home, repo, tree) = (root.join("home"), root.join("repo"), root.join("tree"));
        for made in [&home, &repo.join(".git/worktrees/tree"), &tree] {
            std::fs::create_dir_all(made).unwrap();
        }
        for name in ["mine", "mine.pub", "ours"] {
            std::fs::write(root.join(name), "").unwrap();
        }
        std::fs::write(home.join(".gitconfig"), format!("[user]\n\tsigningkey = {}/mine.pub\n", root.display()))
            .unwrap();
        std::fs::write(repo.join(".git/config"), format!("[user]\n\tsigningKey = {}/ours\n", root.display())).unwrap();
        std::fs::write(tree.join(".git"), "gitdir: ../repo/.git/worktrees/tree\n").unwrap();
        std::fs::write(repo.join(".git/worktrees/tree/commondir"), "../..\n").unwrap();
        let env = Env::of([("HOME", home.to_str().unwrap())]);
        let user = [root.join("mine"), root.join("mine.pub")];
        let both = [root.join("mine"), root.join("mine.pub"), root.join("ours")];
        assert_eq!(Hidden::of(&env, &root).keys(), user);
        assert_eq!(Hidden::of(&env, &repo).keys(), both);
        assert_eq!(Hidden::of(&env, &tree).keys(), both, "a linked worktree has its repository's configuration");
        for no_file in ["0xABCD", "key::ssh-ed25519 AAAA", "ssh-ed25519 AAAA", "/", "~/missing"] {
            std::fs::write(home.join(".gitconfig"), format!("[user]\n\tsigningkey = \"{no_file}\"\n")).unwrap();
            assert_eq!(Hidden::of(&env, &root).keys(), [] as [PathBuf; 0], "{no_file}");
        }
    }
}
