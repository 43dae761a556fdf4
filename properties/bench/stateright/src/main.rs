//! The routing model for Stateright: `routing B P M K C THREADS [bfs|dfs]`. Sets of brokers are bit masks; at most three
//! brokers and three producers. Prints the distinct states, the generated ones, and the seconds of the search.

use stateright::{Checker, Model, Property};
use std::time::Instant;

const MOST: usize = 3;
const QUEUES: usize = 4;

#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
struct Broker {
    created: bool,
    queues: u8,
    perm: u8,
    registered: bool,
    offset: [u8; QUEUES],
}

#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
struct Producer {
    cached: u8,
    fallback: bool,
    request: Option<(u8, u8)>,
    sent: u8,
}

#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
struct State {
    brokers: [Broker; MOST],
    producers: [Producer; MOST],
    route: u8,
    crashes: u8,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    FetchRoute(usize),
    Refresh(usize),
    Send(usize, u8, u8),
    Handle(usize),
    Register(usize),
    Crash(usize),
}

struct Routing {
    brokers: usize,
    producers: usize,
    sends: u8,
    offsets: u8,
    crashes: u8,
}

impl Model for Routing {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut start = State::default();
        for broker in &mut start.brokers {
            broker.registered = true;
        }
        vec![start]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for p in 0..self.producers {
            let producer = &state.producers[p];
            if producer.cached == 0 && !producer.fallback {
                actions.push(Action::FetchRoute(p));
            } else if state.route != 0 && state.route != producer.cached {
                actions.push(Action::Refresh(p));
            }
            match producer.request {
                None if producer.sent < self.sends => {
                    for b in 0..self.brokers as u8 {
                        if producer.fallback || producer.cached >> b & 1 == 1 {
                            actions.extend((0..QUEUES as u8).map(|q| Action::Send(p, b, q)));
                        }
                    }
                }
                Some((b, q)) if state.brokers[b as usize].offset[q as usize] < self.offsets => actions.push(Action::Handle(p)),
                _ => {}
            }
        }
        for b in 0..self.brokers {
            if !state.brokers[b].registered {
                actions.push(Action::Register(b));
            }
            if state.crashes < self.crashes {
                actions.push(Action::Crash(b));
            }
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::FetchRoute(p) => {
                state.producers[p].cached = before.route;
                state.producers[p].fallback = before.route == 0;
            }
            Action::Refresh(p) => {
                state.producers[p].cached = before.route;
                state.producers[p].fallback = false;
            }
            Action::Send(p, b, q) => state.producers[p].request = Some((b, q)),
            Action::Handle(p) => {
                let (b, q) = state.producers[p].request.take()?;
                state.producers[p].sent += 1;
                let broker = &mut state.brokers[b as usize];
                broker.offset[q as usize] += 1;
                if !broker.created {
                    broker.created = true;
                    broker.queues = 4;
                    broker.perm = 6;
                    broker.registered = false;
                }
            }
            Action::Register(b) => {
                state.brokers[b].registered = true;
                if state.brokers[b].created {
                    state.route |= 1 << b;
                }
            }
            Action::Crash(b) => {
                state.crashes += 1;
                state.brokers[b].registered = false;
                state.route &= !(1 << b);
                for producer in &mut state.producers {
                    if producer.request.is_some_and(|(to, _)| to as usize == b) {
                        producer.request = None;
                    }
                }
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::<Self>::always("append", |_, s| {
                s.brokers.iter().all(|b| (0..QUEUES).all(|q| b.offset[q] == 0 || (q as u8) < b.queues))
            }),
            Property::<Self>::always("no inherit", |_, s| s.brokers.iter().all(|b| b.perm & 1 == 0)),
            Property::<Self>::always("conserve", |_, s| {
                let stored: u32 = s.brokers.iter().flat_map(|b| b.offset).map(u32::from).sum();
                stored == s.producers.iter().map(|p| u32::from(p.sent)).sum::<u32>()
            }),
        ]
    }
}

fn report<M: Model>(checker: impl Checker<M>, start: Instant)
where
    M::State: Clone + std::fmt::Debug + std::hash::Hash + PartialEq,
    M::Action: Clone + std::fmt::Debug + PartialEq,
{
    println!(
        "distinct={} generated={} found={} seconds={:.3}",
        checker.unique_state_count(),
        checker.state_count(),
        checker.discoveries().len(),
        start.elapsed().as_secs_f64()
    );
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let sizes: Vec<usize> = words[..6].iter().map(|w| w.parse().expect("six numbers: B P M K C THREADS")).collect();
    assert!(sizes[0] <= MOST && sizes[1] <= MOST, "at most {MOST} brokers and producers");
    let model = Routing {
        brokers: sizes[0],
        producers: sizes[1],
        sends: sizes[2] as u8,
        offsets: sizes[3] as u8,
        crashes: sizes[4] as u8,
    };
    let start = Instant::now();
    let builder = model.checker().threads(sizes[5]);
    if words.get(6).is_some_and(|w| w == "bfs") {
        report(builder.spawn_bfs().join(), start);
    } else {
        report(builder.spawn_dfs().join(), start);
    }
}
