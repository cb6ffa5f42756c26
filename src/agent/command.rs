//! The plainest agent: any program, brief on standard input, answer on standard output.

use std::path::{Path, PathBuf};

/// Why this command line would run the claim's own files, if it would: the work under judgement may not bring its judge.
pub(super) fn is_of_the_claim(command: &[String], room: &Path) -> Option<String> {
    let (program, arguments) = match command.split_first() {
        Some((program, arguments)) if !program.is_empty() => (program, arguments),
        _ => return Some("its command is empty; give program and arguments in the settings".to_owned()),
    };
    let absolute = Path::new(program).is_absolute();
    if program.contains('/') && !absolute || absolute && Path::new(program).starts_with(room) {
        return Some(format!(
            "`{program}` would be the claim's own file; give its absolute path outside the repository"
        ));
    }
    let own = arguments.iter().find(|argument| {
        let path: PathBuf = room.join(argument);
        !argument.is_empty() && path.starts_with(room) && path.is_file()
    });
    own.map(|argument| {
        format!("its argument `{argument}` is a file of the claim; give an absolute path outside the repository")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_under_judgement_may_not_bring_its_judge() {
        let room = tempfile::tempdir().unwrap();
        std::fs::create_dir(room.path().join("tools")).unwrap();
        std::fs::write(room.path().join("tools/judge.py"), "").unwrap();
        let inside = room.path().join("tools/judge.py").display().to_string();
        for (command, refused) in [
            (&["./judge"][..], true),
            (&["tools/judge.py"], true),
            (&[inside.as_str()], true),
            (&["python3", "tools/judge.py"], true),
            (&["python3", "tools/../tools/judge.py"], true),
            (&["python3", "/opt/judge.py"], false),
            (&["judge", "--model", "m", "tools"], false),
            (&[], true),
            (&[""], true),
        ] {
            let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(is_of_the_claim(&command, room.path()).is_some(), refused, "{command:?}");
        }
    }
}
