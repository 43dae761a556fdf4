import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.TransactionSendResult;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.admin.TopicOffset;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.common.protocol.body.ClusterInfo;
import org.apache.rocketmq.common.subscription.SubscriptionGroupConfig;

/**
 * What a producer, a consumer that pulls, and an administrator do, all over the real client.
 *
 * <p>Arguments: the name server, and "down" if somebody stops broker-b at the line "waiting" and then writes one back.
 */
public final class Clients {
    static final String TOPIC = "RealTopic";
    static final String GROUP = "RealConsumers";

    final String nameServer;
    final DefaultMQProducer producer = new DefaultMQProducer("RealProducers");
    final DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(GROUP);
    final MQClientAPIImpl api;
    final Map<String, String> addresses = new TreeMap<>();
    final MessageQueue queue = new MessageQueue(TOPIC, "broker-a", 1);

    public static void main(String[] arguments) {
        try {
            work(arguments);
        } catch (Exception problem) {
            problem.printStackTrace();
            System.exit(1);
        }
        System.exit(0);
    }

    static void work(String[] arguments) throws Exception {
        Clients clients = new Clients(arguments[0]);
        clients.administer();
        clients.send();
        clients.read();
        clients.giveBack();
        clients.transact();
        clients.retry();
        if (arguments.length > 1) {
            System.out.println("waiting");
            System.out.flush();
            new BufferedReader(new InputStreamReader(System.in)).readLine();
            clients.sendWithOneBrokerDown();
        }
        clients.consumer.shutdown();
        clients.producer.shutdown();
    }

    Clients(String nameServer) throws Exception {
        this.nameServer = nameServer;
        producer.setNamesrvAddr(nameServer);
        producer.setInstanceName("producer");
        producer.setPollNameServerInterval(1000);
        producer.start();
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName("consumer");
        consumer.setPollNameServerInterval(1000);
        consumer.start();
        api = producer.getDefaultMQProducerImpl().getmQClientFactory().getMQClientAPIImpl();
        connect();
    }

    /** The first request of a client can meet a connection that another of its threads is still making. */
    void connect() throws Exception {
        for (int left = 20; ; left--) {
            try {
                api.getBrokerClusterInfo(3000);
                consumer.fetchSubscribeMessageQueues("TBW102");
                return;
            } catch (Exception problem) {
                if (left == 0) {
                    throw problem;
                }
                Thread.sleep(250);
            }
        }
    }

    void administer() throws Exception {
        Report.step("cluster", () -> {
            ClusterInfo info = api.getBrokerClusterInfo(3000);
            info.getBrokerAddrTable().forEach((name, broker) -> addresses.put(name, broker.getBrokerAddrs().get(0L)));
            return Report.map("brokers", addresses.keySet(), "clusters", info.getClusterAddrTable());
        });
        Report.step("create topic", () -> {
            producer.createTopic("TBW102", TOPIC, 4);
            TreeSet<String> queues = new TreeSet<>();
            for (MessageQueue each : producer.fetchPublishMessageQueues(TOPIC)) {
                queues.add(each.getBrokerName() + ":" + each.getQueueId());
            }
            return queues;
        });
        Report.step("subscription queues", () -> consumer.fetchSubscribeMessageQueues(TOPIC).size());
        Report.step("topic config", () -> api.getAllTopicConfig(addresses.get("broker-a"), 3000).getTopicConfigTable().get(TOPIC).toString());
        Report.step("group", () -> {
            SubscriptionGroupConfig group = new SubscriptionGroupConfig();
            group.setGroupName(GROUP);
            group.setRetryMaxTimes(5);
            for (String address : addresses.values()) {
                api.createSubscriptionGroup(address, group, 3000);
            }
            return "created";
        });
        Report.step("broker config", () -> {
            String address = addresses.get("broker-a");
            Properties change = new Properties();
            change.setProperty("defaultTopicQueueNums", "6");
            api.updateBrokerConfig(address, change, 3000);
            Properties found = api.getBrokerConfig(address, 3000);
            return Report.map(
                "brokerName", found.getProperty("brokerName"),
                "defaultTopicQueueNums", found.getProperty("defaultTopicQueueNums"),
                "brokerRole", found.getProperty("brokerRole"),
                "flushDiskType", found.getProperty("flushDiskType"),
                "autoCreateTopicEnable", found.getProperty("autoCreateTopicEnable"));
        });
        Report.step("create a system topic", () -> {
            producer.createTopic("TBW102", "SELF_TEST_TOPIC", 4);
            return "created";
        });
        Report.step("delete topic", () -> {
            producer.createTopic("TBW102", "Deleted", 2);
            for (String address : addresses.values()) {
                api.deleteTopicInBroker(address, "Deleted", 3000);
            }
            int before = producer.fetchPublishMessageQueues("Deleted").size();
            api.deleteTopicInNameServer(nameServer, "Deleted", "DefaultCluster", 3000);
            try {
                return api.getTopicRouteInfoFromNameServer("Deleted", 3000).toString();
            } catch (MQClientException gone) {
                return Report.map("before", before, "code", gone.getResponseCode());
            }
        });
    }

