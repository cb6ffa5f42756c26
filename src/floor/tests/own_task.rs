//! Which file is the task's own: the one named after its id, whatever the slug.

use super::*;
use State::{Deny, Pass};

const DOING: &str = ".agentheim/contexts/shed/doing/shed-1-door.md";

#[test]
fn a_task_is_known_by_its_id_under_whatever_slug_it_stands() {
    let done = |name: &str| format!(".agentheim/contexts/shed/done/{name}.md");
    let finished = |text: String| text.replace("status: doing", "status: done");
    hold(
        "tamper",
        vec![
            ("another slug", Scene::legacy().moved(DOING, &done("shed-1-gate"), finished), Pass, ""),
            ("no slug", Scene::legacy().moved(DOING, &done("shed-1"), finished), Pass, ""),
            (
                "another slug and criterion",
                Scene::legacy().moved(DOING, &done("shed-1-gate"), |t| finished(t).replace("opens", "may open")),
                Deny,
                "may open",
            ),
            ("two names", Scene::legacy().wrote(done("shed-1-gate").as_str(), TASK), Deny, "in several folders"),
            ("an id alike", Scene::legacy().wrote(done("shed-12-gate").as_str(), TASK), Deny, "another task's file"),
        ],
    );
}
