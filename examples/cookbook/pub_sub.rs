//! Publish and subscribe by topic. A subscriber that is too slow learns how much it missed.

use std::collections::HashMap;

use blitz_io::sync::broadcast::{self, error::RecvError};
use blitz_io::thread::Mutex;

#[derive(Default)]
struct Topics(Mutex<HashMap<String, broadcast::Sender<String>>>);

impl Topics {
    fn subscribe(&self, topic: &str) -> broadcast::Receiver<String> {
        let mut topics = self.0.lock();
        topics
            .entry(topic.to_owned())
            .or_insert_with(|| broadcast::channel(4).0)
            .subscribe()
    }

    /// Returns how many subscribers will get the message.
    fn publish(&self, topic: &str, message: &str) -> usize {
        let mut topics = self.0.lock();
        let Some(sender) = topics.get(topic) else {
            return 0;
        };
        sender.send(message.to_owned()).unwrap_or_else(|_| {
            topics.remove(topic); // nobody listens any more
            0
        })
    }
}

#[blitz_io::main]
async fn main() {
    let topics = Topics::default();
    let (mut fast, mut slow) = (topics.subscribe("news"), topics.subscribe("news"));
    assert_eq!(topics.publish("weather", "rain"), 0);
    for number in 0..6 {
        assert_eq!(topics.publish("news", &number.to_string()), 2);
        assert_eq!(fast.recv().await.unwrap(), number.to_string());
    }
    let missed = slow.recv().await;
    println!("the slow subscriber: {missed:?}");
    assert_eq!(missed, Err(RecvError::Lagged(2)));
    assert_eq!(slow.recv().await.unwrap(), "2");
    drop((fast, slow));
    assert_eq!(topics.publish("news", "7"), 0);
    assert!(topics.0.lock().is_empty());
}
