// A test of an application with the client ali-ons: it starts a broker, sends an order to it, and stops it.
import assert from "node:assert";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import test from "node:test";

const require = createRequire(`${process.env.PACKAGES ?? process.cwd()}/`);
const { Producer, Message } = require("ali-ons");

/** Start a broker with a topic. Return the process and the line that says where it is. */
async function serve(topic) {
  const [program, ...words] = (process.env.ROCKETPROOF ?? "rocketproof").split(" ");
  const options = ["serve", "--temporary", "--port", "0", "--nameserver-port", "0", "--topic", topic, "--quiet", "--json"];
  const broker = spawn(program, [...words, ...options], { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = await once(createInterface({ input: broker.stdout }), "line");
  return { broker, ...JSON.parse(line) };
}

test("an order is sent", async () => {
  const { broker, name_server: nameSrv } = await serve("orders");
  const producer = new Producer({ nameSrv, producerGroup: "shop", httpclient: require("urllib") });
  try {
    await producer.ready();
    const sent = await producer.send(new Message("orders", "order 1"));
    assert.equal(sent.sendStatus, "SEND_OK");
  } finally {
    await producer.close();
    broker.stdin.end(); // the broker stops, also if this process is killed
    await once(broker, "exit");
  }
});
