//! Reads `## Runtime surface` of a context's README (agentheim.md §2.6).

use super::shape::{self, Shape, ShapeError};
use crate::config::glob::{Glob, GlobError};
use crate::config::{Layer, SettingsError, read_yaml};
use crate::host::path::{RepoPath, escape};
use crate::task::markdown::{Cover, Document};
use crate::task::text::{Text, TextError};
use serde::Deserialize;

/// More probes than this are refused.
const MOST_PROBES: usize = 64;
/// A longer path of a probe is refused.
const LONGEST_PATH: usize = 2_000;

/// What a program shows to the outside, and how to make it show it.
#[derive(Debug)]
pub(super) struct Surface {
    /// A change of one of these paths makes the drive necessary.
    pub(super) paths: Vec<Glob>,
    /// Starts the program.
    pub(super) launch: String,
    /// Ends it.
    pub(super) stop: Option<String>,
    /// Where it writes its port.
    pub(super) runfile: RepoPath,
    /// What is asked.
    pub(super) probes: Vec<Probe>,
    /// What only a browser could show.
    pub(super) renders: Vec<String>,
}

/// One request and what must come back.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) status: u16,
    pub(super) body: Option<Shape>,
}

/// What a README says of its runtime surface.
#[derive(Debug)]
pub(super) enum Manifest {
    /// Nothing: there is no such section, or it holds no YAML.
    None {
        /// Which of the two.
        why: &'static str,
    },
    /// This.
    Surface(Box<Surface>),
}

