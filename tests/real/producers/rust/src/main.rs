//! Sends so many messages for each line that it reads, as Producer.java does, by the client of rocketmq-rust.
//! Arguments: name server, topic, messages for each line, milliseconds of a send.
#![recursion_limit = "256"]

use std::io::BufRead;

use rocketmq_client_rust::{ClientRuntime, ClientRuntimeConfig, DefaultMQProducer};
use rocketmq_model::common::message::message_single::Message;
use rocketmq_model::result::SendStatus;
use rocketmq_runtime::{RuntimeConfig, RuntimeOwner};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [name_server, topic, times, millis] = given.as_slice() else {
        return Err("give a name server, a topic, a number of messages and milliseconds".into());
    };
    let (times, millis): (usize, u64) = (times.parse()?, millis.parse()?);
    let owner = RuntimeOwner::plan(RuntimeConfig::default())?.build()?;
    let telemetry = rocketmq_observability::install_global(
        &rocketmq_observability::TelemetryBootstrapConfig::default(),
    )?;
    let runtime = ClientRuntime::try_new(
        owner.root_context().component("client"),
        ClientRuntimeConfig::default(),
        telemetry.handle(),
    )?;
    let mut producer = DefaultMQProducer::builder(runtime)
        .producer_group("producers")
        .name_server_addr(name_server.clone())
        .build();
    producer.start().await?;
    for line in std::io::stdin().lock().lines() {
        let name = line?;
        for number in 0..times {
            let message = Message::builder()
                .topic(topic.as_str())
                .body_slice(format!("{name} {number}").as_bytes())
                .build_unchecked();
            match producer.send_with_timeout(message, millis).await {
                Ok(Some(sent)) => {
                    let queue = sent.message_queue.unwrap_or_default();
                    let (broker, id) = (queue.broker_name(), queue.queue_id());
                    let status = if sent.send_status == SendStatus::SendOk {
                        "SEND_OK"
                    } else {
                        "other"
                    };
                    println!("> {status} {broker} {id} {}", sent.queue_offset);
                }
                Ok(None) => println!("> nothing"),
                Err(problem) => {
                    eprintln!("{problem}");
                    println!("> failed");
                }
            }
        }
        println!("end");
    }
    std::process::exit(0);
}
