//! Keys change under a fleet that is at work, and its instances' clocks disagree: no state is refused that need not be.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use mrtr::server::{Clock, Incoming, Sleep};
use mrtr::{Context, Keyring, NoArguments, Server, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::world::{HandClock, World, everything, logged, request, to_the_end};

const INSTANCES: usize = 4;
const REFUSED: i64 = -32602;

#[derive(Deserialize, JsonSchema)]
struct Yes {
    yes: bool,
}

/// Two questions: two states, each opened by another instance than the one that sealed it.
fn refund() -> Tool {
    Tool::new("refund", |_: NoArguments, cx: Context| async move {
        let first: Yes = cx.elicit("sure", "Refund?").await?;
        let second: Yes = cx.elicit("really", "Really?").await?;
        Ok::<_, ToolError>(format!("{} {}", first.yes, second.yes))
    })
}

/// Keyring files, one for each instance, as a rollout has them: written one after the other.
struct Fleet {
    world: World,
    keyrings: Vec<Keyring>,
    files: Vec<PathBuf>,
}

impl Fleet {
    fn with(keys: &str) -> Self {
        let files: Vec<PathBuf> = (0..INSTANCES).map(|_| new_file(keys)).collect();
        let keyrings: Vec<_> = files.iter().map(|file| Keyring::from_file(file).expect("keys")).collect();
        let setups: Vec<_> = keyrings
            .iter()
            .map(|keys| {
                move |server: Server| server.tool(refund()).keys(keys.clone()).reask_expired(Duration::from_secs(3600))
            })
            .collect();
        let setups: Vec<&dyn Fn(Server) -> Server> = setups.iter().map(|setup| setup as _).collect();
        let world = World::fleet::<INSTANCES>(setups.try_into().unwrap_or_else(|_| unreachable!()));
        Self { world, keyrings, files }
    }

    /// Writes the file of each instance and has it read again, one after the other; `between` happens after each.
    fn roll_out(&self, keys: &str, mut between: impl FnMut()) {
        for (file, keyring) in self.files.iter().zip(&self.keyrings) {
            std::fs::write(file, keys).expect("a file");
            assert_eq!(keyring.reload(), Ok(true));
            between();
        }
    }

    /// Sends one leg to the next instance.
    fn leg(&self, mut params: Value) -> Value {
        params["name"] = json!("refund");
        serde_json::from_slice(&self.world.send(&request(1, "tools/call", &everything(), params)).body).expect("JSON")
    }

    fn start(&self) -> Value {
        self.leg(json!({}))
    }

    fn answer(&self, asked: &Value) -> Value {
        let requests = asked["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("{asked}"));
        let accept = json!({ "action": "accept", "content": { "yes": true } });
        let answers: serde_json::Map<_, _> = requests.keys().map(|key| (key.clone(), accept.clone())).collect();
        self.leg(json!({ "requestState": asked["result"]["requestState"], "inputResponses": answers }))
    }

    /// Runs a started operation to its end, and tells whether every state of it was taken.
    fn finishes(&self, asked: &Value) -> bool {
        let mut reply = asked.clone();
        while reply["result"]["resultType"] == "input_required" {
            reply = self.answer(&reply);
        }
        match reply["error"]["code"].as_i64() {
            None => assert_eq!(reply["result"]["content"][0]["text"], "true true", "{reply}"),
            Some(code) => assert_eq!(code, REFUSED, "{reply}"),
        }
        reply["error"].is_null()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.files.iter().for_each(|file| drop(std::fs::remove_file(file)));
    }
}

fn new_file(keys: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("keys-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, keys).expect("a file");
    path
}

/// The fingerprint of the key a state is sealed with.
fn sealed_with(fleet: &Fleet, asked: &Value) -> String {
    let state = asked["result"]["requestState"].as_str().unwrap_or_else(|| panic!("{asked}"));
    fleet.keyrings[0].inspect(state).expect("a state of this fleet").fingerprint
}

#[test]
fn a_rotation_under_load_refuses_no_state_before_its_last_step_and_every_old_one_after_it() {
    let (old, new) = (Keyring::generate(), Keyring::generate());
    let fleet = Fleet::with(&old);
    let id = |key: &str| Keyring::parse(key).expect("a key").fingerprints().remove(0);

    let open: Vec<Value> = (0..50).map(|_| fleet.start()).collect();
    let (done, stop) = ([const { AtomicU32::new(0) }; 4], AtomicBool::new(false));
    std::thread::scope(|scope| {
        let clients: Vec<_> = done
            .iter()
            .map(|done| {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        assert!(fleet.finishes(&fleet.start()), "a state was refused while keys were rotated");
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        // Until nothing is left of what each client had open: the time a state lives, of a rotation outside.
        let at_work = || {
            for (client, done) in clients.iter().zip(&done) {
                let before = done.load(Ordering::Relaxed);
                while done.load(Ordering::Relaxed) < before + 10 {
                    assert!(!client.is_finished(), "a client has failed");
                    std::thread::yield_now();
                }
            }
        };
        at_work();
        fleet.roll_out(&format!("{old},{new}"), at_work);
        // Operations of every age: from before the rotation, and from each of its steps.
        assert!(open[..10].iter().all(|asked| fleet.finishes(asked)));
        let second_step: Vec<Value> = (0..50).map(|_| fleet.start()).collect();
        assert!(second_step.iter().all(|asked| sealed_with(&fleet, asked) == id(&old)));
        fleet.roll_out(&format!("{new},{old}"), at_work);
        assert!(open[10..20].iter().chain(&second_step[..10]).all(|asked| fleet.finishes(asked)));
        let third_step: Vec<Value> = (0..50).map(|_| fleet.start()).collect();
        assert!(third_step.iter().all(|asked| sealed_with(&fleet, asked) == id(&new)));
        fleet.roll_out(&new, at_work);
        stop.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().expect("no state was refused");
        }
        assert!(third_step.iter().all(|asked| fleet.finishes(asked)), "what the new key sealed goes on");
        let old_ones = || open[20..].iter().chain(&second_step[10..]);
        assert_eq!(old_ones().filter(|asked| fleet.finishes(asked)).count(), 0);
        let refused: u64 = fleet.world.instances.iter().map(|server| server.counters().rejected_states.total()).sum();
        assert_eq!(refused, old_ones().count() as u64, "and nothing else was refused, ever");
    });
}

#[test]
fn a_rotation_without_its_first_step_refuses_states() {
    // The counterpart: the test above can fail.
    let (old, new) = (Keyring::generate(), Keyring::generate());
    let fleet = Fleet::with(&old);
    let mut refused = 0;
    fleet.roll_out(&format!("{new},{old}"), || {
        refused += (0..20).filter(|_| !fleet.finishes(&fleet.start())).count();
    });
    assert_ne!(refused, 0);
}

#[test]
fn the_log_has_fingerprints_and_no_keys() {
    let (old, new) = (Keyring::generate(), Keyring::generate());
    let log = logged(|| {
        let fleet = Fleet::with(&old);
        fleet.roll_out(&format!("{new}\n{old}"), || {});
        std::fs::write(&fleet.files[0], "never a key").expect("a file");
        fleet.keyrings[0].reload().expect_err("no key");
        assert!(fleet.finishes(&fleet.start()), "it goes on with the keys it has");
        fleet.keyrings[0].replace([[9; 32]]).expect("a key");
    });
    let ids = Keyring::parse(&format!("{old},{new}")).expect("keys").fingerprints();
    let changed = format!("the keys have changed before=[Key({})] now=[Key({}), Key({})]", ids[0], ids[1], ids[0]);
    assert_eq!(log.matches(&changed).count(), INSTANCES, "{log}");
    assert!(log.contains("ERROR") && log.contains("the keys stay as they are: the keys file "), "{log}");
    assert!(!log.contains(&old) && !log.contains(&new) && !log.contains("never"), "{log}");
}

#[cfg(unix)]
#[test]
fn a_file_all_users_can_read_is_warned_of() {
    use std::os::unix::fs::PermissionsExt;

    let log_of = |mode| {
        let file = new_file(&Keyring::generate());
        std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).expect("my file");
        let log = logged(|| drop(Keyring::from_file(&file).expect("keys")));
        std::fs::remove_file(file).expect("removed");
        log
    };
    assert_eq!(log_of(0o600), "");
    assert_eq!(log_of(0o640), "", "containers hand files to a group");
    let log = log_of(0o644);
    assert!(log.contains("WARN") && log.contains("mode=644") && log.contains("chmod 600"), "{log}");
}

/// The world's time, seen by a clock that is this many seconds fast.
#[derive(Debug)]
struct Wrong(Arc<HandClock>, i64);

impl Clock for Wrong {
    fn now(&self) -> SystemTime {
        let by = Duration::from_secs(self.1.unsigned_abs());
        if self.1 < 0 { self.0.now() - by } else { self.0.now() + by }
    }

    fn sleep(&self, duration: Duration) -> Option<Sleep> {
        self.0.sleep(duration)
    }
}

/// Whether a state that one instance sealed for ten minutes is taken by another one after that many seconds. Each has a
/// clock that is so many seconds fast.
fn is_taken(sealer: i64, opener: i64, after: u64) -> bool {
    let clock = HandClock::new();
    let instance = |fast| {
        let server = Server::new("test", "1.0.0").tool(refund()).keys(crate::world::keys());
        let server = server.clock(Arc::new(Wrong(clock.clone(), fast)));
        server.state_lifetime(Duration::from_secs(600)).reask_expired(Duration::ZERO).build().expect("a valid server")
    };
    let send = |fast, mut params: Value| -> Value {
        params["name"] = json!("refund");
        let (server, body) = (instance(fast), request(1, "tools/call", &everything(), params));
        serde_json::from_slice(&to_the_end(server.handle(Incoming::new(body.as_bytes()))).body).expect("JSON")
    };
    let asked = send(sealer, json!({}));
    let answers = json!({ "sure": { "action": "accept", "content": { "yes": true } } });
    clock.advance(Duration::from_secs(after));
    let reply = send(opener, json!({ "requestState": asked["result"]["requestState"], "inputResponses": answers }));
    let is_taken = reply["result"]["inputRequests"]["really"].is_object();
    assert!(is_taken || reply["error"]["code"] == REFUSED, "{reply}");
    is_taken
}

#[test]
fn a_state_lives_for_its_lifetime_at_least_whatever_a_minute_of_skew_does() {
    for (sealer, opener, last) in [(0, 0, 660), (60, 0, 720), (0, -60, 720), (-60, 0, 600), (0, 60, 600)] {
        for (after, expected) in [(0, true), (599, true), (600, true), (last, true), (last + 1, false)] {
            let taken = is_taken(sealer, opener, after);
            assert_eq!(taken, expected, "sealed {sealer} s fast, opened {opener} s fast, after {after} s");
        }
    }
}

#[test]
fn what_has_expired_is_asked_again_under_the_new_keys() {
    let (old, new) = (Keyring::generate(), Keyring::generate());
    let fleet = Fleet::with(&old);
    let asked = fleet.start();
    fleet.roll_out(&format!("{old},{new}"), || {});
    fleet.roll_out(&format!("{new},{old}"), || {});
    fleet.world.clock.advance(Duration::from_secs(20 * 60));
    let again = fleet.answer(&asked);
    let requests = again["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("{again}"));
    assert_eq!(requests.keys().collect::<Vec<_>>(), ["sure"]);
    fleet.roll_out(&new, || {});
    assert!(fleet.finishes(&again), "what was asked again is sealed with the new key");
}