/// Why a manifest cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum SurfaceError {
    #[error(transparent)]
    Text(#[from] TextError),
    #[error(transparent)]
    Yaml(#[from] SettingsError),
    #[error("`surfacePaths`: {0}")]
    Glob(#[from] GlobError),
    #[error("`bodyShape` of {place}: {why}")]
    Shape { place: String, why: ShapeError },
    #[error("{0}")]
    Rule(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    surface_paths: Vec<String>,
    launch: String,
    #[serde(default)]
    stop: Option<String>,
    runfile: String,
    #[serde(default)]
    probes: Vec<WrittenProbe>,
    #[serde(default)]
    render_paths: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenProbe {
    path: String,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    status: Option<u16>,
    #[serde(default)]
    body_shape: Option<serde_yaml::Value>,
}

/// Reads the manifest of a README.
pub(super) fn read(name: &str, readme: &[u8]) -> Result<Manifest, SurfaceError> {
    let text = Text::read(readme)?;
    let document = Document::read(text.lines());
    let is_title = |title: &str| title.trim_end_matches([':', '#', ' ']).trim().eq_ignore_ascii_case("runtime surface");
    let Some(start) = document.lines.iter().position(|l| l.level == Some(2) && l.title().is_some_and(is_title)) else {
        return Ok(Manifest::None { why: "the context's README has no `## Runtime surface`" });
    };
    let section: Vec<_> =
        document.lines[start + 1..].iter().take_while(|line| !matches!(line.level, Some(1 | 2))).collect();
    let mut blocks = Vec::new();
    let mut lines = section.iter().filter(|line| line.cover == Cover::Fence).map(|line| line.text);
    while let Some(open) = lines.next() {
        let fence = open.trim_start();
        let Some(mark) = fence.chars().next().filter(|c| matches!(c, '`' | '~')) else { continue };
        let length = fence.chars().take_while(|c| *c == mark).count();
        let closes = |line: &str| {
            let line = line.trim();
            line.len() >= length && line.chars().all(|c| c == mark)
        };
        let body: Vec<&str> = lines.by_ref().take_while(|line| !closes(line)).collect();
        let language = fence.trim_start_matches(mark).trim().to_ascii_lowercase();
        if matches!(language.split_whitespace().next(), Some("yaml" | "yml") | None) {
            blocks.push(body.join("\n"));
        }
    }
    match &blocks[..] {
        [] => Ok(Manifest::None { why: "`## Runtime surface` of the context's README holds no YAML block" }),
        [block] => settle(name, block),
        more => Err(SurfaceError::Rule(format!("`## Runtime surface` holds {} YAML blocks; keep one", more.len()))),
    }
}

fn settle(name: &str, block: &str) -> Result<Manifest, SurfaceError> {
    let layer = Layer { name: format!("the YAML of `## Runtime surface` in {name}"), bytes: block.as_bytes().to_vec() };
    let Some(written) = read_yaml::<Written>(&layer)? else {
        return Ok(Manifest::None { why: "the YAML of `## Runtime surface` says nothing" });
    };
    let rule = |what: String| Err(SurfaceError::Rule(what));
    if written.surface_paths.is_empty() {
        return rule("`surfacePaths` is empty: no change would ever be driven".to_owned());
    }
    if written.launch.trim().is_empty() || written.launch.contains('\0') {
        return rule("`launch` is empty, or no command line".to_owned());
    }
    if written.stop.as_ref().is_some_and(|stop| stop.contains('\0')) {
        return rule("`stop` is no command line".to_owned());
    }
    let runfile = RepoPath::from(written.runfile.strip_prefix("./").unwrap_or(&written.runfile));
    if !runfile.is_safe() {
        return rule(format!("`runfile: {}` is not a path below the top of the tree", escape(runfile.as_bytes())));
    }
    if written.probes.len() > MOST_PROBES {
        return rule(format!("there are {} probes; at most {MOST_PROBES} are asked", written.probes.len()));
    }
    let paths = written.surface_paths.iter().map(|pattern| Glob::new(pattern)).collect::<Result<_, _>>()?;
    let probes = written.probes.into_iter().map(probe).collect::<Result<_, _>>()?;
    let stop = written.stop.filter(|stop| !stop.trim().is_empty());
    let renders = written.render_paths.unwrap_or_default();
    Ok(Manifest::Surface(Box::new(Surface { paths, launch: written.launch, stop, runfile, probes, renders })))
}

fn probe(written: WrittenProbe) -> Result<Probe, SurfaceError> {
    let WrittenProbe { path, method, status, body_shape } = written;
    let method = method.unwrap_or_else(|| "GET".to_owned()).to_ascii_uppercase();
    let place = format!("`{method} {}`", escape(path.as_bytes()));
    let status = status.unwrap_or(200);
    let visible = path.bytes().all(|b| b.is_ascii_graphic());
    if !path.starts_with('/') || !visible || path.len() > LONGEST_PATH {
        return Err(SurfaceError::Rule(format!("the path of probe {place} must begin with `/` and hold no blanks")));
    }
    if method.is_empty() || method.len() > 20 || !method.bytes().all(|b| b.is_ascii_uppercase()) {
        return Err(SurfaceError::Rule(format!("the method of probe {place} is not one of HTTP")));
    }
    if !(200..600).contains(&status) {
        return Err(SurfaceError::Rule(format!("the status {status} of probe {place} is not one of HTTP")));
    }
    let body = match body_shape {
        None | Some(serde_yaml::Value::Null) => None,
        Some(shape) => Some(shape::parse(&shape).map_err(|why| SurfaceError::Shape { place, why })?),
    };
    Ok(Probe { method, path, status, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# shop\n\n## Runtime surface\nHow it runs.\n\n```yaml\n# what shows\nsurfacePaths:\n  - src/**   # code\nlaunch: node server.mjs\nstop: ./stop.sh\nrunfile: run/port\nprobes:\n  - path: /widgets\n    method: get\n    status: 200\n    bodyShape: '{ widgets: array of { id: number, color: string } }'\n  - path: /gone\n    status: 404\nrenderPaths: [/]\n```\n\n## Next\n";

    fn refused(from: &str, to: &str) -> String {
        let text = GOOD.replace(from, to);
        assert_ne!(text, GOOD, "{from}");
        read("README.md", text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_manifest_is_read_with_its_comments_and_quoted_shapes() {
        for text in
            [GOOD.to_owned(), GOOD.replace('\n', "\r\n"), format!("\u{feff}{GOOD}"), GOOD.replace("```", "~~~~")]
        {
            let Manifest::Surface(surface) = read("README.md", text.as_bytes()).unwrap() else { panic!("{text}") };
            assert!(surface.paths[0].matches(&RepoPath::from("src/a/b.js")));
            assert_eq!((surface.launch.as_str(), surface.runfile.to_string()), ("node server.mjs", "run/port".into()));
            assert_eq!(surface.stop.as_deref(), Some("./stop.sh"));
            let probe = &surface.probes[0];
            assert_eq!((probe.method.as_str(), probe.status), ("GET", 200));
            let shape = probe.body.as_ref().unwrap().to_string();
            assert_eq!(shape, "{ widgets: array of { id: number, color: string } }");
            assert_eq!((surface.probes[1].status, surface.probes[1].body.is_none()), (404, true));
            assert_eq!(surface.renders, ["/"]);
        }
    }

    #[test]
    fn no_manifest_is_none_and_says_which_part_is_missing() {
        for (text, words) in [
            ("# shop\n", "no `## Runtime surface`"),
            ("## Runtime surface\n\nnone\n", "no YAML block"),
            ("## Runtime surface\n```yaml\n# later\n```\n", "says nothing"),
            ("```\n## Runtime surface\n```\n", "no `## Runtime surface`"),
            ("## Runtime surface\n```sh\nnode x\n```\n", "no YAML block"),
        ] {
            let Manifest::None { why } = read("README.md", text.as_bytes()).unwrap() else { panic!("{text}") };
            assert!(why.contains(words), "{text}: {why}");
        }
    }

    #[test]
    fn a_manifest_that_cannot_be_followed_says_why() {
        for (from, to, words) in [
            ("surfacePaths:", "surfacePath:", "surfacePath"),
            ("  - src/**   # code", "  - /src/**", "starts with `/`"),
            ("launch: node server.mjs\n", "", "launch"),
            ("launch: node server.mjs", "launch: ' '", "`launch`"),
            ("runfile: run/port", "runfile: ../port", "`runfile: ../port`"),
            ("runfile: run/port", "runfile: /tmp/port", "`runfile: /tmp/port`"),
            ("path: /gone", "path: http://other/", "begin with `/`"),
            ("path: /gone", "path: \"/a b\"", "begin with `/`"),
            ("method: get", "method: 'GET /x'", "method"),
            ("status: 404", "status: 99", "status 99"),
            ("color: string", "color: strng", "`strng` is no type"),
            ("launch: node", "launch: x\nlaunch: node", "duplicate"),
            ("```\n\n## Next", "```\n```yaml\na: 1\n```\n## Next", "2 YAML blocks"),
        ] {
            let why = refused(from, to);
            assert!(why.contains(words), "{to}: {why}");
        }
        assert!(read("README.md", b"## Runtime surface\n\xff").is_err());
    }
}
