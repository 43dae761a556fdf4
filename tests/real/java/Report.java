import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.serializer.SerializerFeature;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.MessageExt;

/** What happened, one line of JSON for each step, without what differs from run to run: times, ids, ports. */
final class Report {
    interface Step {
        Object run() throws Exception;
    }

    static void step(String name, Step step) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("step", name);
        try {
            line.put("result", step.run());
        } catch (MQBrokerException problem) {
            line.put("code", problem.getResponseCode());
            line.put("remark", problem.getErrorMessage());
        } catch (Exception problem) {
            line.put("error", problem.toString());
        }
        System.out.println(JSON.toJSONString(line, SerializerFeature.MapSortField, SerializerFeature.DisableCircularReferenceDetect));
        System.out.flush();
    }

    static Map<String, Object> map(Object... namesAndValues) {
        Map<String, Object> made = new TreeMap<>();
        for (int at = 0; at < namesAndValues.length; at += 2) {
            made.put((String) namesAndValues[at], namesAndValues[at + 1]);
        }
        return made;
    }

    static Map<String, Object> sent(SendResult result) {
        return map(
            "status", result.getSendStatus().name(),
            "broker", result.getMessageQueue().getBrokerName(),
            "queueId", result.getMessageQueue().getQueueId(),
            "queueOffset", result.getQueueOffset(),
            "offsetIds", result.getOffsetMsgId().split(",").length,
            "region", result.getRegionId(),
            "trace", result.isTraceOn());
    }

    static Map<String, Object> message(MessageExt found) {
        Map<String, String> properties = new TreeMap<>(found.getProperties());
        for (String changing : new String[] {"UNIQ_KEY", "ORIGIN_MESSAGE_ID", "__transactionId__"}) {
            properties.computeIfPresent(changing, (name, value) -> "*");
        }
        return map(
            "topic", found.getTopic(),
            "body", new String(found.getBody()),
            "queueId", found.getQueueId(),
            "queueOffset", found.getQueueOffset(),
            "flag", found.getFlag(),
            "sysFlag", found.getSysFlag(),
            "reconsumeTimes", found.getReconsumeTimes(),
            "bodyCRC", found.getBodyCRC(),
            "properties", properties);
    }

    static List<Object> messages(List<MessageExt> found) {
        List<Object> made = new ArrayList<>();
        if (found != null) {
            for (MessageExt each : found) {
                made.add(message(each));
            }
        }
        return made;
    }
}
