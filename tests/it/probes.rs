//! 46 attacks on a box, and a few more on keys and agents: what each profile lets through, as root and as nobody.

use crate::stand::Stand;
use countersign::host::env::Env;
use countersign::host::process::Ended;
use countersign::host::sandbox::{Network, Profile};
use std::collections::BTreeMap;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A number for `setpriv`; nobody on every system.
const NOBODY: &str = "65534";

/// What a probe must give.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Must {
    /// The work needs it.
    Pass,
    /// It must be refused.
    Fail,
    /// Landlock does not cover it and the profile needs it elsewhere: the comparison afterwards finds it.
    Compared,
}
use Must::{Compared, Fail, Pass};

/// Name, what is tried (for `sh -c`, in the writable folder; success is access), and what verifier, checks and worker
/// must get.
type Probe = (&'static str, &'static str, [Must; 3]);

const ALL: [Must; 3] = [Pass; 3];
const NONE: [Must; 3] = [Fail; 3];
/// The verifier changes no metadata anywhere; tests and workers do, in their own files.
const METADATA: [Must; 3] = [Fail, Compared, Compared];
/// Checks and workers have a network of their own.
const OWN_NETWORK: [Must; 3] = [Fail, Pass, Pass];

const PROBES: &[Probe] = &[
    ("write in rw", "echo a > f1", ALL),
    ("rename inside rw", "mv f1 f2", ALL),
    ("mkdir, symlink, hardlink in rw", "mkdir -p d && ln -sf x l && ln -f f2 h", ALL),
    ("truncate in rw", ": > f2", ALL),
    ("chmod in rw", "chmod 755 f2", [Fail, Pass, Pass]),
    ("write /dev/null", "echo a > /dev/null", ALL),
    ("read a file in ro", "cat $RO/keep", ALL),
    ("read /proc/self/status", "cat /proc/self/status", ALL),
    ("git status in ro, optional locks off", "GIT_OPTIONAL_LOCKS=0 git -C $RO status --porcelain", ALL),
    ("git status in ro, optional locks on", "git -C $RO status --porcelain", ALL),
    ("git log -p in ro", "git -C $RO log -p -1", ALL),
    ("git commit in ro", "git -C $RO commit --allow-empty -m x", NONE),
    ("git update-ref in ro", "git -C $RO update-ref refs/heads/evil HEAD", NONE),
    ("git config in ro", "git -C $RO config core.fsmonitor /bin/true", NONE),
    ("write a new file in ro", "echo a > $RO/new", NONE),
    ("append in ro", "echo a >> $RO/keep", NONE),
    ("truncate in ro", ": > $RO/keep2", NONE),
    ("unlink in ro", "rm -f $RO/keep3 && test ! -e $RO/keep3", NONE),
    ("rename ro -> rw", "mv $RO/keep4 stolen", NONE),
    ("rename rw -> ro", "mv h $RO/planted", NONE),
    ("hardlink from ro, then write", "ln $RO/keep5 hl && echo evil >> hl", NONE),
    ("symlink to ro, write through", "ln -sf $RO/keep sl && echo evil >> sl", NONE),
    ("chmod in ro", "chmod 4755 $RO/keep6", METADATA),
    ("chown in ro", "chown $(id -u):$(id -g) $RO/keep7", METADATA),
    ("touch -d in ro", "touch -d 2001-01-01 $RO/keep8 && find $RO/keep8 ! -newermt 2002-01-01 | grep -q .", METADATA),
    ("setxattr in ro", "python3 -c \"import os;os.setxattr('$RO/keep9','user.x',b'1')\"", METADATA),
    ("write /dev/shm", "echo a > /dev/shm/countersign-evil-$$", NONE),
    ("write /tmp", "echo a > /tmp/countersign-evil-$$", NONE),
    ("write $HOME", "echo a > $HOME/evil", NONE),
    ("write /etc", "echo a > /etc/countersign-evil", NONE),
    ("write /proc/sys", "echo 1 > /proc/sys/vm/drop_caches", NONE),
    ("mount tmpfs", "mount -t tmpfs none d", NONE),
    ("unshare, then mount --bind", "unshare -Urm sh -c \"mount --bind . $RO\"", NONE),
    ("mknod a disk in rw", "mknod blk b 254 0", NONE),
    ("signal a process outside", "kill -0 $OUTPID", NONE),
    ("read the environment of a process outside", "tr '\\0' '\\n' < /proc/$OUTPID/environ | grep -q SECRET_OUT", NONE),
    ("read a secret-looking file that is work", "cat $RO/.secret", ALL),
    (
        "tcp to a port that is not listed",
        "python3 -c \"import socket;socket.create_connection(('127.0.0.1',$PORT_NO),2)\"",
        NONE,
    ),
    (
        "tcp to a listed port",
        "python3 -c \"import socket;socket.create_connection(('127.0.0.1',$PORT_OK),2)\"",
        [Fail, Fail, Pass],
    ),
    ("tcp bind port 0", "python3 -c \"import socket;s=socket.socket();s.bind(('127.0.0.1',0))\"", OWN_NETWORK),
    (
        "udp send, which only its own network carries",
        "python3 -c \"import socket;s=socket.socket(2,2);s.sendto(b'x',('127.0.0.1',$PORT_NO))\"",
        OWN_NETWORK,
    ),
    ("a path socket outside", "python3 -c \"import socket;s=socket.socket(1,1);s.connect('$SOCK')\"", NONE),
    ("an abstract socket outside", "python3 -c \"import socket;s=socket.socket(1,1);s.connect('\\0$ABSTRACT')\"", NONE),
    ("gain rights by setuid", "grep -q 'NoNewPrivs:.0' /proc/self/status", NONE),
    (
        "io_uring_setup",
        "python3 -c \"import ctypes,sys;r=ctypes.CDLL(None).syscall(425,4,ctypes.create_string_buffer(256));sys.exit(r<0)\"",
        NONE,
    ),
    (
        "TIOCSTI into the terminal",
        "python3 -c \"import fcntl,termios;fcntl.ioctl(open('/dev/tty'),termios.TIOCSTI,b'x')\"",
        NONE,
    ),
];