    Message message(String body, String tags) {
        Message made = new Message(TOPIC, tags, "key-" + body, body.getBytes(UTF_8));
        made.setFlag(7);
        made.putUserProperty("colour", "blue");
        return made;
    }

    void send() throws Exception {
        Report.step("sync", () -> {
            SendResult result = producer.send(message("sync", "TagA"), queue);
            return Report.map("sent", Report.sent(result), "stored", Report.message(producer.viewMessage(result.getOffsetMsgId())));
        });
        Report.step("sync of a large message", () -> {
            Message large = new Message(TOPIC, "TagA", new byte[10_000]);
            SendResult result = producer.send(large, queue);
            MessageExt found = producer.viewMessage(result.getOffsetMsgId());
            return Report.map("sent", Report.sent(result), "size", found.getBody().length, "sysFlag", found.getSysFlag());
        });
        Report.step("async", () -> {
            ConcurrentLinkedQueue<String> outcomes = new ConcurrentLinkedQueue<>();
            CountDownLatch left = new CountDownLatch(10);
            for (int number = 0; number < 10; number++) {
                producer.send(message("async-" + number, "TagB"), queue, new SendCallback() {
                    @Override
                    public void onSuccess(SendResult result) {
                        outcomes.add(result.getSendStatus().name());
                        left.countDown();
                    }

                    @Override
                    public void onException(Throwable problem) {
                        outcomes.add(problem.toString());
                        left.countDown();
                    }
                });
            }
            left.await(10, TimeUnit.SECONDS);
            return new ArrayList<>(outcomes);
        });
        Report.step("one-way", () -> {
            for (int number = 0; number < 5; number++) {
                producer.sendOneway(message("oneway-" + number, "TagA"), queue);
            }
            return maxOffsetAtLeast(queue, 17);
        });
        Report.step("batch", () -> {
            List<Message> batch = new ArrayList<>();
            for (int number = 0; number < 3; number++) {
                batch.add(new Message(TOPIC, "TagC", ("batch-" + number).getBytes(UTF_8)));
            }
            return Report.sent(producer.send(batch, queue));
        });
        Report.step("delayed", () -> {
            long end = maxOffsetAtLeast(queue, 20);
            Message delayed = message("delayed", "TagA");
            delayed.setDelayTimeLevel(1);
            SendResult result = producer.send(delayed, queue);
            maxOffsetAtLeast(queue, end + 1);
            return Report.map("sent", Report.sent(result), "stored", Report.messages(pull(queue, "*", end, 1).getMsgFoundList()));
        });
        Report.step("illegal queue", () -> Report.sent(producer.send(message("nowhere", "TagA"), new MessageQueue(TOPIC, "broker-a", 4))));
        Report.step("too large a message", () -> {
            byte[] body = new byte[9 << 19];
            new Random(1).nextBytes(body);
            producer.setMaxMessageSize(body.length);
            return Report.sent(producer.send(new Message(TOPIC, body), queue));
        });
    }

    PullResult pull(MessageQueue from, String expression, long offset, int most) throws Exception {
        return consumer.pull(from, expression, offset, most);
    }

    Map<String, Object> pulled(PullResult result) {
        return Report.map(
            "status", result.getPullStatus().name(),
            "next", result.getNextBeginOffset(),
            "min", result.getMinOffset(),
            "max", result.getMaxOffset(),
            "messages", Report.messages(result.getMsgFoundList()));
    }

