//! The data-flow chart of seed 000, walked edge by edge: from an issue to the next agent's prompt, and back into the
//! ledger.
//!
//! The builder and its packs stand in here in their plainest form, the newest message of each topic that a strategy names,
//! until the product has its own: what is walked is the way.

use std::time::Duration;

use stemmata_engine::{Engine, EventFilter, StartAt, Subscription};
use stemmata_model::{
    Event, EventSeq, Json, LedgerId, NewEvent, NewPayload, Party, Payload, SessionId, topics,
};
use stemmata_store::EventQuery;

use crate::support::engine;

/// Long enough for any machine; nothing here waits unless something is broken.
const PATIENCE: Duration = Duration::from_secs(20);

fn cluster() -> LedgerId {
    LedgerId::new("cluster-7").expect("a name")
}

fn message(topic: &'static str, sender: &str, text: &str, data: &str) -> NewEvent {
    let payload = NewPayload::Plain { text: Some(text.to_owned()), data: Json::parse(data).ok() };
    let session = SessionId::new(cluster().as_str()).expect("a name");
    NewEvent::new(session, topics::topic(topic), Party::new(sender).expect("a name"), payload)
}

/// The stand-in for the builder: it hears of events by the bus, and reads what its strategy names up to where it stands.
struct Builder {
    bus: Subscription,
    sources: [&'static str; 3],
}

impl Builder {
    /// Waits for the event that triggers an agent.
    fn triggered_by(&mut self, topic: &str) -> Event {
        loop {
            let event = self.bus.next(PATIENCE).expect("a read").expect("the bus delivers in time");
            if event.topic.as_str() == topic {
                return event;
            }
        }
    }

    /// Returns a pack for each source: the newest message of its topic.
    fn packs(&self, engine: &Engine, through: EventSeq) -> Vec<String> {
        let pack = |topic: &&'static str| {
            let query = EventQuery { through: Some(through), ..EventQuery::latest(topics::topic(topic), 1) };
            let events = engine.log().events(&cluster(), &query).expect("a read");
            events.first().map(|event| format!("## {topic}\n{}", text(event)))
        };
        self.sources.iter().filter_map(pack).collect()
    }
}

fn text(event: &Event) -> &str {
    match &event.payload {
        Payload::Plain { text: Some(text), .. } => text,
        other => panic!("{other:?} is no text"),
    }
}

fn topics_of(engine: &Engine) -> Vec<String> {
    let events = engine.log().events(&cluster(), &EventQuery::after(None, 100)).expect("a read");
    events.into_iter().map(|event| event.topic.to_string()).collect()
}

#[test]
fn all_nine_edges_of_the_chart() {
    let engine = engine();
    let bus = |topics: &[&'static str]| {
        let topics = topics.iter().map(|name| self::topics::topic(name)).collect();
        engine
            .subscribe(&cluster(), EventFilter { topics, ..EventFilter::default() }, StartAt::Beginning)
            .expect("a subscription")
    };
    let mut heard = bus(&[topics::ISSUE_OPENED, topics::STATE_SNAPSHOT]);
    let sources = [topics::ISSUE_OPENED, topics::STATE_SNAPSHOT, topics::PLAN_READY];
    let mut builder = Builder { bus: bus(&[topics::ISSUE_OPENED, topics::PLAN_READY]), sources };

    // 1. The issue is published to the ledger.
    let issue = message(
        topics::ISSUE_OPENED,
        "user",
        "The parser loops on an empty line",
        "{\"title\":\"Parser loops\"}",
    );
    engine.publish(&cluster(), vec![issue]).expect("published");
    // 2. The ledger's bus delivers it.
    assert_eq!(
        text(&heard.next(PATIENCE).expect("a read").expect("delivered")),
        "The parser loops on an empty line"
    );
    // 3. The snapshotter has it, and 4. what it makes of it is in the ledger, and on the bus again.
    let snapshot = heard.next(PATIENCE).expect("a read").expect("delivered");
    assert_eq!(
        (snapshot.topic.as_str(), snapshot.sender.as_str()),
        (topics::STATE_SNAPSHOT, "state-snapshotter")
    );
    assert_eq!(topics_of(&engine), [topics::ISSUE_OPENED, topics::STATE_SNAPSHOT]);
    // 5. The builder hears of the issue, 6. makes packs, 7. and they are the prompt of the planner.
    let trigger = builder.triggered_by(topics::ISSUE_OPENED);
    let prompt =
        builder.packs(&engine, snapshot.seq).join("\n\n") + "\n\n## Triggering message\n" + text(&trigger);
    assert_eq!(
        prompt,
        "## ISSUE_OPENED\nThe parser loops on an empty line\n\n## STATE_SNAPSHOT\nTask: Parser loops\n\n\
         ## Triggering message\nThe parser loops on an empty line"
    );
    // 8. The planner runs on it, 9. and what it publishes is in the ledger.
    let agent = |prompt: &str| {
        assert!(prompt.contains("Task: Parser loops"), "an agent knows the state");
        message(topics::PLAN_READY, "planner", "Skip empty lines first", "{\"summary\":\"skip empty lines\"}")
    };
    engine.publish(&cluster(), vec![agent(&prompt)]).expect("published");

    // And round again: the next agent's prompt knows the plan and the state that it made.
    let plan = builder.triggered_by(topics::PLAN_READY);
    let snapshot = heard.next(PATIENCE).expect("a read").expect("delivered");
    assert!(snapshot.seq > plan.seq);
    let prompt = builder.packs(&engine, snapshot.seq).join("\n\n");
    assert!(
        prompt.contains("Plan: skip empty lines") && prompt.contains("## PLAN_READY\nSkip empty lines first"),
        "{prompt}"
    );
    assert_eq!(
        topics_of(&engine),
        [topics::ISSUE_OPENED, topics::STATE_SNAPSHOT, topics::PLAN_READY, topics::STATE_SNAPSHOT]
    );
}
