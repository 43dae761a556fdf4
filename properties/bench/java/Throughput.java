import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;

/**
 * Synchronous sends of 1 KiB from so many threads for so many seconds, after a warm-up.
 *
 * <p>Arguments: the name server, threads, seconds of warm-up, seconds. Prints "measuring" at the end of the warm-up, then how many
 * messages were sent, in how many nanoseconds, and how many failed at any time.
 */
public final class Throughput {
    static final String TOPIC = "Throughput";
    static final int SIZE = 1024;

    public static void main(String[] arguments) {
        try {
            measure(arguments);
        } catch (Exception problem) {
            problem.printStackTrace();
            System.exit(1);
        }
        System.exit(0);
    }

    /** The first request of a client can meet a connection that another of its threads is still making. */
    static void create(DefaultMQProducer producer) throws Exception {
        for (int left = 20; ; left--) {
            try {
                producer.createTopic("TBW102", TOPIC, 8);
                return;
            } catch (Exception problem) {
                if (left == 0) {
                    throw problem;
                }
                Thread.sleep(250);
            }
        }
    }

    static void measure(String[] arguments) throws Exception {
        int threads = Integer.parseInt(arguments[1]);
        long warm = Long.parseLong(arguments[2]) * 1000;
        long millis = Long.parseLong(arguments[3]) * 1000;
        DefaultMQProducer producer = new DefaultMQProducer("ThroughputProducers");
        producer.setNamesrvAddr(arguments[0]);
        producer.start();
        create(producer);
        LongAdder sent = new LongAdder();
        LongAdder failed = new LongAdder();
        AtomicBoolean stopped = new AtomicBoolean();
        Thread[] senders = new Thread[threads];
        for (int number = 0; number < threads; number++) {
            senders[number] = new Thread(() -> {
                byte[] body = new byte[SIZE];
                while (!stopped.get()) {
                    try {
                        if (producer.send(new Message(TOPIC, body)).getSendStatus() == SendStatus.SEND_OK) {
                            sent.increment();
                        }
                    } catch (Exception problem) {
                        failed.increment();
                    }
                }
            });
            senders[number].start();
        }
        Thread.sleep(warm);
        System.out.println("measuring");
        System.out.flush();
        long before = sent.sum();
        long began = System.nanoTime();
        Thread.sleep(millis);
        long after = sent.sum();
        long ended = System.nanoTime();
        System.out.println((after - before) + " " + (ended - began) + " " + failed.sum());
        System.out.flush();
        stopped.set(true);
        for (Thread sender : senders) {
            sender.join();
        }
        producer.shutdown();
    }
}