    /** The end of a queue, once it is there; what it is after 10 seconds. */
    long maxOffsetAtLeast(MessageQueue of, long wanted) throws Exception {
        long end = 0;
        for (int turn = 0; turn < 500 && end < wanted; turn++) {
            end = consumer.maxOffset(of);
            if (end < wanted) {
                Thread.sleep(20);
            }
        }
        return end;
    }

    void read() throws Exception {
        Report.step("offsets", () -> Report.map("min", consumer.minOffset(queue), "max", consumer.maxOffset(queue)));
        Report.step("offsets of nothing", () -> {
            MessageQueue nothing = new MessageQueue("NoSuchTopic", "broker-a", 0);
            return Report.map("min", consumer.minOffset(nothing), "max", consumer.maxOffset(nothing));
        });
        Report.step("topic stats", () -> {
            Map<Object, Object> found = new TreeMap<>();
            for (Map.Entry<MessageQueue, TopicOffset> each : api.getTopicStatsInfo(addresses.get("broker-a"), TOPIC, 3000).getOffsetTable().entrySet()) {
                TopicOffset offset = each.getValue();
                found.put(String.valueOf(each.getKey().getQueueId()), offset.getMinOffset() + "-" + offset.getMaxOffset() + (offset.getLastUpdateTimestamp() > 0 ? " stored" : ""));
            }
            return found;
        });
        Report.step("topic stats of nothing", () -> api.getTopicStatsInfo(addresses.get("broker-a"), "NoSuchTopic", 3000).toString());
        Report.step("pull small", () -> {
            List<String> bodies = new ArrayList<>();
            PullResult result = pull(queue, "*", 2, 32);
            for (MessageExt each : result.getMsgFoundList()) {
                bodies.add(new String(each.getBody()));
            }
            Collections.sort(bodies);
            return Report.map("status", result.getPullStatus().name(), "next", result.getNextBeginOffset(), "bodies", bodies);
        });
        Report.step("pull one", () -> pulled(pull(queue, "*", 0, 1)));
        Report.step("pull by tag", () -> pulled(pull(queue, "TagC || NoTag", 0, 32)));
        Report.step("pull by a tag that nothing has", () -> pulled(pull(queue, "NoTag", 0, 32)));
        Report.step("pull at the end", () -> pulled(pull(queue, "*", consumer.maxOffset(queue), 32)));
        Report.step("pull beyond the end", () -> pulled(pull(queue, "*", 100, 32)));
        Report.step("pull from an empty queue", () -> pulled(pull(new MessageQueue(TOPIC, "broker-a", 3), "*", 0, 32)));
        Report.step("pull beyond an empty queue", () -> pulled(pull(new MessageQueue(TOPIC, "broker-a", 3), "*", 5, 32)));
        Report.step("pull from no queue", () -> pulled(pull(new MessageQueue(TOPIC, "broker-a", 4), "*", 0, 32)));
        Report.step("pull from no topic", () -> pulled(pull(new MessageQueue("NoSuchTopic", "broker-a", 0), "*", 0, 32)));
        Report.step("pull that waits", () -> {
            Thread later = new Thread(() -> {
                try {
                    Thread.sleep(300);
                    producer.send(message("late", "TagA"), new MessageQueue(TOPIC, "broker-a", 2));
                } catch (Exception problem) {
                    problem.printStackTrace();
                }
            });
            later.start();
            long began = System.nanoTime();
            Map<String, Object> result = pulled(consumer.pullBlockIfNotFound(new MessageQueue(TOPIC, "broker-a", 2), "*", 0, 32));
            result.put("waited", TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began) < 4000);
            later.join();
            return result;
        });
        Report.step("view nothing", () -> {
            String[] parts = addresses.get("broker-a").split(":");
            InetSocketAddress address = new InetSocketAddress(parts[0], Integer.parseInt(parts[1]));
            return Report.message(producer.viewMessage(MessageDecoder.createMessageId(address, 1 << 30)));
        });
    }

    void giveBack() throws Exception {
        MessageQueue retries = new MessageQueue("%RETRY%" + GROUP, "broker-a", 0);
        Report.step("give back", () -> {
            MessageExt found = pull(queue, "*", 0, 1).getMsgFoundList().get(0);
            consumer.sendMessageBack(found, 1, "broker-a", GROUP);
            return "given back";
        });
        Report.step("the message given back", () -> {
            maxOffsetAtLeast(retries, 1);
            return Report.message(pull(retries, "*", 0, 1).getMsgFoundList().get(0));
        });
        Report.step("give up", () -> {
            MessageExt found = pull(queue, "*", 0, 1).getMsgFoundList().get(0);
            consumer.sendMessageBack(found, -1, "broker-a", GROUP);
            MessageQueue dead = new MessageQueue("%DLQ%" + GROUP, "broker-a", 0);
            maxOffsetAtLeast(dead, 1);
            return pulled(pull(dead, "*", 0, 32));
        });
    }

    void transact() throws Exception {
        MessageQueue target = new MessageQueue("TransactionTopic", "broker-a", 0);
        ConcurrentLinkedQueue<Object> checked = new ConcurrentLinkedQueue<>();
        TransactionMQProducer transactions = new TransactionMQProducer("RealTransactions");
        transactions.setNamesrvAddr(nameServer);
        transactions.setInstanceName("transactions");
        transactions.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                return (LocalTransactionState) argument;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                checked.add(Report.message(message));
                return LocalTransactionState.COMMIT_MESSAGE;
            }
        });
        // One queue on one broker, so that the transactions of this topic have one place to go to.
        TopicConfig config = new TopicConfig("TransactionTopic", 1, 1, 6);
        api.createTopic(addresses.get("broker-a"), "TBW102", config, 3000);
        transactions.start();
        for (LocalTransactionState outcome : LocalTransactionState.values()) {
            Report.step("transaction " + outcome, () -> {
                Message message = new Message("TransactionTopic", "TagT", outcome.name().getBytes(UTF_8));
                message.setFlag(3);
                TransactionSendResult result = transactions.sendMessageInTransaction(message, outcome);
                return Report.map(
                    "status", result.getSendStatus().name(),
                    "local", result.getLocalTransactionState().name(),
                    "broker", result.getMessageQueue().getBrokerName(),
                    "queueId", result.getMessageQueue().getQueueId(),
                    "queueOffset", result.getQueueOffset());
            });
        }
        Report.step("what transactions left", () -> {
            maxOffsetAtLeast(target, 2);
            return pulled(pull(target, "*", 0, 32));
        });
        Report.step("what was checked", () -> new ArrayList<>(checked));
        transactions.shutdown();
    }

    void role(String broker, String role) throws Exception {
        Properties change = new Properties();
        change.setProperty("brokerRole", role);
        api.updateBrokerConfig(addresses.get(broker), change, 3000);
    }

    /** Where eight messages went. */
    Object spread() throws Exception {
        Map<String, Integer> counts = new TreeMap<>();
        for (int number = 0; number < 8; number++) {
            SendResult result = producer.send(message("spread-" + number, "TagA"));
            counts.merge(result.getMessageQueue().getBrokerName() + " " + result.getSendStatus(), 1, Integer::sum);
        }
        return counts;
    }

    void retry() throws Exception {
        Report.step("spread", this::spread);
        Report.step("a broker that refuses", () -> {
            role("broker-a", "SLAVE");
            try {
                return spread();
            } finally {
                role("broker-a", "ASYNC_MASTER");
            }
        });
        Report.step("no broker that takes it", () -> {
            role("broker-a", "SLAVE");
            role("broker-b", "SLAVE");
            try {
                return spread();
            } catch (MQClientException refused) {
                return Report.map("code", refused.getResponseCode(), "text", refused.getMessage().replaceAll("\\[\\d+\\]ms", "*ms").split("\n")[0]
                    .replaceAll("BrokersSent.*", ""));
            } catch (MQBrokerException refused) {
                return Report.map("code", refused.getResponseCode());
            } finally {
                role("broker-a", "ASYNC_MASTER");
                role("broker-b", "ASYNC_MASTER");
            }
        });
    }

    void sendWithOneBrokerDown() {
        Report.step("a broker that is down", this::spread);
    }
}
