// Sends so many messages for each line that it reads, as Producer.java does, by the remoting client for Node.
// Arguments: name server, topic, messages for each line, milliseconds of a send.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.PACKAGES}/`);
const { Producer, Message } = require("ali-ons");
const [nameServer, topic, times, millis] = process.argv.slice(2);
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const producer = new Producer({
  nameSrv: nameServer,
  producerGroup: "producers",
  httpclient: require("urllib"),
  logger: quiet,
  sendMsgTimeout: Number(millis),
  retryTimesWhenSendFailed: 2,
});
producer.on("error", () => {});
await producer.ready();
for await (const name of createInterface({ input: process.stdin })) {
  for (let number = 0; number < Number(times); number++) {
    try {
      const { sendStatus, messageQueue, queueOffset } = await producer.send(new Message(topic, `${name} ${number}`));
      console.log(`> ${sendStatus} ${messageQueue.brokerName} ${messageQueue.queueId} ${queueOffset}`);
    } catch (problem) {
      console.log(`> ${problem.name}`);
    }
  }
  console.log("end");
}
process.exit(0);
