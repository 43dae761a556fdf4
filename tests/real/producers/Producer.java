import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;

/**
 * A producer of any release. For each line that it reads it sends messages one after the other, which have that line and a number as
 * their body, and says of each how it ended: the result, or the class of the exception. A line "end" follows the last one. Lines of a client's own logging have no "> " before them.
 *
 * <p>Arguments: the name server, the topic, how many messages a line stands for, and the milliseconds that a send may take.
 */
public final class Producer {
    public static void main(String[] arguments) {
        try {
            work(arguments[0], arguments[1], Integer.parseInt(arguments[2]), Integer.parseInt(arguments[3]));
        } catch (Exception problem) {
            problem.printStackTrace();
            System.exit(1);
        }
        System.exit(0);
    }

    static void work(String nameServer, String topic, int times, int millis) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("producers");
        producer.setNamesrvAddr(nameServer);
        producer.setSendMsgTimeout(millis);
        producer.setVipChannelEnabled(false);
        producer.start();
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        for (String line = asked.readLine(); line != null; line = asked.readLine()) {
            for (int number = 0; number < times; number++) {
                System.out.println("> " + send(producer, new Message(topic, (line + " " + number).getBytes(UTF_8))));
            }
            System.out.println("end");
            System.out.flush();
        }
        producer.shutdown();
    }

    static String send(DefaultMQProducer producer, Message message) throws InterruptedException {
        try {
            SendResult result = producer.send(message);
            return result.getSendStatus() + " " + result.getMessageQueue().getBrokerName() + " " + result.getMessageQueue().getQueueId()
                + " " + result.getQueueOffset();
        } catch (InterruptedException problem) {
            throw problem;
        } catch (Exception problem) {
            return problem.getClass().getSimpleName();
        }
    }
}
