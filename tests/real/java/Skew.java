import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;

/**
 * New topics from a real producer: the first messages of each, a pause in which the producer refreshes its routes, then many more.
 *
 * <p>Arguments: the name server, how many topics, and for each number of first messages a further one. Each line says on how many
 * topics one broker was left alone.
 */
public final class Skew {
    static final int REFRESH_MILLIS = 5000;
    static final int MORE = 200;

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
        DefaultMQProducer producer = new DefaultMQProducer("SkewProducers");
        producer.setNamesrvAddr(arguments[0]);
        producer.setPollNameServerInterval(REFRESH_MILLIS);
        producer.start();
        long began = System.nanoTime();
        int topics = Integer.parseInt(arguments[1]);
        List<String> names = new ArrayList<>();
        for (int at = 2; at < arguments.length; at++) {
            for (int topic = 0; topic < topics; topic++) {
                names.add("Skew-" + arguments[at] + "-" + topic);
                send(producer, names.get(names.size() - 1), Integer.parseInt(arguments[at]));
            }
        }
        if (System.nanoTime() - began > REFRESH_MILLIS * 1_000_000L) {
            throw new IllegalStateException("the first messages took so long that routes were refreshed between them");
        }
        Thread.sleep(REFRESH_MILLIS + 1000);
        for (String name : names) {
            send(producer, name, MORE);
        }
        for (int at = 2; at < arguments.length; at++) {
            int first = Integer.parseInt(arguments[at]);
            Report.step("skew", () -> {
                int alone = 0;
                for (int topic = 0; topic < topics; topic++) {
                    alone += producer.getDefaultMQProducerImpl().getmQClientFactory().getMQClientAPIImpl()
                        .getTopicRouteInfoFromNameServer("Skew-" + first + "-" + topic, 3000).getQueueDatas().size() == 1 ? 1 : 0;
                }
                return Report.map("first", first, "topics", topics, "alone", alone);
            });
        }
        producer.shutdown();
    }

    static void send(DefaultMQProducer producer, String topic, int times) throws Exception {
        for (int number = 0; number < times; number++) {
            producer.send(new Message(topic, ("message " + number).getBytes(UTF_8)));
        }
    }
}