/// RULINGS 35: no profile reads a signing key or reaches an agent.
const KEYS: &[Probe] = &[
    ("read an ssh key", "cat $HOME/.ssh/id_ed25519", NONE),
    ("read an ssh key by way of a link", "ln -sf $HOME/.ssh s && cat s/id_ed25519", NONE),
    ("hardlink an ssh key", "ln $HOME/.ssh/id_ed25519 k && cat k", NONE),
    ("read a gpg key", "cat $HOME/.gnupg/private-keys-v1.d/key", NONE),
    ("read the key that git signs with", "cat $HOME/vault/signing", NONE),
    ("read git's stored passwords", "cat $HOME/.git-credentials", NONE),
    ("read cargo's log-in", "cat $HOME/.cargo/credentials.toml", NONE),
    ("read beside them", "cat $HOME/.cargo/config.toml && cat $HOME/notes && ls $HOME", ALL),
    ("a socket of ssh-agent", "python3 -c \"import socket;s=socket.socket(1,1);s.connect('$AGENT')\"", NONE),
    (
        "a socket of gpg-agent",
        "python3 -c \"import socket;s=socket.socket(1,1);s.connect('$HOME/.gnupg/S.gpg-agent')\"",
        NONE,
    ),
    (
        "a datagram from a pair to an agent",
        "python3 -c \"import socket;socket.socketpair(1,2)[0].sendto(b'x','$AGENT.dgram')\"",
        NONE,
    ),
    ("a pair of its own", "python3 -c \"import socket;a,b=socket.socketpair();a.send(b'x');b.recv(1)\"", ALL),
    (
        "a socket of its own",
        "python3 -c \"import socket;s=socket.socket(1,1);s.bind('own');s.listen();c=socket.socket(1,1);c.connect('own')\"",
        OWN_NETWORK,
    ),
];

