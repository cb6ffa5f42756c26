//! The board as it stands at the clone's HEAD, read without loss.

use crate::git::{Clone, Failed};
use countersign::host::Host;
use countersign::host::git::Repo;
use countersign::pipeline::read_board;

/// A larger file is no task.
const LARGEST_TASK: u64 = 4 << 20;

/// One line: how many task files were read, how many boxes they have, and every file that was not read.
pub(crate) fn read(host: &Host, clone: &Clone) -> Result<String, Failed> {
    let failed = |why: &dyn std::fmt::Display| Failed::new(format!("cannot read the board at HEAD: {why}"));
    let repo = Repo::discover(host, &clone.top()).map_err(|why| failed(&why))?;
    let head = repo.resolve("HEAD").map_err(|why| failed(&why))?.ok_or_else(|| failed(&"there is no commit"))?;
    let tree = repo.tree_of(&head).map_err(|why| failed(&why))?;
    let (_, board) = read_board(&repo, &tree).map_err(|why| failed(&why))?;
    let Some(board) = board else { return Ok("no board at HEAD".to_owned()) };
    let (mut read, mut boxes, mut odd, mut lost) = (0, 0, 0, String::new());
    for listed in &board.tasks {
        match listed.outcome.task() {
            Ok(task) => {
                let text = repo.file(&tree, &listed.path, LARGEST_TASK).map_err(|why| failed(&why))?;
                // Read without loss: the task holds the file's bytes, all of them.
                if text.as_deref() != Some(task.text.as_bytes()) {
                    lost.push_str(&format!("\n  {}: not all of its bytes were kept", listed.path));
                }
                read += 1;
                // A box in column one, open or ticked, is what Agentheim's own reader counts.
                let plain = |mark: Option<char>, nested: bool| !nested && matches!(mark, Some(' ' | 'x' | 'X'));
                let (known, other): (Vec<_>, Vec<_>) = task.bullets.iter().partition(|b| plain(b.mark, b.nested));
                boxes += known.len();
                odd += other.len();
            }
            Err(why) => lost.push_str(&format!("\n  {why}")),
        }
    }
    let all = board.tasks.len();
    Ok(format!("{read} of {all} live task files read without loss: {boxes} boxes, and {odd} nested or odd ones{lost}"))
}
