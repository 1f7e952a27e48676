//! A supervisor restarts tasks that fail or panic, with a limit, and ends all when one is beyond help.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use blitz_io::task::{Id, JoinSet};

type Start = fn() -> std::pin::Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

struct Child {
    name: &'static str,
    start: Start,
    restarts: u32,
}

struct Supervisor {
    tasks: JoinSet<Result<(), String>>,
    children: HashMap<Id, Child>,
}

impl Supervisor {
    fn start(&mut self, child: Child) {
        let id = self.tasks.spawn((child.start)()).id();
        self.children.insert(id, child);
    }

    /// Returns when all children have ended well, or with the name of one that failed too often.
    async fn run(&mut self) -> Result<(), &'static str> {
        while let Some(ended) = self.tasks.join_next_with_id().await {
            let (id, problem) = match ended {
                Ok((id, Ok(()))) => (id, None),
                Ok((id, Err(error))) => (id, Some(error)),
                Err(panic) => (panic.id(), Some("a panic".to_owned())),
            };
            let mut child = self.children.remove(&id).expect("each task has a child");
            let Some(problem) = problem else { continue };
            eprintln!("{} ended: {problem}", child.name);
            child.restarts += 1;
            if child.restarts > 3 {
                self.tasks.shutdown().await; // ends the siblings and waits for them
                return Err(child.name);
            }
            self.start(child);
        }
        Ok(())
    }
}

static FLAKY: AtomicU32 = AtomicU32::new(0);

#[blitz_io::main]
async fn main() {
    std::panic::set_hook(Box::new(|_| {})); // the supervisor reports panics
    let mut supervisor = Supervisor {
        tasks: JoinSet::new(),
        children: HashMap::new(),
    };
    let flaky: Start = || {
        Box::pin(async {
            match FLAKY.fetch_add(1, Ordering::Relaxed) {
                0 => Err("no connection".to_owned()),
                1 => panic!("a mistake"),
                _ => Ok(()),
            }
        })
    };
    supervisor.start(Child {
        name: "flaky",
        start: flaky,
        restarts: 0,
    });
    assert_eq!(supervisor.run().await, Ok(()));
    assert_eq!(FLAKY.load(Ordering::Relaxed), 3);

    let broken: Start = || Box::pin(async { Err("always".to_owned()) });
    let endless: Start = || Box::pin(std::future::pending());
    supervisor.start(Child {
        name: "endless",
        start: endless,
        restarts: 0,
    });
    supervisor.start(Child {
        name: "broken",
        start: broken,
        restarts: 0,
    });
    let ended = supervisor.run().await;
    println!("the supervisor ended: {ended:?}");
    assert_eq!(ended, Err("broken"));
    assert!(supervisor.tasks.is_empty());
}
