import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;

/** A test of an application with rocketmq-client: it starts a broker, sends an order to it, and stops it. */
public final class OrdersTest {
    public static void main(String[] command) throws Exception {
        // rocketproof serve --temporary --port 0 --nameserver-port 0 --topic orders --quiet --json
        Process serve = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try {
            String ready = new BufferedReader(new InputStreamReader(serve.getInputStream(), UTF_8)).readLine();
            Matcher address = Pattern.compile("\"name_server\": \"([^\"]+)\"").matcher(ready);
            if (!address.find()) throw new IllegalStateException(ready);
            DefaultMQProducer producer = new DefaultMQProducer("shop");
            producer.setNamesrvAddr(address.group(1));
            producer.start();
            SendResult sent = producer.send(new Message("orders", "order 1".getBytes(UTF_8)), 5000);
            System.out.println(sent.getSendStatus() + " " + sent.getMessageQueue().getTopic());
            producer.shutdown();
        } finally {
            serve.getOutputStream().close(); // the broker stops, also if this process is killed
            serve.waitFor();
        }
        System.exit(0);
    }
}