/// What is attacked: a repository, a home with keys, sockets and a process outside.
struct Target {
    stand: Stand,
    vars: BTreeMap<&'static str, String>,
    process: Child,
    listed: TcpListener,
    udp: UdpSocket,
    _open: (TcpListener, Vec<UnixListener>, std::os::unix::net::UnixDatagram),
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn write(path: PathBuf, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

impl Target {
    fn new() -> Self {
        let mut stand = Stand::new();
        let (ro, home) = (stand.outside().join("repo"), stand.outside().join("home"));
        for name in ["keep", "keep2", "keep3", "keep4", "keep5", "keep6", "keep7", "keep8", "keep9", ".secret"] {
            write(ro.join(name), name);
        }
        let git = |args: &[&str]| {
            let vars = [("PATH", search_path()), ("HOME", home.display().to_string())];
            let done = Command::new("git").arg("-C").arg(&ro).args(args).env_clear().envs(vars).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        git(&["init", "-q"]);
        git(&["add", "-A"]);
        git(&["-c", "user.name=a", "-c", "user.email=a@x", "commit", "-qm", "base"]);
        for name in [
            ".ssh/id_ed25519",
            ".gnupg/private-keys-v1.d/key",
            "vault/signing",
            "vault/signing.pub",
            ".git-credentials",
            ".cargo/credentials.toml",
            ".cargo/config.toml",
            "notes",
        ] {
            write(home.join(name), "secret");
        }
        write(home.join(".gitconfig"), "[user]\n\tsigningKey = ~/vault/signing.pub\n");
        let name = format!("countersign-probe-{}-{}", std::process::id(), stand.inside().display());
        let abstract_name = SocketAddr::from_abstract_name(name.as_bytes()).unwrap();
        let (sock, agent) = (stand.outside().join("sock"), stand.outside().join("agent"));
        let sockets = vec![
            UnixListener::bind(&sock).unwrap(),
            UnixListener::bind(&agent).unwrap(),
            UnixListener::bind(home.join(".gnupg/S.gpg-agent")).unwrap(),
            UnixListener::bind_addr(&abstract_name).unwrap(),
        ];
        let datagrams = std::os::unix::net::UnixDatagram::bind(stand.outside().join("agent.dgram")).unwrap();
        let (listed, refused) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let udp = UdpSocket::bind(refused.local_addr().unwrap()).unwrap();
        udp.set_nonblocking(true).unwrap();
        let process = Command::new("sleep").arg("600").env("SECRET_OUT", "1").stdout(Stdio::null()).spawn().unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        stand.host.env = Env::of([("HOME", text(&home)), ("SSH_AUTH_SOCK", text(&agent))]);
        let port = |listener: &TcpListener| listener.local_addr().unwrap().port().to_string();
        let mut vars = BTreeMap::from([
            ("PATH", search_path()),
            ("HOME", text(&home)),
            ("RO", text(&ro)),
            ("SOCK", text(&sock)),
            ("AGENT", text(&agent)),
            ("ABSTRACT", name),
            ("OUTPID", process.id().to_string()),
            ("PORT_OK", port(&listed)),
            ("PORT_NO", port(&refused)),
        ]);
        for who in ["AUTHOR", "COMMITTER"] {
            let name = if who == "AUTHOR" {
                ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL")
            } else {
                ("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
            };
            vars.extend([(name.0, "a".to_owned()), (name.1, "a@x".to_owned())]);
        }
        Self { stand, vars, process, listed, udp, _open: (refused, sockets, datagrams) }
    }

    /// Gives everything to nobody, and lets nobody run the helper.
    fn as_nobody(mut self) -> Self {
        let root = self.stand.host.scratch.clone();
        let owner = format!("{NOBODY}:{NOBODY}");
        let given =
            Command::new("chown").args(["-R", &owner]).args([self.stand.inside(), self.stand.outside()]).status();
        assert!(given.unwrap().success());
        std::fs::set_permissions(&root, PermissionsExt::from_mode(0o755)).unwrap();
        let helper = root.join("helper");
        let binary = &self.stand.host.helper;
        let script = format!(
            "#!/bin/sh\nexec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups {} \"$@\"\n",
            binary.display()
        );
        std::fs::write(&helper, script).unwrap();
        std::fs::set_permissions(&helper, PermissionsExt::from_mode(0o755)).unwrap();
        self.stand.host.helper = helper;
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.process = Command::new("setpriv")
            .args([&format!("--reuid={NOBODY}"), &format!("--regid={NOBODY}"), "--clear-groups", "sleep", "600"])
            .env("SECRET_OUT", "1")
            .spawn()
            .unwrap();
        self.vars.insert("OUTPID", self.process.id().to_string());
        self
    }

    /// Tries these in one box: whether each got through, and what was said.
    fn attempt(&self, profile: Profile, probes: &[&Probe]) -> (Ended, Vec<(bool, String)>) {
        let err = |number: usize| self.stand.inside().join(format!("err-{number}"));
        let mut script = String::new();
        for (number, probe) in probes.iter().enumerate() {
            let file = self.stand.outside().join(format!("probe-{number}"));
            write(file.clone(), probe.1);
            let line = format!("sh {} >/dev/null 2>{}", file.display(), err(number).display());
            script.push_str(&format!("if {line}; then echo allowed; else echo denied; fi\n"));
        }
        let mut launch = self.stand.shell(&script);
        launch.profile = profile;
        launch.env = self.vars.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let ended = self.stand.run(&launch);
        let said = String::from_utf8(ended.stdout.clone()).unwrap();
        let read = |(number, line): (usize, &str)| {
            (line == "allowed", std::fs::read_to_string(err(number)).unwrap_or_default().trim().to_owned())
        };
        let results: Vec<_> = said.lines().enumerate().map(read).collect();
        assert_eq!(results.len(), probes.len(), "{}", self.stand.log());
        (ended, results)
    }

    /// Tries everything, and says what does not give what it must.
    fn attack(&self, profile: Profile, column: usize) -> Option<Ended> {
        let probes = possible();
        let (ended, results) = self.attempt(profile, &probes);
        if !ended.level.enforced {
            println!("skipped: this machine confines nothing: {}", ended.level.sentence());
            return None;
        }
        let wrong = |(probe, (allowed, why)): (&&Probe, (bool, String))| {
            let right = allowed == (probe.2[column] != Fail);
            (!right).then(|| format!("{}: {} {why}", probe.0, if allowed { "allowed" } else { "denied" }))
        };
        let wrong: Vec<String> = probes.iter().zip(results).filter_map(wrong).collect();
        assert_eq!(wrong, [] as [String; 0], "{}", ended.level.sentence());
        assert!(self.udp.recv(&mut [0; 8]).is_err(), "a datagram left the box");
        Some(ended)
    }

    /// The three profiles; what each of them must say of itself.
    fn attack_all(&self) {
        let (inside, ok) = (self.stand.inside(), self.listed.local_addr().unwrap().to_string());
        let profiles = [
            (Profile::verifier(vec![inside.clone()]), Network::Off),
            (Profile::checks(vec![inside.clone()]), Network::Loopback),
            (Profile::worker(&inside, &inside).reaching(vec![ok.parse().unwrap()]), Network::Listed),
        ];
        for (column, (profile, network)) in profiles.into_iter().enumerate() {
            let Some(ended) = self.attack(profile, column) else { return };
            assert_eq!((ended.level.network, ended.level.why.len()), (network, 0), "{:?}", ended.level);
            assert!(ended.level.keys_hidden && ended.level.agents_hidden, "{:?}", ended.level);
            for entry in inside.read_dir().unwrap().flatten() {
                let path = entry.path();
                let folder = path.is_dir() && !path.is_symlink();
                if folder { std::fs::remove_dir_all(path).unwrap() } else { std::fs::remove_file(path).unwrap() }
            }
        }
    }
}

/// The probes that can be tried on this machine.
fn possible() -> Vec<&'static Probe> {
    let python = Command::new("python3").arg("-V").stdout(Stdio::null()).status().is_ok_and(|done| done.success());
    let all = PROBES.iter().chain(KEYS);
    let probes: Vec<_> = all.clone().filter(|probe| python || !probe.1.contains("python3")).collect();
    if probes.len() < all.count() {
        println!("skipped: some probes need python3, which is not here");
    }
    probes
}

fn search_path() -> String {
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn every_probe_gives_what_its_profile_must() {
    assert_eq!(PROBES.len(), 46);
    if !is_root() {
        println!("skipped in part: mounting, device files and foreign memory are tried without root's rights only");
    }
    Target::new().attack_all();
}

#[test]
fn every_probe_gives_the_same_without_roots_rights() {
    if !is_root() || Command::new("setpriv").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("skipped: only root, with setpriv, can become nobody");
        return;
    }
    Target::new().as_nobody().attack_all();
}

/// A probe that fails anywhere shows nothing. Those that would harm the machine itself are left out.
#[test]
fn without_a_box_the_probes_get_through() {
    let harmful = ["/tmp/", "/dev/shm", "/etc/", "/proc/sys", "mount", "mknod", "NoNewPrivs", "TIOCSTI", "io_uring"];
    let probes: Vec<_> = possible().into_iter().filter(|p| !harmful.iter().any(|word| p.1.contains(word))).collect();
    let target = Target::new();
    let (ended, results) = target.attempt(Profile::checks(vec![target.stand.inside()]).unconfined(), &probes);
    assert!(!ended.level.enforced && !ended.level.keys_hidden && !ended.level.agents_hidden);
    let held: Vec<_> = probes.iter().zip(results).filter(|(_, (allowed, _))| !allowed).collect();
    assert!(held.is_empty(), "{:?}", held.iter().map(|(probe, (_, why))| (probe.0, why)).collect::<Vec<_>>());
    assert!(target.udp.recv(&mut [0; 8]).is_ok());
}
